"""What `for` runs over: `range`, arrays, tuples, and `enumerate`, `zip`, `reversed` of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from mlirad.frontend.builder import Value
from mlirad.frontend.expressions import Expressions
from mlirad.frontend.operands import (
    ArrayRef,
    Compound,
    Operand,
    RangeValue,
    Static,
    TupleValue,
    part_of,
    spell,
)
from mlirad.frontend.types import INT32, INT64, UINT64, Scalar
from mlirad.frontend.views import Cut

SIGNED_LESS = 2


@dataclass(frozen=True, slots=True)
class Iteration:
    """Iteration `k` of `count` is over `element(k)`, an `index`; a `count` below 0 means none."""

    count: SSAValue
    element: Callable[[SSAValue], Operand]


def variable_type(types: Sequence[Scalar]) -> Scalar:
    """numba's type of the loop variable for the types of the arguments of `range`."""
    if all(t.kind == "u" for t in types):
        return UINT64
    return INT32 if all(t.kind == "i" and t.bits <= 32 for t in types) else INT64


class Iterables(Expressions):
    """Evaluates what stands behind `in`."""

    def iterable(self, node: ast.expr) -> Iteration:
        if isinstance(node, ast.Call):
            called = self.expression(node.func)
            combine = COMBINERS.get(called.object) if isinstance(called, Static) else None
            if combine is not None:
                return combine(self, node)
        operand = self.expression(node)
        self.locate(node)
        match operand:
            case RangeValue():
                return self.counted(operand, node)
            case ArrayRef() if operand.type.ndim:
                return Iteration(self.size(operand, 0), partial(self.part, operand))
            case Compound() if operand.rest:
                count = self.size(operand.parts[0], len(operand.given))
                return Iteration(count, lambda k: self.read(part_of(operand, (k,))))
            case TupleValue(elements) if elements and not operand.is_object:
                pick = partial(self.one_of, elements, node=node)
                return Iteration(self.index_constant(len(elements)), pick)
            case _:
                what = f"'for' over '{ast.unparse(node)}', which is {spell(operand)}"
                way_out = "use range, an array, a tuple, enumerate, zip or reversed"
                raise self.typing_error(node, what, way_out)

    def part(self, array: ArrayRef, position: SSAValue) -> Operand:
        """`array[position]`, which is known to be inside."""
        if array.type.ndim == 1:
            return self.load(array, [position])
        zero, axes = self.index_constant(0), range(1, array.type.ndim)
        cuts = [Cut(position), *(Cut(zero, None, self.size(array, axis)) for axis in axes)]
        return self.window(array, cuts)

    # Ranges

    def range(self, node: ast.Call) -> RangeValue:
        """`range(…)`."""
        if node.keywords or not 1 <= len(node.args) <= 3:
            raise self.typing_error(node, "'range' takes one, two or three ints")
        values = [self.value(argument) for argument in node.args]
        self.locate(node)
        for value, argument in zip(values, node.args, strict=True):
            if value.type.kind not in "iu":
                what = f"'range' needs ints, but got {value.type}"
                raise self.typing_error(argument, what, "convert it with int(…)")
        start = values[0] if len(values) > 1 else self.constant(0)
        stop = values[1] if len(values) > 1 else values[0]
        step = values[2] if len(values) > 2 else self.constant(1)
        if step.constant == 0:
            raise self.typing_error(node, "the step of 'range' is 0", "use 1 or -1")
        return RangeValue(start, stop, step, variable_type([v.type for v in values]))

    def range_count(self, found: RangeValue, node: ast.AST) -> SSAValue:
        """The number of elements; below 0 for some empty ranges."""
        count = self.index(found.stop, node)
        if found.start.constant != 0:
            count = self.op(arith.SubiOp(count, self.index(found.start, node)))
        if found.step.constant != 1:
            # Rounds up for steps of either sign; a step of 0 at run time gives no iteration.
            count = self.op(arith.CeilDivSIOp(count, self.index(found.step, node)))
        return count

    def length(self, operand: Operand, node: ast.AST) -> Value:
        if isinstance(operand, RangeValue):
            count = self.op(arith.MaxSIOp(self.range_count(operand, node), self.index_constant(0)))
            return self.count_value(count)
        return super().length(operand, node)

    def counted(self, found: RangeValue, node: ast.AST) -> Iteration:
        start, stop, step = found.start, found.stop, found.step
        nonnegative = self.is_nonnegative(step) and self.is_nonnegative(start)
        if step.constant is not None and step.constant < 0:
            nonnegative = stop.constant is not None and stop.constant >= -1
        first = None if start.constant == 0 else self.index(start, node)
        by = None if step.constant == 1 else self.index(step, node)

        def element(position: SSAValue) -> Operand:
            if by is not None:
                position = self.op(arith.MuliOp(position, by))
            if first is not None:
                position = self.op(arith.AddiOp(position, first))
            return self.count_value(position, found.type, nonnegative)

        return Iteration(self.range_count(found, node), element)

    # What goes over other iterables

    def operands_of(self, node: ast.Call, counts: Sequence[int]) -> list[Iteration]:
        if node.keywords or len(node.args) not in counts:
            what = f"'{ast.unparse(node.func)}' takes {counts[0]} iterable(s) here, by position"
            raise self.unsupported(node, what, "leave other arguments out")
        return [self.iterable(argument) for argument in node.args]

    def reversed(self, node: ast.Call) -> Iteration:
        (inner,) = self.operands_of(node, [1])
        last = self.op(arith.SubiOp(inner.count, self.index_constant(1)))
        return Iteration(
            inner.count, lambda position: inner.element(self.op(arith.SubiOp(last, position)))
        )

    def zip(self, node: ast.Call) -> Iteration:
        strict = [k for k in node.keywords if k.arg == "strict"]
        if any(not isinstance(k.value, ast.Constant) or k.value.value for k in strict):
            raise self.unsupported(node, "'zip' with strict=True is not compiled", "leave it out")
        plain = ast.copy_location(ast.Call(node.func, node.args, []), node)
        inner = self.operands_of(plain if strict else node, range(1, 17))
        count = reduce(lambda a, b: self.op(arith.MinSIOp(a, b)), (i.count for i in inner))
        return Iteration(
            count, lambda position: TupleValue(tuple([i.element(position) for i in inner]))
        )

    def enumerate(self, node: ast.Call) -> Iteration:
        arguments = node.args[1:] + [k.value for k in node.keywords if k.arg == "start"]
        if not node.args or len(arguments) > 1 or len(arguments) < len(node.keywords):
            raise self.typing_error(node, "'enumerate' takes an iterable and a start")
        inner = self.iterable(node.args[0])
        start = self.value(arguments[0]) if arguments else self.constant(0)
        first = None if start.constant == 0 else self.index(start, node)

        def element(position: SSAValue) -> Operand:
            number = position
            if first is not None:
                number = self.op(arith.AddiOp(position, first))
            counted = self.count_value(number, nonnegative=self.is_nonnegative(start))
            return TupleValue((counted, inner.element(position)))

        return Iteration(inner.count, element)

    def nothing(self) -> Iteration:
        """Stands in for an iterable that this walk cannot evaluate."""
        return Iteration(self.index_constant(0), self.count_value)

    # Loops that may stop early

    def below(self, counter: SSAValue, count: SSAValue) -> SSAValue:
        return self.op(arith.CmpiOp(counter, count, SIGNED_LESS))

    def next_count(self, counter: SSAValue) -> SSAValue:
        return self.op(arith.AddiOp(counter, self.index_constant(1)))


COMBINERS: dict[object, Callable[[Iterables, ast.Call], Iteration]] = {
    reversed: Iterables.reversed,
    zip: Iterables.zip,
    enumerate: Iterables.enumerate,
}
