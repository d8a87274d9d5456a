"""
The types of kernel arguments and variables.

Pure data, without xDSL and numpy, because a cached kernel must start without either compiler.
`mlirad.frontend.ir_types` says which IR types they become.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["i", "u", "f", "b"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: `kind` is numpy's letter (i int, u unsigned, f float, b bool)."""

    kind: Kind
    bits: int

    def __str__(self) -> str:
        if self.kind == "b":
            return "bool"
        return {"i": "int", "u": "uint", "f": "float"}[self.kind] + str(self.bits)


BOOL = Scalar("b", 1)
INT8, INT16, INT32, INT64 = (Scalar("i", bits) for bits in (8, 16, 32, 64))
UINT8, UINT16, UINT32, UINT64 = (Scalar("u", bits) for bits in (8, 16, 32, 64))
FLOAT32, FLOAT64 = Scalar("f", 32), Scalar("f", 64)


@dataclass(frozen=True, slots=True)
class Array:
    """
    An n-dimensional array in memory that the caller owns.

    `contiguous` means C order without gaps (strides follow from the shape); otherwise byte
    strides are passed. `aligned` means that the data pointer and all strides are multiples of
    the element size. Only windows made inside a function are `unit`: not contiguous, except along
    the last axis. `axes` is set for transposed views: axis `k` of the user is `axes[k]` in
    memory, which all else here describes.
    """

    element: Scalar
    ndim: int
    contiguous: bool = True
    aligned: bool = True
    writable: bool = True
    unit: bool = False
    axes: tuple[int, ...] | None = None

    def axis(self, number: int) -> int:
        """The axis in memory of an axis as the user counts."""
        return number if self.axes is None else self.axes[number]

    def __str__(self) -> str:
        axes = ", ".join([":"] * self.ndim)
        if (self.contiguous or self.unit) and self.ndim:
            axes += ":1"  # as numba writes it: the last axis is contiguous
        return f"{self.element}[{axes}]"


@dataclass(frozen=True, slots=True)
class Tuple:
    """A fixed number of values, each of its own type."""

    elements: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


@dataclass(frozen=True, slots=True)
class NoneType:
    """The type of `None`: what a function without a `return` value returns."""

    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True, slots=True)
class Function:
    """A function or kernel as an argument: each one makes a specialisation of its own."""

    object: Any

    def __str__(self) -> str:
        return f"function '{getattr(self.object, '__name__', self.object)}'"


Type = Scalar | Array | Tuple | NoneType | Function
