"""`hoist-invariants`: computes before a loop what is the same in all its iterations."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from mlirad.passes.base import Pass
from mlirad.passes.optimize.effects import LOOPS, Effects


@dataclass(frozen=True)
class LicmPass(Pass):
    """
    Moves ops without effects out of `scf.for` and `scf.while` if no operand changes in the
    loop. Loads stay: where the loop does not run at all, their index may be out of range.
    """

    name = "hoist-invariants"

    def rewrite(self, module: ModuleOp) -> None:
        effects = Effects(module)
        loops = [op for op in module.walk() if isinstance(op, LOOPS)]
        for loop in reversed(loops):  # inner loops before those around them
            hoist(loop, effects)


def hoist(loop: Operation, effects: Effects) -> None:
    """Moves invariant ops out of the outermost blocks of `loop`, to just before it."""
    target = loop.parent
    assert target is not None
    for region in loop.regions:
        body = region.block
        for op in tuple(body.ops):
            if effects.is_pure(op) and not any(is_defined_in(v, body) for v in op.operands):
                op.detach()
                target.insert_op_before(op, loop)


def is_defined_in(value: SSAValue, block: Block) -> bool:
    """Whether `value`, an operand of an op in `block`, comes from that block itself."""
    match value:
        case OpResult(op=op):
            return op.parent is block
        case BlockArgument(block=owner):
            return owner is block
        case _:
            return True
