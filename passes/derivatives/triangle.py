"""
Loops whose number of iterations falls or rises with the number of a loop around them.

```mlir
scf.for %i = %c0 to %n step %c1 {
  %count = arith.subi %n, %i          // affine in %i: slope -1
  scf.for %j = %c0 to %count step %c1 { … autodiff.push … [%i, %j] of [%n, %count] … }
}
```

The iterations of both loops together are numbered without gaps: `before(i) + j`, where `before(i)`
is how many there are for smaller `i`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType, LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from mlirad.passes.analysis.frequency import constant


@dataclass(frozen=True)
class Triangle:
    """
    The loop at level `inner` runs `max(0, a + slope * i)` times, where `i` is the number of the
    iteration at level `outer`, and `a` is known before either.
    """

    outer: int
    inner: int
    slope: int


def counters(op: Operation, levels: int) -> dict[SSAValue, int]:
    """The counters of the loops around `op` from 0 by 1, with their level among `levels` loops."""
    found: dict[SSAValue, int] = {}
    level, parent = levels, op.parent_op()
    while parent is not None and isinstance(parent, scf.ForOp | scf.WhileOp | scf.IfOp):
        if not isinstance(parent, scf.IfOp):
            level -= 1
        if (
            isinstance(parent, scf.ForOp)
            and constant(parent.lb) == 0
            and constant(parent.step) == 1
        ):
            found[parent.body.block.args[0]] = level
        parent = parent.parent_op()
    return found


def slopes(value: SSAValue, counters: dict[SSAValue, int]) -> dict[SSAValue, int] | None:
    """How `value` grows with each counter that it depends on; None if not evenly."""
    if value in counters:
        return {value: 1}
    op = value.owner
    if isinstance(op, Block):
        return {}  # whether it is known before the loops is asked elsewhere
    below = [slopes(operand, counters) for operand in op.operands]
    if all(found == {} for found in below):
        return {}
    if any(found is None for found in below):
        return None
    first, second = (below[0] or {}), (below[-1] or {})
    match op:
        case arith.IndexCastOp() if is_wide(op.input) and is_wide(op.result):
            return first
        case arith.AddiOp():
            return combined(first, second, 1)
        case arith.SubiOp():
            return combined(first, second, -1)
        case arith.MuliOp():
            if (factor := constant(op.rhs)) is not None:
                return combined({}, first, factor)
            factor = constant(op.lhs)
            return combined({}, second, factor) if factor is not None else None
        case arith.CeilDivSIOp() | arith.FloorDivSIOp() | arith.DivSIOp():
            return first if constant(op.rhs) == 1 else None
        case _:
            return None


def combined(a: dict[SSAValue, int], b: dict[SSAValue, int], factor: int) -> dict[SSAValue, int]:
    total = {key: a.get(key, 0) + factor * b.get(key, 0) for key in (*a, *b)}
    return {key: slope for key, slope in total.items() if slope}


def is_wide(value: SSAValue) -> bool:
    return isinstance(value.type, IndexType) or value.type == IntegerType(64)


class Numbering:
    """Builds the numbers of the iterations of a triangle at one place."""

    def __init__(self, triangle: Triangle, builder: Builder, location: LocationAttr):
        self.triangle, self.builder, self.location = triangle, builder, location

    def before(self, at_zero: SSAValue, i: SSAValue) -> SSAValue:
        """The sum of `max(0, at_zero + slope * k)` over `0 <= k < i`."""
        slope, build = self.triangle.slope, self.build
        zero, one = self.constant(0), self.constant(1)
        if slope > 0:  # nothing before `first`
            toward = build(arith.SubiOp, zero, at_zero)
            first = build(arith.CeilDivSIOp, toward, self.constant(slope))
            first = build(arith.MaxSIOp, first, zero)
            end = build(arith.MaxSIOp, i, first)
        else:  # nothing from `end` on
            first = zero
            end = build(arith.CeilDivSIOp, at_zero, self.constant(-slope))
            end = build(arith.MaxSIOp, build(arith.MinSIOp, end, i), zero)
        number = build(arith.SubiOp, end, first)
        ends = build(arith.AddiOp, first, build(arith.SubiOp, end, one))
        total = build(arith.DivSIOp, build(arith.MuliOp, number, ends), self.constant(2))
        growing = build(arith.MuliOp, total, self.constant(slope))
        return build(arith.AddiOp, build(arith.MuliOp, number, at_zero), growing)

    def fused(
        self, indices: list[SSAValue], counts: list[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """`indices` and `counts` with the two levels of the triangle made one."""
        outer, inner, slope = self.triangle.outer, self.triangle.inner, self.triangle.slope
        moved = self.build(arith.MuliOp, indices[outer], self.constant(slope))
        at_zero = self.build(arith.SubiOp, counts[inner], moved)
        number = self.build(arith.AddiOp, self.before(at_zero, indices[outer]), indices[inner])
        return self.merged(indices, number), self.merged(
            counts, self.before(at_zero, counts[outer])
        )

    def merged(self, levels: list[SSAValue], both: SSAValue) -> list[SSAValue]:
        outer, inner = self.triangle.outer, self.triangle.inner
        return [both if k == outer else v for k, v in enumerate(levels) if k != inner]

    def build(self, kind: Callable[[SSAValue, SSAValue], Operation], *on: SSAValue) -> SSAValue:
        op = kind(*on)
        op.location = self.location
        return self.builder.insert(op).results[0]

    def constant(self, value: int) -> SSAValue:
        op = arith.ConstantOp.from_int_and_width(value, IndexType())
        op.location = self.location
        return self.builder.insert(op).result
