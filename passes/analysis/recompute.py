"""What can be had again in the reverse sweep without keeping it, value by value."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects import arith, gpu, math, memref, scf
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from mlirad.dialects.autodiff import CacheType, ConstantArrayOp
from mlirad.passes.analysis.flow import captured, carries_derivative
from mlirad.passes.analysis.memory import is_pure_call, is_view, viewed


class Residual(Enum):
    LIVE = "live"
    RECOMPUTE = "recompute"
    CACHE = "cache"


@dataclass(frozen=True)
class Decision:
    """Where a residual comes from, and why, in words that `explain` prints."""

    kind: Residual
    reason: str


IDS = (
    gpu.ThreadIdOp,
    gpu.BlockIdOp,
    gpu.BlockDimOp,
    gpu.GridDimOp,
    gpu.GlobalIdOp,
    gpu.LaneIdOp,
)
LONGEST_BRANCH = 40
"""Branches of more ops are not taken again; it takes time to look into them as well."""
ROUNDED_ONCE = (
    *(math.AbsFOp, math.CopySignOp, math.SqrtOp, math.FmaOp, math.FloorOp, math.CeilOp),
    *(math.TruncOp, math.RoundOp, math.RoundEvenOp),
)
"""Functions of `math` whose result IEEE 754 fixes to the last bit."""


def possible(value: SSAValue, may_load: Callable[[memref.LoadOp], bool]) -> Decision:
    """The best that can be done for `value` on its own: LIVE, RECOMPUTE if its operands can."""
    op = value.owner
    if isinstance(op, Block):
        return of_argument(value, op)
    if isinstance(value.type, MemRefType | CacheType):
        if is_nameable(value):
            return Decision(Residual.RECOMPUTE, "view of an argument")
        return Decision(Residual.CACHE, "memory of the primal alone")
    match op:
        case arith.ConstantOp():
            return Decision(Residual.RECOMPUTE, "constant")
        case _ if isinstance(op, IDS):
            return Decision(Residual.RECOMPUTE, "id of the thread")
        case memref.LoadOp():
            if is_nameable(op.memref) and may_load(op):
                return Decision(Residual.RECOMPUTE, "loaded from memory that nothing writes later")
            return Decision(Residual.CACHE, "loaded from memory that may have been written since")
        case memref.DimOp():
            if is_nameable(op.source):
                return Decision(Residual.RECOMPUTE, "size of an array")
            return Decision(Residual.CACHE, "size of memory of the primal alone")
        case memref.AtomicRMWOp():
            return Decision(Residual.CACHE, "old value of an atomic")
        case scf.IfOp() if can_branch_again(op, may_load):
            return Decision(Residual.RECOMPUTE, "short branch on what is at hand")
        case _:
            return of_arithmetic(value, op)


def of_arithmetic(value: SSAValue, op: Operation) -> Decision:
    if op.regions or not is_repeatable(op):
        return Decision(Residual.CACHE, f"result of '{op.name}'")
    if carries_derivative(value.type):
        return Decision(Residual.RECOMPUTE, "arithmetic on what is at hand")
    if any(carries_derivative(o.type) for o in op.operands):
        return Decision(Residual.CACHE, "decided by floats")
    return Decision(Residual.RECOMPUTE, "integer arithmetic")


def can_branch_again(op: scf.IfOp, may_load: Callable[[memref.LoadOp], bool]) -> bool:
    """Whether all in the branches can be had again, as in `0 < i and i < n`."""
    for number, inner in enumerate(op.walk()):
        if number > LONGEST_BRANCH:
            return False
        if isinstance(inner, scf.IfOp | scf.YieldOp):
            continue
        if not inner.results:
            return False
        if any(possible(r, may_load).kind is not Residual.RECOMPUTE for r in inner.results):
            return False
    return True


def of_argument(value: SSAValue, block: Block) -> Decision:
    parent = block.parent_op()
    if isinstance(parent, scf.ForOp) and value is block.args[0]:
        return Decision(Residual.LIVE, "counter of a loop")
    if isinstance(parent, scf.ForOp | scf.WhileOp | scf.IfOp):
        return Decision(Residual.CACHE, "carried by a loop")
    return Decision(Residual.LIVE, "argument")


def is_nameable(memory: SSAValue) -> bool:
    """Whether the reverse sweep can name `memory`: an argument or a constant array, or a view."""
    op = memory.owner
    if isinstance(op, Block):
        return of_argument(memory, op).kind is Residual.LIVE
    if isinstance(op, ConstantArrayOp):
        return True
    return is_view(op) and all(map(is_nameable, viewed(op)))


def is_repeatable(op: Operation) -> bool:
    """Whether `op` computes its results from its operands and does nothing else."""
    return op.dialect_name() in ("arith", "math") or is_side_effect_free(op) or is_pure_call(op)


def is_exact(op: Operation) -> bool:
    """
    Whether `op` gives the same bits each time that it is run on the same operands.

    Functions of `math` do not: in a loop that was made a vector loop they come from another
    library than in one that was not. Relaxed arithmetic may be reordered in one place only.
    """
    if op.regions:
        return all(is_exact(inner) for inner in op.walk() if inner is not op)
    if is_pure_call(op):
        return False
    if op.dialect_name() == "math" and not isinstance(op, ROUNDED_ONCE):
        return False
    flags = op.properties.get("fastmath")
    return not isinstance(flags, FastMathFlagsAttr) or not flags.data


def operands_of(op: Operation | Block) -> Iterator[SSAValue]:
    """What has to be known to run `op` again."""
    if isinstance(op, Operation):
        yield from op.operands
        if op.regions:
            yield from captured(op.regions)
