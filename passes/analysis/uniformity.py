"""
Which values are the same for all threads of a block.

A value *varies* if it depends on the thread or on memory, whose contents may differ by the time a
thread reads them, or if it comes out of a loop or branch without a barrier, which each thread goes
through on its own. It is *divergent* if it depends on the number of the thread, through arithmetic,
control flow, or the place that is loaded: a barrier under it is not reached by all threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from mlirad.passes.analysis.flow import blocks, body, flows, terminator
from mlirad.passes.analysis.memory import is_shared_allocation

THREAD_IDS = (gpu.ThreadIdOp, gpu.GlobalIdOp, gpu.LaneIdOp)
SAME_EVERYWHERE = (gpu.BlockIdOp, gpu.BlockDimOp, gpu.GridDimOp, arith.ConstantOp)


def has_barrier(op: Operation) -> bool:
    return any(isinstance(inner, gpu.BarrierOp) for inner in op.walk())


@dataclass(frozen=True)
class Uniformity:
    """The answer of `analyze`."""

    varying: frozenset[SSAValue]
    divergent: frozenset[SSAValue]

    def is_uniform(self, value: SSAValue) -> bool:
        return value not in self.varying


def analyze(kernel: gpu.FuncOp, is_pure: Callable[[Operation], bool]) -> Uniformity:
    def varies(op: Operation) -> bool:
        if isinstance(op, SAME_EVERYWHERE) or is_shared_allocation(op):
            return False
        if op.regions:
            return not has_barrier(op)
        return isinstance(op, THREAD_IDS) or not is_pure(op)

    return Uniformity(
        spread(body(kernel), varies),
        spread(body(kernel), lambda op: isinstance(op, THREAD_IDS)),
    )


def spread(block: Block, starts: Callable[[Operation], bool]) -> frozenset[SSAValue]:
    """The values that depend on results of ops that `starts` accepts."""
    found: set[SSAValue] = set()
    size = -1
    while size != len(found):  # loops feed back
        size = len(found)
        for source, target in dependences(block, starts):
            if source is None or source in found:
                found.add(target)
    return frozenset(found)


def dependences(
    block: Block, starts: Callable[[Operation], bool]
) -> Iterator[tuple[SSAValue | None, SSAValue]]:
    """(source, target) pairs; a source of None always counts."""
    for op in block.ops:
        if starts(op):
            yield from ((None, result) for result in op.results)
        for inner in blocks(op):
            yield from dependences(inner, starts)
        if isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
            yield from flows(op)
            yield from controlled(op)
        elif not isinstance(op, memref.AllocOp | memref.AllocaOp):
            yield from ((o, r) for o in op.operands for r in op.results)


def controlled(op: scf.ForOp | scf.IfOp | scf.WhileOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """How what decides the control flow of `op` reaches the values that it passes on."""
    match op:
        case scf.ForOp():
            deciders: tuple[SSAValue, ...] = (op.lb, op.ub, op.step)
            targets = (*op.body.block.args, *op.results)
        case scf.IfOp():
            deciders, targets = (op.cond,), tuple(op.results)
        case scf.WhileOp():
            condition = terminator(op.before_region.block)
            assert isinstance(condition, scf.ConditionOp)
            deciders = (condition.condition,)
            inside = (*op.before_region.block.args, *op.after_region.block.args)
            targets = (*inside, *op.results)
    yield from ((decider, target) for decider in deciders for target in targets)
