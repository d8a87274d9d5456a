"""
Python's operators on numbers, with numba's types and values (`error_model="numpy"`).

Operators go by the name of their class in `ast`. Arithmetic on ints is done in 64 bits; it is
unsigned only if both sides are. The float32 type survives only beside ints of at most 16 bits.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from mlirad.frontend import division, powers
from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.casts import convert, float_of, is_nonzero, number
from mlirad.frontend.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT64,
    Scalar,
    Type,
)

INT_OPS = {
    "Add": arith.AddiOp,
    "Sub": arith.SubiOp,
    "Mult": arith.MuliOp,
    "BitAnd": arith.AndIOp,
    "BitOr": arith.OrIOp,
    "BitXor": arith.XOrIOp,
    "LShift": arith.ShLIOp,
}
FLOAT_OPS = {
    "Add": arith.AddfOp,
    "Sub": arith.SubfOp,
    "Mult": arith.MulfOp,
    "Div": arith.DivfOp,
}
INT64_MIN = -(1 << 63)
BITWISE = ("BitAnd", "BitOr", "BitXor")
SHIFTS = ("LShift", "RShift")
ARITHMETIC = ("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow")
FLOAT_PREDICATES = {
    "Eq": "oeq",
    "NotEq": "une",
    "Lt": "olt",
    "LtE": "ole",
    "Gt": "ogt",
    "GtE": "oge",
}
INT_PREDICATES = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}


def binary_type(op: str, left: Type, right: Type) -> Scalar | None:
    """The type of `left op right`; None if the operator does not take these types."""
    if not isinstance(left, Scalar) or not isinstance(right, Scalar):
        return None
    has_float = left.kind == "f" or right.kind == "f"
    if op in SHIFTS and not has_float:
        return UINT64 if left.kind == "u" else INT64
    if op in BITWISE and not has_float:
        return BOOL if left == right == BOOL else wide_int(left, right)
    if op not in ARITHMETIC:
        return None
    if op == "Pow" and left.kind == "f" and right.kind != "f":
        return left
    if op == "Pow" and (left, right) == (BOOL, INT32):
        return FLOAT32  # numba takes the first of its signatures that fits
    if has_float:
        return float_of(left, right)
    return FLOAT64 if op == "Div" else wide_int(left, right)


def wide_int(left: Scalar, right: Scalar) -> Scalar:
    return UINT64 if left.kind == right.kind == "u" else INT64


def binary(op: str, left: Value, right: Value, builder: SourceBuilder) -> Value:
    """`left op right`, for types that `binary_type` accepts."""
    type_ = binary_type(op, left.type, right.type)
    assert type_ is not None, f"{op} on {left.type} and {right.type}"
    if op == "Pow":
        return powers.power(left, right, type_, builder)
    a, b = convert(left, type_, builder).ssa, convert(right, type_, builder).ssa
    if op == "FloorDiv":
        return Value(division.floor_divide(a, b, type_, builder), type_)
    if op == "Mod":
        return Value(division.modulo(a, b, type_, builder), type_)
    if type_.kind == "f":
        return Value(builder.insert(FLOAT_OPS[op](a, b)).results[0], type_)
    if op == "RShift":
        shift = arith.ShRUIOp if type_.kind == "u" else arith.ShRSIOp
        return Value(builder.insert(shift(a, b)).results[0], type_)
    return Value(builder.insert(INT_OPS[op](a, b)).results[0], type_)


def unary_type(op: str, operand: Type) -> Scalar | None:
    """The type of `op operand`; None if the operator does not take this type."""
    if not isinstance(operand, Scalar):
        return None
    if op == "Not":
        return BOOL
    if op == "Invert" and operand.kind in ("b", "f"):
        return BOOL if operand == BOOL else None
    return operand if operand.kind == "f" else wide_int(operand, operand)


def unary(op: str, value: Value, builder: SourceBuilder) -> Value:
    """`op value`, for a type that `unary_type` accepts."""
    type_ = unary_type(op, value.type)
    assert type_ is not None, f"{op} on {value.type}"
    if op == "Not":
        return Value(flip(is_nonzero(value, builder), builder), BOOL)
    if op == "Invert" and type_ == BOOL:
        return Value(flip(value.ssa, builder), BOOL)
    if op == "USub" and value.constant is not None and is_negatable(value):
        return Value(number(-value.constant, type_, builder), type_, -value.constant)
    if op == "UAdd":
        return convert(value, type_, builder)
    if type_.kind == "f":
        return Value(builder.insert(arith.NegfOp(value.ssa)).results[0], type_)
    # numba computes in the width of the operand and widens the result.
    own = convert(value, type_, builder) if value.type == BOOL else value
    if op == "Invert":
        ones = number(-1, own.type, builder)
        result = builder.insert(arith.XOrIOp(own.ssa, ones)).results[0]
    else:
        zero = number(0, own.type, builder)
        result = builder.insert(arith.SubiOp(zero, own.ssa)).results[0]
    return convert(Value(result, own.type), type_, builder)


def is_negatable(value: Value) -> bool:
    """Whether the negative of a constant has its type; narrow and unsigned ints wrap instead."""
    return value.type.kind == "f" or (value.type == INT64 and value.constant != INT64_MIN)


def flip(condition: SSAValue, builder: SourceBuilder) -> SSAValue:
    true = number(True, BOOL, builder)
    return builder.insert(arith.XOrIOp(condition, true)).results[0]


def compare_type(op: str, left: Type, right: Type) -> Scalar | None:
    """`bool` if the comparison takes these types."""
    is_known = op in INT_PREDICATES and isinstance(left, Scalar) and isinstance(right, Scalar)
    return BOOL if is_known else None


def compare(op: str, left: Value, right: Value, builder: SourceBuilder) -> Value:
    """`left op right`; ints of different signs compare by value, NaN is unequal to all."""
    kinds = left.type.kind, right.type.kind
    if "f" in kinds:
        type_ = float_of(left.type, right.type)
        a, b = convert(left, type_, builder).ssa, convert(right, type_, builder).ssa
        return Value(builder.insert(arith.CmpfOp(a, b, FLOAT_PREDICATES[op])).result, BOOL)
    big = [value.type == UINT64 for value in (left, right)]
    if "i" in kinds and any(big):
        return compare_with_unsigned(op, left, right, builder)
    type_ = UINT64 if any(big) else INT64
    a, b = convert(left, type_, builder).ssa, convert(right, type_, builder).ssa
    return Value(compare_ints(op, a, b, type_, builder), BOOL)


def compare_ints(
    op: str, a: SSAValue, b: SSAValue, type_: Scalar, builder: SourceBuilder
) -> SSAValue:
    predicate = INT_PREDICATES[op]
    if op not in ("Eq", "NotEq"):
        predicate = ("u" if type_.kind == "u" else "s") + predicate
    return builder.insert(arith.CmpiOp(a, b, predicate)).result


def compare_with_unsigned(op: str, left: Value, right: Value, builder: SourceBuilder) -> Value:
    """A signed int and a uint64: a negative number is below all unsigned ones."""
    signed_left = left.type.kind == "i"
    signed = convert(left if signed_left else right, INT64, builder).ssa
    a, b = convert(left, UINT64, builder).ssa, convert(right, UINT64, builder).ssa
    held = compare_ints(op, a, b, UINT64, builder)
    negative = compare_ints("Lt", signed, number(0, INT64, builder), INT64, builder)
    below = op in ("NotEq", *(("Lt", "LtE") if signed_left else ("Gt", "GtE")))
    answer = number(below, BOOL, builder)
    return Value(builder.insert(arith.SelectOp(negative, answer, held)).result, BOOL)


def truth(value: Value, builder: SourceBuilder) -> SSAValue:
    """The `i1` that decides a branch on `value`."""
    return is_nonzero(value, builder)


def constant(x: object, builder: SourceBuilder) -> Value:
    """A Python or numpy number known while compiling."""
    type_ = constant_type(x)
    plain = x.item() if hasattr(x, "item") else x  # pyright: ignore
    assert isinstance(plain, bool | int | float)
    return Value(number(plain, type_, builder), type_, plain)


def constant_type(x: object) -> Scalar:
    """
    Python ints are int64 (uint64 beyond), floats float64; numpy scalars keep their dtype.

    Raises `TypeError` for anything else, `OverflowError` for ints beyond 64 bits.
    """
    match x:
        case bool():
            return BOOL
        case int() if -(1 << 63) <= x < 1 << 63:
            return INT64
        case int() if 0 <= x < 1 << 64:
            return UINT64
        case int():
            raise OverflowError(f"{x} does not fit into 64 bits")
        case float():
            return FLOAT64
        case _:
            return numpy_type(x)


def numpy_type(x: object) -> Scalar:
    import numpy as np

    if isinstance(x, np.bool_):
        return BOOL
    for known, type_ in (
        (np.float64, FLOAT64),
        (np.float32, FLOAT32),
        (np.int64, INT64),
        (np.int32, INT32),
        (np.int16, Scalar("i", 16)),
        (np.int8, Scalar("i", 8)),
        (np.uint64, UINT64),
        (np.uint32, Scalar("u", 32)),
        (np.uint16, Scalar("u", 16)),
        (np.uint8, Scalar("u", 8)),
    ):
        if type(x) is known:
            return type_
    raise TypeError(f"{type(x).__name__} is no number that kernels know")
