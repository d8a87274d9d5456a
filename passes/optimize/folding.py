"""
What is known about an integer op without running the program.

Floats are not touched: `x * 0`, `x + 0` and any other order of additions may differ from what
the program computes. The arithmetic is the back end's: wrapping, and total (division by zero
gives 0, shifts beyond the width give 0 or the sign).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

Folded = SSAValue[Attribute] | Attribute | None
"""The value that replaces an op, or the attribute of a constant that does, or nothing."""

EXACT = 2**53
"""Integers up to here are floats exactly."""


def width_of(type: Attribute) -> int | None:
    if isinstance(type, IndexType):
        return 64
    return cast(IntegerType, type).width.data if isinstance(type, IntegerType) else None


def wrap(value: int, width: int) -> int:
    """The signed number with the low `width` bits of `value`."""
    half = 1 << (width - 1)
    return ((value + half) & ((half << 1) - 1)) - half


def unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def known_integer(value: SSAValue) -> int | None:
    """The signed value of an integer constant."""
    if not isinstance(value, OpResult) or not isinstance(value.op, arith.ConstantOp):
        return None
    attribute = value.op.properties["value"]
    width = width_of(value.type)
    if not isinstance(attribute, IntegerAttr) or width is None:
        return None
    return wrap(attribute.value.data, width)


def integer(value: int, type: Attribute) -> Attribute:
    width = width_of(type)
    assert width is not None
    number = wrap(value, width)
    return IntegerAttr(number & 1 if width == 1 else number, cast(IntegerType | IndexType, type))


def truncated_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


Binary = Callable[[int, int, int], int]

BINARY: dict[type[Operation], Binary] = {
    arith.AddiOp: lambda a, b, w: a + b,
    arith.SubiOp: lambda a, b, w: a - b,
    arith.MuliOp: lambda a, b, w: a * b,
    arith.AndIOp: lambda a, b, w: a & b,
    arith.OrIOp: lambda a, b, w: a | b,
    arith.XOrIOp: lambda a, b, w: a ^ b,
    arith.MinSIOp: lambda a, b, w: min(a, b),
    arith.MaxSIOp: lambda a, b, w: max(a, b),
    arith.MinUIOp: lambda a, b, w: min(a, b, key=lambda x: unsigned(x, w)),
    arith.MaxUIOp: lambda a, b, w: max(a, b, key=lambda x: unsigned(x, w)),
    arith.DivSIOp: lambda a, b, w: truncated_quotient(a, b) if b else 0,
    arith.FloorDivSIOp: lambda a, b, w: a // b if b else 0,
    arith.CeilDivSIOp: lambda a, b, w: -(-a // b) if b else 0,
    arith.RemSIOp: lambda a, b, w: a - truncated_quotient(a, b) * b if b else 0,
    arith.DivUIOp: lambda a, b, w: unsigned(a, w) // unsigned(b, w) if b else 0,
    arith.RemUIOp: lambda a, b, w: unsigned(a, w) % unsigned(b, w) if b else 0,
    arith.ShLIOp: lambda a, b, w: a << b if 0 <= b < w else 0,
    arith.ShRSIOp: lambda a, b, w: a >> (b if 0 <= b < w else w - 1),
    arith.ShRUIOp: lambda a, b, w: unsigned(a, w) >> b if 0 <= b < w else 0,
}
"""Value from the signed operands and their width; the result is wrapped to the width."""

RIGHT_UNIT: dict[type[Operation], int] = {
    **dict.fromkeys((arith.AddiOp, arith.SubiOp, arith.OrIOp, arith.XOrIOp), 0),
    **dict.fromkeys((arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp), 0),
    **dict.fromkeys((arith.MuliOp, arith.DivSIOp, arith.FloorDivSIOp, arith.DivUIOp), 1),
    arith.AndIOp: -1,
}
"""`x op unit` is `x`."""
LEFT_UNIT: dict[type[Operation], int] = {
    k: RIGHT_UNIT[k] for k in (arith.AddiOp, arith.MuliOp, arith.OrIOp, arith.XOrIOp)
}
"""`unit op x` is `x`."""
ABSORBING: dict[type[Operation], int] = {arith.MuliOp: 0, arith.AndIOp: 0, arith.OrIOp: -1}
"""`x op absorbing` is `absorbing`, on either side."""
CANCELLING = frozenset({arith.SubiOp, arith.XOrIOp})
"""`x op x` is 0."""


def fold_binary(op: Operation) -> Folded:
    kind, (x, y) = type(op), op.operands
    type_ = op.results[0].type
    if (width := width_of(type_)) is None:
        return None
    a, b = known_integer(x), known_integer(y)
    if a is not None and b is not None:
        return integer(BINARY[kind](a, b, width), type_)
    if b is not None and b == RIGHT_UNIT.get(kind):
        return x
    if a is not None and a == LEFT_UNIT.get(kind):
        return y
    absorbing = ABSORBING.get(kind)
    if absorbing is not None and absorbing in (a, b):
        return integer(absorbing, type_)
    if x is y and kind in CANCELLING:
        return integer(0, type_)
    return None


COMPARE: tuple[Binary, ...] = (
    lambda a, b, w: a == b,
    lambda a, b, w: a != b,
    lambda a, b, w: a < b,
    lambda a, b, w: a <= b,
    lambda a, b, w: a > b,
    lambda a, b, w: a >= b,
    lambda a, b, w: unsigned(a, w) < unsigned(b, w),
    lambda a, b, w: unsigned(a, w) <= unsigned(b, w),
    lambda a, b, w: unsigned(a, w) > unsigned(b, w),
    lambda a, b, w: unsigned(a, w) >= unsigned(b, w),
)
"""By the number of the predicate: eq ne slt sle sgt sge ult ule ugt uge."""
NOT_EQUAL = 1


def fold_comparison(op: Operation) -> Folded:
    predicate = op.properties["predicate"]
    x, y = op.operands
    width = width_of(x.type)
    if not isinstance(predicate, IntegerAttr) or width is None:
        return None
    number = predicate.value.data
    a, b = known_integer(x), known_integer(y)
    if x is y:
        a = b = 0
    if a is not None and b is not None:
        return integer(COMPARE[number](a, b, width), op.results[0].type)
    widened = defining(x, arith.ExtUIOp)
    if number == NOT_EQUAL and b == 0 and widened is not None:
        source = widened.operands[0]
        if source.type == op.results[0].type:
            return source  # a bool that was made an integer
    return None


def fold_select(op: Operation) -> Folded:
    condition, true, false = op.operands
    if (known := known_integer(condition)) is not None:
        return true if known else false
    if true is false:
        return true
    return None


WIDENING = (arith.IndexCastOp, arith.ExtUIOp, arith.ExtSIOp)


def fold_cast(op: Operation) -> Folded:
    """Integer casts: of constants, and those that undo one another."""
    (x,) = op.operands
    target = op.results[0].type
    width, old = width_of(target), width_of(x.type)
    if width is None or old is None:
        return None
    if (known := known_integer(x)) is not None:
        zero_extends = isinstance(op, arith.ExtUIOp)
        return integer(unsigned(known, old) if zero_extends else known, target)
    if isinstance(x, OpResult) and isinstance(x.op, WIDENING):
        source = x.op.operands[0]
        widens = (width_of(source.type) or 0) <= old
        undoes = isinstance(op, arith.TruncIOp) or (
            isinstance(op, arith.IndexCastOp) and isinstance(x.op, arith.IndexCastOp)
        )
        if widens and undoes and source.type == target:
            return source
    return None


def fold_to_float(op: Operation) -> Folded:
    known, target = known_integer(op.operands[0]), op.results[0].type
    if known is None or not isinstance(target, Float64Type) or abs(known) > EXACT:
        return None
    return FloatAttr(float(known), target)


def fold_dimension(op: Operation) -> Folded:
    source, index = op.operands
    known = known_integer(index)
    type = source.type
    if known is None or not isinstance(type, MemRefType):
        return None
    shape = cast(MemRefType[Attribute], type).get_shape()
    if not 0 <= known < len(shape) or shape[known] < 0:
        return None
    return integer(shape[known], op.results[0].type)


def defining(value: SSAValue, kind: type[Operation]) -> Operation | None:
    return value.op if isinstance(value, OpResult) and isinstance(value.op, kind) else None


FOLDS: dict[type[Operation], Callable[[Operation], Folded]] = {
    **dict.fromkeys(BINARY, fold_binary),
    **dict.fromkeys((arith.IndexCastOp, arith.ExtUIOp, arith.ExtSIOp, arith.TruncIOp), fold_cast),
    arith.CmpiOp: fold_comparison,
    arith.SelectOp: fold_select,
    arith.SIToFPOp: fold_to_float,
    memref.DimOp: fold_dimension,
}
