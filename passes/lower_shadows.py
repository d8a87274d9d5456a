"""
`autodiff-lower-shadows`: turns `accumulate` and `take` into loads, stores and atomics.

In a kernel an accumulation is atomic, since other threads may have read the same element, unless
it is marked exclusive or goes to memory of the thread alone. A `take` needs no atomic: two
threads that store to one element race in the primal already.
"""

from typing import NamedTuple

from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from mlirad.dialects.autodiff import AccumulateOp, TakeOp
from mlirad.passes.analysis.memory import is_shared_allocation, is_view, viewed
from mlirad.passes.base import Pass
from mlirad.passes.derivatives import vector_space
from mlirad.passes.derivatives.memref import ADDF
from mlirad.passes.derivatives.sweep import BuilderBefore


class LowerShadowsPass(Pass):
    """Leaves no shadow op."""

    name = "autodiff-lower-shadows"

    def rewrite(self, module: ModuleOp) -> None:
        for op in [op for op in module.walk() if isinstance(op, AccumulateOp | TakeOp)]:
            if isinstance(op, TakeOp):
                lower_take(op)
            elif accumulation(op).atomic:
                lower_atomic(op)
            else:
                lower_accumulate(op)


class Accumulation(NamedTuple):
    """How an `accumulate` is carried out, and why, in words that `explain` prints."""

    atomic: bool
    reason: str


def accumulation(op: AccumulateOp) -> Accumulation:
    if not in_kernel(op):
        return Accumulation(False, "only one thread runs this function")
    if op.exclusive is not None:
        return Accumulation(False, "each element belongs to one thread")
    if is_private(op.shadow):
        return Accumulation(False, "memory of the thread alone")
    return Accumulation(True, "other threads may add to the same element")


def in_kernel(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, gpu.FuncOp):
        parent = parent.parent_op()
    return parent is not None


def is_private(memory: SSAValue) -> bool:
    """Whether `memory` belongs to one thread: allocated by it, not in shared memory."""
    op = memory.owner
    if isinstance(op, Operation) and is_view(op):
        return all(map(is_private, viewed(op)))
    return isinstance(op, memref.AllocaOp) and not is_shared_allocation(op)


def lower_take(op: TakeOp) -> None:
    build = BuilderBefore(op)
    value = build(memref.LoadOp.get(op.shadow, op.indices)).results[0]
    zero = vector_space.zero(value.type, build.builder, op.location)
    build(memref.StoreOp.get(zero, op.shadow, op.indices))
    build.replace(op.value, value)


def lower_accumulate(op: AccumulateOp) -> None:
    build = BuilderBefore(op)
    before = build(memref.LoadOp.get(op.shadow, op.indices)).results[0]
    after = build(arith.AddfOp(before, op.value)).results[0]
    build(memref.StoreOp.get(after, op.shadow, op.indices))
    build.replace()


def lower_atomic(op: AccumulateOp) -> None:
    build = BuilderBefore(op)
    build(
        memref.AtomicRMWOp.create(
            operands=[op.value, op.shadow, *op.indices],
            result_types=[op.value.type],
            properties={"kind": IntegerAttr(ADDF, 64)},
        )
    )
    build.replace()
