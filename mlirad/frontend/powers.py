"""`**`: repeated multiplication for whole exponents, `pow` of the C library for others."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.casts import convert, number
from mlirad.frontend.types import INT64, UINT64, Scalar

UNROLLED = 0x10000
"""Literal exponents up to here are multiplied out, as numba does."""


def power(left: Value, right: Value, type_: Scalar, builder: SourceBuilder) -> Value:
    """`left ** right` of the type that `operators.binary_type` gives."""
    base = convert(left, type_, builder).ssa
    exponent = right.constant
    if right.type.kind != "f" and isinstance(exponent, int) and abs(exponent) <= UNROLLED:
        if exponent >= 0 or type_.kind == "f":
            return Value(multiplied_out(base, int(exponent), type_, builder), type_)
    if right.type.kind == "f":
        times = convert(right, type_, builder).ssa
        return Value(builder.insert(math.PowFOp(base, times)).results[0], type_)
    if type_.kind == "f" and right.type == UINT64:
        return Value(unsigned_power(base, right, type_, builder), type_)
    times = convert(right, INT64, builder).ssa
    op = math.FPowIOp(base, times) if type_.kind == "f" else math.IPowIOp(base, times)
    return Value(builder.insert(op).results[0], type_)


def unsigned_power(
    base: SSAValue, exponent: Value, type_: Scalar, builder: SourceBuilder
) -> SSAValue:
    """
    A float to a uint64, which may be beyond the signed exponents of `math.fpowi`.

    The way not taken gets the exponent 0 or 1, at which derivatives are finite.
    """
    signed = convert(exponent, INT64, builder).ssa
    zero, one = number(0, INT64, builder), number(1, type_, builder)
    fits = builder.insert(arith.CmpiOp(signed, zero, "sge")).result
    times = builder.insert(arith.SelectOp(fits, signed, zero)).result
    small = builder.insert(math.FPowIOp(base, times)).results[0]
    wide = convert(exponent, type_, builder).ssa
    huge = builder.insert(arith.SelectOp(fits, one, wide)).result
    large = builder.insert(math.PowFOp(base, huge)).results[0]
    return builder.insert(arith.SelectOp(fits, small, large)).result


def multiplied_out(
    base: SSAValue, exponent: int, type_: Scalar, builder: SourceBuilder
) -> SSAValue:
    """By squaring; a negative exponent gives the reciprocal."""
    multiply = arith.MulfOp if type_.kind == "f" else arith.MuliOp
    result: SSAValue | None = None
    remaining = abs(exponent)
    while remaining:
        if remaining & 1:
            result = base if result is None else builder.insert(multiply(result, base)).results[0]
        remaining >>= 1
        if remaining:
            base = builder.insert(multiply(base, base)).results[0]
    if result is None:
        return number(1, type_, builder)
    if exponent > 0:
        return result
    one = number(1, type_, builder)
    return builder.insert(arith.DivfOp(one, result)).results[0]
