"""Conversions between numbers, and which type two values have in common: numba's rules."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue

from mlirad.frontend import ir_types
from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.types import BOOL, FLOAT32, FLOAT64, Scalar, Tuple, Type

UNIFIED = {"b": 1, "i": 16, "u": 16}
"""Integers up to this width share a variable with a float32."""

ARITHMETIC = {"b": 1, "i": 16, "u": 8}
"""Integers up to this width do not widen a float32 that they are combined with."""


def unify(a: Type, b: Type) -> Type | None:
    """The type of a variable that holds an `a` on one path and a `b` on another."""
    if a == b:
        return a
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.elements) == len(b.elements):
        elements = [unify(x, y) for x, y in zip(a.elements, b.elements, strict=True)]
        known = [element for element in elements if element is not None]
        return Tuple(tuple(known)) if len(known) == len(elements) else None
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return unify_scalars(a, b)
    return None


def unify_scalars(a: Scalar, b: Scalar) -> Scalar:
    if a == BOOL or b == BOOL:
        return b if a == BOOL else a
    if a.kind == "f" or b.kind == "f":
        return float_of(a, b, UNIFIED)
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    return Scalar("i", 2 * unsigned.bits) if unsigned.bits < 64 else FLOAT64


def float_of(a: Scalar, b: Scalar, narrow: Mapping[str, int] = ARITHMETIC) -> Scalar:
    """The float type that holds both, at least one of which is a float."""
    fits = all(s == FLOAT32 or s.bits <= narrow.get(s.kind, 0) for s in (a, b))
    return FLOAT32 if fits else FLOAT64


def number(value: float, type_: Scalar, builder: SourceBuilder) -> SSAValue:
    """A constant of a type that can hold it."""
    ir = ir_types.scalar_type(type_)
    if isinstance(ir, IntegerType):
        attribute = IntegerAttr(wrapped(int(value), type_), ir)
    else:
        attribute = FloatAttr(float(value), ir)
    op = arith.ConstantOp.create(result_types=[ir], properties={"value": attribute})
    return builder.insert(op).results[0]


def wrapped(value: int, type_: Scalar) -> int:
    """`value` modulo the width of the type, as the signed number with these bits."""
    if type_.kind == "b":
        return int(bool(value))
    value &= (1 << type_.bits) - 1
    return value - (1 << type_.bits) if value >> (type_.bits - 1) else value


def convert(value: Value, to: Scalar, builder: SourceBuilder) -> Value:
    """
    `value` as a number of type `to`.

    Floats are truncated to ints (saturating, NaN gives 0), anything but zero is True.
    """
    if value.type == to:
        return value
    if value.constant is not None and is_exact(value.constant, to):
        constant = float(value.constant) if to.kind == "f" else int(value.constant)
        return Value(number(constant, to, builder), to, constant)
    if to == BOOL:
        return Value(is_nonzero(value, builder), BOOL)
    op = conversion(value, to)
    return Value(value.ssa if op is None else builder.insert(op).results[0], to)


def is_exact(constant: float, to: Scalar) -> bool:
    """Whether a compile-time number can be given another type without rounding."""
    if to.kind == "f":
        return to.bits == 64 and (isinstance(constant, float) or abs(constant) < 1 << 53)
    return (
        to.kind == "i"
        and isinstance(constant, int)
        and -(1 << (to.bits - 1)) <= constant < 1 << (to.bits - 1)
    )


def conversion(value: Value, to: Scalar) -> Operation | None:
    """The op that converts; None if the bits stay."""
    op_class = conversion_class(value.type, to)
    if op_class is None:
        return None
    return op_class.create(operands=[value.ssa], result_types=[ir_types.scalar_type(to)])


def conversion_class(source: Scalar, to: Scalar) -> type[Operation] | None:
    is_signed = source.kind == "i"
    match source.kind == "f", to.kind == "f":
        case True, True:
            return arith.ExtFOp if to.bits > source.bits else arith.TruncFOp
        case True, False:
            return arith.FPToUIOp if to.kind == "u" else arith.FPToSIOp
        case False, True:
            return arith.SIToFPOp if is_signed else arith.UIToFPOp
        case _ if to.bits > source.bits:
            return arith.ExtSIOp if is_signed else arith.ExtUIOp
        case _ if to.bits < source.bits:
            return arith.TruncIOp
        case _:
            return None


def is_nonzero(value: Value, builder: SourceBuilder) -> SSAValue:
    """The `i1` that Python's `bool(value)` is; NaN is true."""
    if value.type == BOOL:
        return value.ssa
    zero = number(0, value.type, builder)
    if value.type.kind == "f":
        return builder.insert(arith.CmpfOp(value.ssa, zero, "une")).result
    return builder.insert(arith.CmpiOp(value.ssa, zero, "ne")).result
