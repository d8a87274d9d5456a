"""
Memrefs as the emitter sees them: a pointer, sizes, and strides in bytes.

Parts that the type fixes are literals and are never passed around; only the dynamic ones
become arguments, block arguments and words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from mlirad.backends.native import SIZES


def is_memref(type: Attribute) -> TypeGuard[MemRefType[Attribute]]:
    return isinstance(type, MemRefType)


@dataclass(frozen=True, slots=True)
class Layout:
    """
    What a memref type says: `None` marks a size or (byte) stride known only at run time.

    `strides` is None for C order without gaps.
    """

    element: str
    storage: str
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None
    pointer: str

    @property
    def width(self) -> int:
        return SIZES[self.element]

    @property
    def components(self) -> list[str]:
        """The LLVM types of the parts that are passed around."""
        dynamic = self.sizes.count(None)
        if self.strides is not None:
            dynamic += self.strides.count(None)
        return [self.pointer] + ["i64"] * dynamic


def layout_of(
    type: MemRefType[Attribute], element: str, storage: str, spaces: Mapping[int, int]
) -> Layout | None:
    """The layout of a memref type; None if it is neither C order nor strided."""
    sizes = tuple(None if n == DYNAMIC_INDEX else n for n in type.get_shape())
    width = SIZES[element]
    strides: tuple[int | None, ...] | None = None
    match type.layout:
        case NoneAttr():
            pass
        case StridedLayoutAttr() as strided:
            strides = tuple(
                s.data * width if isinstance(s, IntAttr) else None for s in strided.strides
            )
        case AffineMapAttr() as order if order.data == AffineMap.identity(len(sizes)):
            pass
        case _:
            return None
    pointer = "ptr"
    number = type.memory_space
    if isinstance(number, IntegerAttr):
        number = cast("IntegerAttr[IndexType | IntegerType]", number)
        space = spaces.get(number.value.data, 0)
        pointer = f"ptr addrspace({space})" if space else "ptr"
    return Layout(element, storage, sizes, strides, pointer)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """
    The parts of one memref, as operands.

    `strides` are in bytes, None for C order. `align` is what loads and stores may assume.
    """

    pointer: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...] | None
    layout: Layout
    align: int

    @staticmethod
    def of_parts(layout: Layout, parts: Sequence[str], aligned: bool) -> Descriptor:
        """Puts together what `parts` takes apart."""
        rest = iter(parts)
        pointer = next(rest)
        sizes = tuple(str(n) if n is not None else next(rest) for n in layout.sizes)
        strides = None
        if layout.strides is not None:
            strides = tuple(str(n) if n is not None else next(rest) for n in layout.strides)
        return Descriptor(pointer, sizes, strides, layout, layout.width if aligned else 1)

    def parts(self, layout: Layout) -> list[str]:
        """The operands for the components of `layout`, the type it is passed as."""
        parts = [self.pointer]
        parts += [s for s, n in zip(self.sizes, layout.sizes, strict=True) if n is None]
        if layout.strides is not None:
            assert self.strides is not None
            parts += [s for s, n in zip(self.strides, layout.strides, strict=True) if n is None]
        return parts
