"""`merge-common`: one op where several compute the same."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from mlirad.passes.base import Pass
from mlirad.passes.optimize.effects import Effects

COMMUTATIVE: frozenset[type[Operation]] = frozenset(
    {arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp}
    | {arith.AddfOp, arith.MulfOp}
)


@dataclass(frozen=True)
class CsePass(Pass):
    """
    Replaces each op without effects by an equal one that has run before it, in the same block
    or in one around it. The first of them keeps its location.
    """

    name = "merge-common"

    def rewrite(self, module: ModuleOp) -> None:
        Merger(Effects(module)).visit(module.body.block)


class Merger:
    def __init__(self, effects: Effects):
        self.effects = effects
        self.known: dict[Hashable, Operation] = {}

    def visit(self, block: Block) -> None:
        """Merges the ops of `block` and of the blocks inside it."""
        added: list[Hashable] = []
        for op in tuple(block.ops):
            if op.regions:
                self.visit_regions(op)
            elif self.effects.is_pure(op):
                key = what_it_computes(op)
                known = self.known.get(key)
                if known is None:
                    self.known[key] = op
                    added.append(key)
                    continue
                for old, new in zip(op.results, known.results, strict=True):
                    old.replace_all_uses_with(new)
                op.detach()
                op.erase()
        for key in added:
            del self.known[key]

    def visit_regions(self, op: Operation) -> None:
        outside = self.known
        if not isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
            self.known = {}  # a function sees nothing of what is around it
        for region in op.regions:
            for block in region.blocks:
                self.visit(block)
        self.known = outside


def what_it_computes(op: Operation) -> Hashable:
    operands = tuple(map(id, op.operands))
    kind = type(op)
    if kind in COMMUTATIVE:
        operands = tuple(sorted(operands))
    types = tuple(op.result_types)
    properties = (
        tuple(sorted(op.properties.items()))
        if len(op.properties) > 1
        else (*op.properties.items(),)
    )
    attributes = frozenset(op.attributes.items()) if op.attributes else None
    return kind, operands, properties, types, attributes
