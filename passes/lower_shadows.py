"""
`autodiff-lower-shadows`: turns `accumulate` and `take` into loads, stores and atomics.

In a kernel both are atomic, since other threads may have read or stored the same element, unless
they are marked exclusive or go to memory of the thread alone. Threads that store one value to one
element do no harm in the primal; in reverse a single one must take the cotangent.
"""

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from mlirad.dialects.autodiff import AccumulateOp, TakeOp
from mlirad.passes.analysis.memory import TAKES, is_shared_allocation, is_view, viewed
from mlirad.passes.analysis.ordering import ADDF, EXCHANGE
from mlirad.passes.base import Pass
from mlirad.passes.derivatives import vector_space
from mlirad.passes.derivatives.sweep import BuilderBefore


class LowerShadowsPass(Pass):
    """Leaves no shadow op."""

    name = "autodiff-lower-shadows"

    def rewrite(self, module: ModuleOp) -> None:
        for op in [op for op in module.walk() if isinstance(op, AccumulateOp | TakeOp)]:
            atomic = access(op).atomic
            if isinstance(op, TakeOp):
                lower_exchange(op) if atomic else lower_take(op)
            elif atomic:
                lower_atomic(op)
            else:
                lower_accumulate(op)


class Access(NamedTuple):
    """How an `accumulate` or `take` is carried out, and why, in words that `explain` prints."""

    atomic: bool
    reason: str


def access(op: AccumulateOp | TakeOp) -> Access:
    if not in_kernel(op):
        return Access(False, "only one thread runs this function")
    if op.exclusive is not None:
        return Access(False, "each element belongs to one thread")
    if is_private(op.shadow):
        return Access(False, "memory of the thread alone")
    return Access(True, "other threads may add to the same element")


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


def lower_exchange(op: TakeOp) -> None:
    build = BuilderBefore(op)
    zero = vector_space.zero(op.value.type, build.builder, op.location)
    taken = build(read_modify_write(EXCHANGE, zero, op.shadow, op.indices))
    taken.attributes[TAKES] = UnitAttr()
    build.replace(op.value, taken.results[0])


def lower_accumulate(op: AccumulateOp) -> None:
    build = BuilderBefore(op)
    before = build(memref.LoadOp.get(op.shadow, op.indices)).results[0]
    after = build(arith.AddfOp(before, op.value)).results[0]
    build(memref.StoreOp.get(after, op.shadow, op.indices))
    build.replace()


def lower_atomic(op: AccumulateOp) -> None:
    build = BuilderBefore(op)
    build(read_modify_write(ADDF, op.value, op.shadow, op.indices))
    build.replace()


def read_modify_write(
    kind: int, value: SSAValue, memory: SSAValue, indices: Sequence[SSAValue]
) -> memref.AtomicRMWOp:
    return memref.AtomicRMWOp.create(
        operands=[value, memory, *indices],
        result_types=[value.type],
        properties={"kind": IntegerAttr(kind, 64)},
    )
