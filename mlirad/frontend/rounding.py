"""Functions that round, and those that only scale."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math

from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.casts import convert, number
from mlirad.frontend.function_kinds import ScalarFunction, Typing, Unary, math_type
from mlirad.frontend.types import FLOAT64, INT64, Scalar, Type

TO_WHOLE = {"floor": math.FloorOp, "ceil": math.CeilOp, "trunc": math.TruncOp}

MOST_DIGITS = 22
"""Powers of ten up to here are exact in float64."""


class Scaled(Unary):
    """Multiplication by a constant."""

    def __init__(self, factor: float, typing: Typing = math_type):
        super().__init__(arith.MulfOp, typing)
        self.factor = factor

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = self.typing([values[0].type])
        operand = convert(values[0], type_, builder)
        factor = number(self.factor, type_, builder)
        return Value(builder.insert(arith.MulfOp(operand.ssa, factor)).results[0], type_)


class Round(ScalarFunction):
    """`round(x)`, half to even, is an int64; `round(x, digits)` keeps the float type."""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        if len(types) == 1:
            return INT64
        if len(types) != 2 or types[0].kind != "f" or not isinstance(constants[1], int):
            return None
        return types[0] if abs(constants[1]) <= MOST_DIGITS else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        value = values[0]
        if len(values) == 2:
            digits = values[1].constant
            assert isinstance(digits, int)
            return to_digits(value, digits, builder)
        if value.type.kind == "f":
            value = Value(builder.insert(math.RoundEvenOp(value.ssa)).results[0], value.type)
        return convert(value, INT64, builder)


def to_digits(value: Value, digits: int, builder: SourceBuilder) -> Value:
    """
    Scales, rounds and scales back, as numba does: scales in float64, but rounds in the type.

    What overflows in between stays as it is.
    """
    power = number(10.0 ** abs(digits), FLOAT64, builder)
    up, down = (arith.MulfOp, arith.DivfOp) if digits >= 0 else (arith.DivfOp, arith.MulfOp)
    wide = convert(value, FLOAT64, builder).ssa
    scaled = Value(builder.insert(up(wide, power)).results[0], FLOAT64)
    shifted = convert(scaled, value.type, builder).ssa
    whole = Value(builder.insert(math.RoundEvenOp(shifted)).results[0], value.type)
    back = builder.insert(down(convert(whole, FLOAT64, builder).ssa, power)).results[0]
    narrow = convert(Value(back, FLOAT64), value.type, builder).ssa
    size = builder.insert(math.AbsFOp(shifted)).results[0]
    infinite = number(float("inf"), value.type, builder)
    finite = builder.insert(arith.CmpfOp(size, infinite, "olt")).result
    kept = builder.insert(arith.SelectOp(finite, narrow, value.ssa)).result
    return Value(kept, value.type)
