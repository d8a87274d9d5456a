"""Functions that round, and those that only scale."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math

from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.casts import convert, number
from mlirad.frontend.function_kinds import ScalarFunction, Unary
from mlirad.frontend.types import FLOAT32, FLOAT64, INT64, Scalar, Type

TO_WHOLE = {"floor": math.FloorOp, "ceil": math.CeilOp, "trunc": math.TruncOp}

MOST_DIGITS = 22
"""Powers of ten up to here are exact in float64."""


class Scaled(Unary):
    """Multiplication by a constant."""

    def __init__(self, factor: float, wide: bool = False):
        super().__init__(arith.MulfOp, wide)
        self.factor = factor

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = FLOAT32 if values[0].type == FLOAT32 else FLOAT64
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
    """Scales, rounds and scales back, as numba does; what overflows in between stays as it is."""
    wide = convert(value, FLOAT64, builder)
    power = number(10.0 ** abs(digits), FLOAT64, builder)
    up, down = (arith.MulfOp, arith.DivfOp) if digits >= 0 else (arith.DivfOp, arith.MulfOp)
    shifted = builder.insert(up(wide.ssa, power)).results[0]
    whole = builder.insert(math.RoundEvenOp(shifted)).results[0]
    back = builder.insert(down(whole, power)).results[0]
    size = builder.insert(math.AbsFOp(shifted)).results[0]
    finite = builder.insert(
        arith.CmpfOp(size, number(float("inf"), FLOAT64, builder), "olt")
    ).result
    kept = builder.insert(arith.SelectOp(finite, back, wide.ssa)).result
    return convert(Value(kept, FLOAT64), value.type, builder)
