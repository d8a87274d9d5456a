"""`remove-dead-code`: ops, loop variables and branch results that nothing needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove

from mlirad.passes.base import Pass
from mlirad.passes.optimize.effects import ALLOCATIONS, Effects
from mlirad.passes.optimize.symbols import remove_unreferenced

STRUCTURED = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp)
"""Ops that are needed only if something in them, or one of their results, is."""


@dataclass(frozen=True)
class DcePass(Pass):
    """
    Removes what no effect and no returned value depends on: ops, variables carried by
    `scf.for`, results of `scf.if`, memory that is written but never read, and functions that
    nothing callable reaches.
    """

    name = "remove-dead-code"

    def rewrite(self, module: ModuleOp) -> None:
        remove_dead_code(module)
        remove_unreferenced(module)


def remove_dead_code(module: ModuleOp) -> None:
    """Marks what is needed, starting from the effects, and removes the rest. Linear time."""
    effects = Effects(module)
    ops = [op for op in module.walk() if not op.has_trait(IsolatedFromAbove) and op is not module]
    live = Liveness()
    for op in ops:
        if not (
            isinstance(op, STRUCTURED) or effects.is_removable(op) or writes_only_dead_memory(op)
        ):
            live.need_op(op)
    live.spread()
    carriers = [op for op in ops if isinstance(op, scf.ForOp | scf.IfOp) and op in live.ops]
    shrunk = [(op, kept) for op in carriers if (kept := live.results(op)) is not None]
    for op, kept in shrunk:
        if isinstance(op, scf.ForOp):
            op.operands = [*op.operands[:3], *(op.operands[3 + i] for i in kept)]
        for region in op.regions:
            if (terminator := last_op(region.blocks.first)) is not None:
                terminator.operands = [terminator.operands[i] for i in kept]
    for op in reversed(ops):
        if not live.is_live(op):
            op.detach()
            op.erase()
    for op, kept in shrunk:
        shrink(op, kept)


def last_op(block: Block | None) -> Operation | None:
    return None if block is None else block.last_op


def writes_only_dead_memory(op: Operation) -> bool:
    """Whether `op` writes or frees local memory that nothing reads."""
    match op:
        case memref.StoreOp():
            memory = op.operands[1]
        case memref.DeallocOp():
            memory = op.operands[0]
        case _:
            return False
    if not isinstance(memory, OpResult) or not isinstance(memory.op, ALLOCATIONS):
        return False
    return all(
        isinstance(use.operation, memref.DeallocOp)
        or (isinstance(use.operation, memref.StoreOp) and use.index == 1)
        for use in memory.uses
    )


class Liveness:
    """The ops and values that something visible depends on."""

    def __init__(self) -> None:
        self.ops: set[Operation] = set()
        self.values: set[SSAValue] = set()
        self.work: list[SSAValue] = []

    def is_live(self, op: Operation) -> bool:
        if isinstance(op, scf.YieldOp | scf.ConditionOp):
            return op.parent_op() in self.ops
        return op in self.ops

    def results(self, op: scf.ForOp | scf.IfOp) -> list[int] | None:
        """The numbers of the results to keep; None if all."""
        inner = op.body.block.args[1:] if isinstance(op, scf.ForOp) else op.results
        kept = [
            i
            for i, (outer, inside) in enumerate(zip(op.results, inner, strict=True))
            if outer in self.values or inside in self.values
        ]
        return None if len(kept) == len(op.results) else kept

    def need(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self.work.append(value)

    def need_op(self, op: Operation) -> None:
        """Marks `op` itself, and that control reaches it."""
        current: Operation | None = op
        while current is not None and current not in self.ops:
            self.ops.add(current)
            match current:
                case scf.ForOp():
                    self.need(current.operands[:3])
                case scf.WhileOp():  # its variables are kept or removed together
                    self.need(current.operands)
                    for region in current.regions:
                        self.need(region.block.last_op.operands if region.block.last_op else ())
                case scf.IfOp():
                    self.need(current.operands)
                case _:
                    self.need(tuple(current.operands))
            current = current.parent_op()

    def spread(self) -> None:
        while self.work:
            match self.work.pop():
                case OpResult(op=op, index=i):
                    self.need_op(op)
                    if isinstance(op, scf.ForOp):
                        self.need_carried(op, i)
                    elif isinstance(op, scf.IfOp):
                        for region in op.regions:
                            if (last := last_op(region.blocks.first)) is not None:
                                self.need((last.operands[i],))
                case BlockArgument(block=block, index=i):
                    op = block.parent_op()
                    if isinstance(op, scf.ForOp | scf.WhileOp):
                        self.need_op(op)
                    if isinstance(op, scf.ForOp) and i > 0:
                        self.need_carried(op, i - 1)
                case _:
                    pass

    def need_carried(self, loop: scf.ForOp, i: int) -> None:
        block = loop.body.block
        assert block.last_op is not None
        self.need((loop.operands[3 + i], block.args[1 + i], block.last_op.operands[i]))


def shrink(op: scf.ForOp | scf.IfOp, kept: Sequence[int]) -> None:
    """Replaces `op` by one with only the results `kept`, as its operands and yields have it."""
    if isinstance(op, scf.ForOp):
        for i in reversed(range(len(op.results))):
            if i not in kept:
                op.body.block.erase_arg(op.body.block.args[1 + i])
    smaller = type(op).create(
        operands=tuple(op.operands),
        result_types=[op.results[i].type for i in kept],
        attributes=op.attributes,
        properties=op.properties,
        regions=[op.detach_region(region) for region in tuple(op.regions)],
        location=op.location,
    )
    block = op.parent
    assert block is not None
    block.insert_op_before(smaller, op)
    for new, i in zip(smaller.results, kept, strict=True):
        new.name_hint = op.results[i].name_hint
        op.results[i].replace_all_uses_with(new)
    op.detach()
    op.erase()
