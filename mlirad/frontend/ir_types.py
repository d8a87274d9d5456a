"""Which IR types the Python-level types become; tuples are flattened in order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute

from mlirad.frontend.types import Array, Part, Scalar, Tuple, Type, leaves

INTEGERS = {bits: IntegerType(bits) for bits in (1, 8, 16, 32, 64)}
FLOATS: dict[int, Float32Type | Float64Type] = {32: Float32Type(), 64: Float64Type()}


def scalar_type(scalar: Scalar) -> IntegerType | Float32Type | Float64Type:
    """The type of a number as an SSA value."""
    return FLOATS[scalar.bits] if scalar.kind == "f" else INTEGERS[scalar.bits]


def element_type(scalar: Scalar) -> IntegerType | Float32Type | Float64Type:
    """The type of a number in an array: as `scalar_type`, but a bool takes a byte."""
    return INTEGERS[8] if scalar.kind == "b" else scalar_type(scalar)


def memref_type(array: Array) -> MemRefType[Attribute]:
    """
    Identity layout for contiguous arrays, else dynamic strides and offset; the last stride is 1
    for a `unit` array.
    """
    shape = [DYNAMIC_INDEX] * array.ndim
    layout: StridedLayoutAttr | NoneAttr = NoneAttr()
    if not array.contiguous:
        strides: list[int | None] = [None] * array.ndim
        if array.unit:
            strides[-1] = 1
        layout = StridedLayoutAttr(strides, None)
    return MemRefType(element_type(array.scalar), shape, layout)


def flatten_type(type_: Type) -> list[Attribute]:
    """The IR types of one Python value."""
    match type_:
        case Scalar():
            return [scalar_type(type_)]
        case Tuple(elements):
            return [ir for element in elements for ir in flatten_type(element)]
        case Part(array, given):
            return [*flatten_type(array), *[IndexType()] * given]
        case _:
            return [
                memref_type(leaf) if isinstance(leaf, Array) else scalar_type(leaf)
                for leaf in leaves(type_)
            ]


def flatten_types(types: Sequence[Type]) -> list[Attribute]:
    return [ir for type_ in types for ir in flatten_type(type_)]


def zero_attribute(
    scalar: Scalar,
) -> IntegerAttr[IntegerType] | FloatAttr[Float32Type | Float64Type]:
    """The number 0 of a type, as the value of an `arith.constant`."""
    if scalar.kind == "f":
        return FloatAttr(0.0, FLOATS[scalar.bits])
    return IntegerAttr(0, INTEGERS[scalar.bits])
