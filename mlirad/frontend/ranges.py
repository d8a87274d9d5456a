"""`range` in `for` loops: how many iterations, and the loop variable of each."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from mlirad.frontend.builder import Value
from mlirad.frontend.expressions import Expressions
from mlirad.frontend.operands import Operand, Static
from mlirad.frontend.types import INT32, INT64, UINT64, Scalar

SIGNED_LESS = 2


@dataclass(frozen=True, slots=True)
class Range:
    """
    Iteration `k` of `count` has the loop variable `start + k * step`.

    `start` and `step` are None where they are 0 and 1. All are `index` values; a `count` below
    zero means none.
    """

    count: SSAValue
    start: SSAValue | None
    step: SSAValue | None
    type: Scalar
    nonnegative: bool


def variable_type(types: list[Scalar]) -> Scalar:
    """numba's type of the loop variable for the types of the arguments of `range`."""
    if all(t.kind == "u" for t in types):
        return UINT64
    return INT32 if all(t.kind == "i" and t.bits <= 32 for t in types) else INT64


class Ranges(Expressions):
    """Evaluates the `range(…)` of a `for` loop."""

    def range(self, node: ast.For) -> Range:
        arguments = self.range_arguments(node)
        values = [self.value(argument) for argument in arguments]
        self.locate(node.iter)
        for value, argument in zip(values, arguments, strict=True):
            if value.type.kind not in "iu":
                what = f"'range' needs ints, but got {value.type}"
                raise self.typing_error(argument, what, "convert it with int(…)")
        start = values[0] if len(values) > 1 else None
        stop = values[1] if len(values) > 1 else values[0]
        step = values[2] if len(values) > 2 else None
        if step is not None and step.constant == 0:
            raise self.typing_error(node.iter, "the step of 'range' is 0", "use 1 or -1")
        return self.counted(start, stop, step, variable_type([v.type for v in values]), node)

    def range_arguments(self, node: ast.For) -> list[ast.expr]:
        match node.iter:
            case ast.Call(func=called, args=arguments, keywords=[]) if 1 <= len(arguments) <= 3:
                function = self.expression(called)
                if isinstance(function, Static) and function.object is range:
                    return arguments
            case _:
                pass
        what = f"'for' over '{ast.unparse(node.iter)}' is not compiled"
        raise self.unsupported(node.iter, what, "use 'for i in range(n)' and index with i")

    def counted(
        self, start: Value | None, stop: Value, step: Value | None, type_: Scalar, node: ast.For
    ) -> Range:
        if start is not None and start.constant == 0:
            start = None
        if step is not None and step.constant == 1:
            step = None
        rising = step is None or self.is_nonnegative(step)
        nonnegative = rising and (start is None or self.is_nonnegative(start))
        if step is not None and step.constant is not None and step.constant < 0:
            nonnegative = stop.constant is not None and stop.constant >= -1
        count = self.index(stop, node.iter)
        first = by = None
        if start is not None:
            first = self.index(start, node.iter)
            count = self.op(arith.SubiOp(count, first))
        if step is not None:
            # Rounds up for steps of either sign; a step of 0 at run time gives no iteration.
            by = self.index(step, node.iter)
            count = self.op(arith.CeilDivSIOp(count, by))
        return Range(count, first, by, type_, nonnegative)

    def no_range(self) -> Range:
        """Stands in for a range that this walk cannot evaluate."""
        return Range(self.index_constant(0), None, None, INT64, True)

    def loop_variable(self, counted: Range, counter: SSAValue) -> Operand:
        position = counter
        if counted.step is not None:
            position = self.op(arith.MuliOp(position, counted.step))
        if counted.start is not None:
            position = self.op(arith.AddiOp(position, counted.start))
        return self.count_value(position, counted.type, counted.nonnegative)

    def below(self, counter: SSAValue, count: SSAValue) -> SSAValue:
        return self.op(arith.CmpiOp(counter, count, SIGNED_LESS))

    def next_count(self, counter: SSAValue) -> SSAValue:
        return self.op(arith.AddiOp(counter, self.index_constant(1)))
