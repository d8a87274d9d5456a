"""The kinds of scalar functions: how result types follow from argument types, and what is built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Operation, SSAValue

from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.casts import convert, float_of, number, unify_scalars
from mlirad.frontend.operators import compare, wide_int
from mlirad.frontend.types import BOOL, FLOAT32, FLOAT64, INT64, Scalar, Type

Build = Callable[..., Operation]
"""From SSA operands to the op that computes the function."""


class ScalarFunction(ABC):
    """A function of numbers that kernels may call."""

    @abstractmethod
    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        """The result type for these arguments; None if the function does not take them."""

    @abstractmethod
    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value | tuple[Value, ...]:
        """Builds the call, for arguments that `result` accepts."""


def libm(name: str) -> Build:
    """A call of the function of the C library; the float32 version ends in f."""

    def build(*operands: SSAValue) -> Operation:
        suffix = "" if isinstance(operands[0].type, Float64Type) else "f"
        return func.CallOp(name + suffix, list(operands), [operands[0].type])

    return build


def is_narrow(type_: Scalar) -> bool:
    """Whether numpy computes on it in half precision, which kernels do not have."""
    return type_.kind != "f" and type_.bits <= 16


class Unary(ScalarFunction):
    """One float in, one out; ints become float64. `wide` refuses ints of at most 16 bits."""

    def __init__(self, build: Build, wide: bool = False):
        self.build, self.wide = build, wide

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        if len(types) != 1 or (self.wide and is_narrow(types[0])):
            return None
        return FLOAT32 if types[0] == FLOAT32 else FLOAT64

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = FLOAT32 if values[0].type == FLOAT32 else FLOAT64
        operand = convert(values[0], type_, builder)
        return Value(builder.insert(self.build(operand.ssa)).results[0], type_)


class Binary(ScalarFunction):
    """Two floats in, one out; two ints become float64."""

    def __init__(self, build: Build, wide: bool = False):
        self.build, self.wide = build, wide

    def type_of(self, types: Sequence[Scalar]) -> Scalar:
        return float_of(types[0], types[1]) if any(t.kind == "f" for t in types) else FLOAT64

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        if len(types) != 2 or (self.wide and any(map(is_narrow, types))):
            return None
        return self.type_of(types)

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = self.type_of([value.type for value in values])
        operands = [convert(value, type_, builder).ssa for value in values]
        return Value(builder.insert(self.build(*operands)).results[0], type_)


class Integral(ScalarFunction):
    """A rounding function of `math`: the result is an int64 (uint64 for an unsigned int)."""

    def __init__(self, build: Build):
        self.build = build

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return self.type_of(types[0]) if len(types) == 1 else None

    def type_of(self, type_: Scalar) -> Scalar:
        return INT64 if type_.kind == "f" else wide_int(type_, type_)

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        (value,) = values
        if value.type.kind == "f":
            value = Value(builder.insert(self.build(value.ssa)).results[0], value.type)
        return convert(value, self.type_of(values[0].type), builder)


class Predicate(ScalarFunction):
    """`isnan`, `isinf`, `isfinite`; ints are finite."""

    def __init__(self, name: str):
        self.name = name

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return BOOL if len(types) == 1 else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        (value,) = values
        if value.type.kind != "f":
            return Value(number(self.name == "isfinite", BOOL, builder), BOOL)
        if self.name == "isnan":
            return Value(builder.insert(arith.CmpfOp(value.ssa, value.ssa, "uno")).result, BOOL)
        size = builder.insert(math.AbsFOp(value.ssa)).results[0]
        infinite = number(float("inf"), value.type, builder)
        predicate = "oeq" if self.name == "isinf" else "olt"
        return Value(builder.insert(arith.CmpfOp(size, infinite, predicate)).result, BOOL)


class Magnitude(ScalarFunction):
    """`abs(x)`, of the type of `x`."""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return types[0] if len(types) == 1 and types[0] != BOOL else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        (value,) = values
        if value.type.kind == "u":
            return value
        op = math.AbsFOp if value.type.kind == "f" else math.AbsIOp
        return Value(builder.insert(op(value.ssa)).results[0], value.type)


class Extremum(ScalarFunction):
    """
    The smallest or largest of any number of values; of equal ones, the first.

    `floats` builds the pairwise choice for numpy's functions, which treat NaN their own way; the
    builtins compare like Python.
    """

    def __init__(self, better: str, floats: Build | None = None):
        self.better, self.floats = better, floats

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        if len(types) < 2 or (self.floats is not None and len(types) != 2):
            return None
        return reduce(unify_scalars, types)

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        best = values[0]
        for value in values[1:]:
            best = self.choose(best, value, builder)
        return best

    def choose(self, best: Value, value: Value, builder: SourceBuilder) -> Value:
        type_ = unify_scalars(best.type, value.type)
        a, b = convert(best, type_, builder), convert(value, type_, builder)
        if self.floats is not None and type_.kind == "f":
            return Value(builder.insert(self.floats(a.ssa, b.ssa)).results[0], type_)
        wins = compare(self.better, b, a, builder).ssa
        return Value(builder.insert(arith.SelectOp(wins, b.ssa, a.ssa)).result, type_)


class Sign(ScalarFunction):
    """-1, 0 or 1; NaN for NaN."""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return types[0] if len(types) == 1 and types[0].kind in "fi" else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        (value,) = values
        type_ = value.type
        zero, one, minus = (Value(number(n, type_, builder), type_) for n in (0, 1, -1))
        if type_.kind == "f":
            nan = number(float("nan"), type_, builder)
            is_zero = compare("Eq", value, zero, builder).ssa
            zero = Value(builder.insert(arith.SelectOp(is_zero, zero.ssa, nan)).result, type_)
        below = compare("Lt", value, Value(number(0, type_, builder), type_), builder).ssa
        above = compare("Gt", value, Value(number(0, type_, builder), type_), builder).ssa
        low = builder.insert(arith.SelectOp(below, minus.ssa, zero.ssa)).result
        return Value(builder.insert(arith.SelectOp(above, one.ssa, low)).result, type_)


class Select(ScalarFunction):
    """`np.where(condition, a, b)` on numbers; both sides have been computed."""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        if len(types) != 3 or types[0] != BOOL:
            return None
        return unify_scalars(types[1], types[2])

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        condition, a, b = values
        type_ = unify_scalars(a.type, b.type)
        sides = [convert(side, type_, builder).ssa for side in (a, b)]
        return Value(builder.insert(arith.SelectOp(condition.ssa, *sides)).result, type_)


class Cast(ScalarFunction):
    """A type called like a function."""

    def __init__(self, type_: Scalar):
        self.type = type_

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return self.type if len(types) == 1 else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        return convert(values[0], self.type, builder)
