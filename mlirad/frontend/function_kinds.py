"""The kinds of scalar functions: how result types follow from argument types, and what is built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial, reduce

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Operation, SSAValue

from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.casts import (
    UNIFIED,
    convert,
    float_of,
    is_nonzero,
    number,
    unify_scalars,
)
from mlirad.frontend.operators import compare, wide_int
from mlirad.frontend.types import BOOL, FLOAT32, FLOAT64, INT8, INT64, Scalar, Type

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


Typing = Callable[[Sequence[Scalar]], Scalar]
"""From the types of numbers to the one that the function computes in."""


def math_type(types: Sequence[Scalar]) -> Scalar:
    """Functions of `math`: float64 if all are ints, else as in arithmetic."""
    return reduce(float_of, types) if any(t.kind == "f" for t in types) else FLOAT64


def power_type(types: Sequence[Scalar]) -> Scalar:
    """`math.pow`: an integer exponent is never float32."""
    return FLOAT64 if types[1].kind in "iu" else math_type(types)


def numpy_type(types: Sequence[Scalar]) -> Scalar:
    """Functions of numpy: ints take the type of a float beside them, whatever their width."""
    floats = [t for t in types if t.kind == "f"]
    if floats:
        return max(floats, key=lambda t: t.bits)
    return reduce(partial(float_of, narrow=UNIFIED), types, FLOAT32)


def numpy_number_type(types: Sequence[Scalar]) -> Scalar:
    """Functions of numpy that keep ints as ints."""
    if any(t.kind == "f" for t in types):
        return numpy_type(types)
    return reduce(unify_scalars, types)


def numpy_arithmetic_type(types: Sequence[Scalar]) -> Scalar:
    """Functions of numpy that keep ints as ints, but take bools for int8."""
    type_ = numpy_number_type(types)
    return INT8 if type_ == BOOL else type_


class Floats(ScalarFunction):
    """`count` floats in, one out; all have the type that `typing` finds."""

    count = 1

    def __init__(self, build: Build, typing: Typing = math_type):
        self.build, self.typing = build, typing

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return self.typing(types) if len(types) == self.count else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = self.typing([value.type for value in values])
        operands = [convert(value, type_, builder).ssa for value in values]
        return Value(builder.insert(self.build(*operands)).results[0], type_)


class Unary(Floats):
    """One float in, one out."""


class Binary(Floats):
    """Two floats in, one out."""

    count = 2


class Whole(Unary):
    """A rounding function of numpy: ints keep their type."""

    def __init__(self, build: Build):
        super().__init__(build, numpy_number_type)

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        return super().emit(values, builder) if values[0].type.kind == "f" else values[0]


class Remainder(Binary):
    """
    numpy's `fmod`: the sign of the dividend; ints give 0 for division by zero.

    Not numba's for negative ints, which it divides as if they were unsigned.
    """

    def __init__(self):
        super().__init__(libm("fmod"), numpy_arithmetic_type)

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = self.typing([value.type for value in values])
        if type_.kind == "f":
            return super().emit(values, builder)
        a, b = (convert(value, type_, builder).ssa for value in values)
        op = arith.RemUIOp if type_.kind == "u" else arith.RemSIOp
        return Value(builder.insert(op(a, b)).results[0], type_)


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
        self.typing = numpy_number_type if floats else partial(reduce, unify_scalars)

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        if len(types) < 2 or (self.floats is not None and len(types) != 2):
            return None
        return self.typing(types)

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        best = values[0]
        for value in values[1:]:
            best = self.choose(best, value, builder)
        return best

    def choose(self, best: Value, value: Value, builder: SourceBuilder) -> Value:
        type_ = self.typing([best.type, value.type])
        a, b = convert(best, type_, builder), convert(value, type_, builder)
        if self.floats is not None and type_.kind == "f":
            return Value(builder.insert(self.floats(a.ssa, b.ssa)).results[0], type_)
        wins = compare(self.better, b, a, builder).ssa
        return Value(builder.insert(arith.SelectOp(wins, b.ssa, a.ssa)).result, type_)


class Sign(ScalarFunction):
    """-1, 0 or 1; NaN for NaN."""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return types[0] if len(types) == 1 and types[0] != BOOL else None

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
        return unify_scalars(types[1], types[2]) if len(types) == 3 else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        condition, a, b = values
        type_ = unify_scalars(a.type, b.type)
        sides = [convert(side, type_, builder).ssa for side in (a, b)]
        chosen = is_nonzero(condition, builder)
        return Value(builder.insert(arith.SelectOp(chosen, *sides)).result, type_)


class Cast(ScalarFunction):
    """A type called like a function."""

    def __init__(self, type_: Scalar):
        self.type = type_

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return self.type if len(types) == 1 else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        return convert(values[0], self.type, builder)
