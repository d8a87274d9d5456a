"""Python's `//` and `%`: the quotient is rounded down, the remainder has the divisor's sign."""

from __future__ import annotations

from xdsl.dialects import arith, func, math
from xdsl.ir import SSAValue

from mlirad.frontend import ir_types
from mlirad.frontend.builder import SourceBuilder
from mlirad.frontend.casts import number
from mlirad.frontend.types import Scalar


def floor_divide(a: SSAValue, b: SSAValue, type_: Scalar, builder: SourceBuilder) -> SSAValue:
    """`a // b`; ints give 0 for division by zero, floats what IEEE division gives."""
    if type_.kind == "u":
        return builder.insert(arith.DivUIOp(a, b)).results[0]
    if type_.kind == "i":
        return builder.insert(arith.FloorDivSIOp(a, b)).results[0]
    zero, one, half = (number(x, type_, builder) for x in (0.0, 1.0, 0.5))
    remainder, quotient = divide(a, b, type_, builder)
    del remainder
    floor = builder.insert(math.FloorOp(quotient)).results[0]
    rest = builder.insert(arith.SubfOp(quotient, floor)).results[0]
    above = builder.insert(arith.CmpfOp(rest, half, "ogt")).result
    up = builder.insert(arith.AddfOp(floor, one)).results[0]
    rounded = builder.insert(arith.SelectOp(above, up, floor)).result
    plain = builder.insert(arith.DivfOp(a, b)).results[0]
    signed_zero = builder.insert(math.CopySignOp(zero, plain)).results[0]
    is_zero = builder.insert(arith.CmpfOp(quotient, zero, "oeq")).result
    whole = builder.insert(arith.SelectOp(is_zero, signed_zero, rounded)).result
    by_zero = builder.insert(arith.CmpfOp(b, zero, "oeq")).result
    return builder.insert(arith.SelectOp(by_zero, plain, whole)).result


def modulo(a: SSAValue, b: SSAValue, type_: Scalar, builder: SourceBuilder) -> SSAValue:
    """`a % b`; ints give 0 for division by zero, floats NaN."""
    if type_.kind == "u":
        return builder.insert(arith.RemUIOp(a, b)).results[0]
    if type_.kind == "f":
        return divide(a, b, type_, builder)[0]
    zero = number(0, type_, builder)
    rest = builder.insert(arith.RemSIOp(a, b)).results[0]
    some = builder.insert(arith.CmpiOp(rest, zero, "ne")).result
    signs = builder.insert(arith.XOrIOp(rest, b)).results[0]
    differ = builder.insert(arith.CmpiOp(signs, zero, "slt")).result
    wrong = builder.insert(arith.AndIOp(some, differ)).results[0]
    moved = builder.insert(arith.AddiOp(rest, b)).results[0]
    return builder.insert(arith.SelectOp(wrong, moved, rest)).result


def divide(
    a: SSAValue, b: SSAValue, type_: Scalar, builder: SourceBuilder
) -> tuple[SSAValue, SSAValue]:
    """Remainder with the sign of `b`, and the quotient before rounding, as numba computes them."""
    zero, one = number(0.0, type_, builder), number(1.0, type_, builder)
    ir = ir_types.scalar_type(type_)
    name = "fmod" if type_.bits == 64 else "fmodf"
    rest = builder.insert(func.CallOp(name, [a, b], [ir])).res[0]
    quotient = builder.insert(arith.SubfOp(a, rest)).results[0]
    quotient = builder.insert(arith.DivfOp(quotient, b)).results[0]
    some = builder.insert(arith.CmpfOp(rest, zero, "une")).result
    b_negative = builder.insert(arith.CmpfOp(b, zero, "olt")).result
    rest_negative = builder.insert(arith.CmpfOp(rest, zero, "olt")).result
    differ = builder.insert(arith.XOrIOp(b_negative, rest_negative)).results[0]
    wrong = builder.insert(arith.AndIOp(some, differ)).results[0]
    moved = builder.insert(arith.AddfOp(rest, b)).results[0]
    lower = builder.insert(arith.SubfOp(quotient, one)).results[0]
    quotient = builder.insert(arith.SelectOp(wrong, lower, quotient)).result
    fixed = builder.insert(arith.SelectOp(wrong, moved, rest)).result
    signed_zero = builder.insert(math.CopySignOp(zero, b)).results[0]
    return builder.insert(arith.SelectOp(some, fixed, signed_zero)).result, quotient
