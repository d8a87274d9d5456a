"""
The types of kernel arguments and variables.

Pure data, without xDSL and numpy, because a cached kernel must start without either compiler.
`mlirad.frontend.ir_types` says which IR types they become.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
class Complex:
    """A complex number of `bits` bits. In the IR it is two floats: its real and imaginary part."""

    bits: int

    @property
    def part(self) -> Scalar:
        """The type of the real and of the imaginary part."""
        return Scalar("f", self.bits // 2)

    def __str__(self) -> str:
        return f"complex{self.bits}"


COMPLEX64, COMPLEX128 = Complex(64), Complex(128)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record: an element, or a sub-array of them if `shape` is not empty."""

    name: str
    element: Element
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        axes = f"[{', '.join(map(str, self.shape))}]" if self.shape else ""
        return f"{self.name}: {self.element}{axes}"


@dataclass(frozen=True, slots=True)
class Record:
    """An element of a structured array. Where its fields lie is said by the strides alone."""

    fields: tuple[Field, ...]

    def find(self, name: str) -> int | None:
        """The position of a field."""
        return next((k for k, field in enumerate(self.fields) if field.name == name), None)

    def __str__(self) -> str:
        return f"record({', '.join(map(str, self.fields))})"


Element = Scalar | Complex | Record
"""What an array may hold."""


@dataclass(frozen=True, slots=True)
class Array:
    """
    An n-dimensional array in memory that the caller owns.

    `contiguous` means C order without gaps (strides follow from the shape); otherwise byte
    strides are passed. `aligned` means that the data pointer and all strides are multiples of
    the element size. Only windows made inside a function are `unit`: not contiguous, except along
    the last axis. `axes` is set for transposed views: axis `k` of the user is `axes[k]` in
    memory, which all else here describes.

    An array of complex numbers or records is a strided array per float or field in the IR: see
    `leaves`. It is never `contiguous`, and `aligned` if all of these are.
    """

    element: Element
    ndim: int
    contiguous: bool = True
    aligned: bool = True
    writable: bool = True
    unit: bool = False
    axes: tuple[int, ...] | None = None

    @property
    def scalar(self) -> Scalar:
        """The type of the elements, of an array that is one array in the IR."""
        assert isinstance(self.element, Scalar), f"{self} is several arrays in the IR"
        return self.element

    def axis(self, number: int) -> int:
        """The axis in memory of an axis as the user counts."""
        return number if self.axes is None else self.axes[number]

    def __str__(self) -> str:
        axes = ", ".join([":"] * self.ndim)
        if (self.contiguous or self.unit) and self.ndim:
            axes += ":1"  # as numba writes it: the last axis is contiguous
        return f"{self.element}[{axes}]"


@dataclass(frozen=True, slots=True)
class Part:
    """
    A reference to part of an array whose first `given` indices are known: an element that is a
    record, or a sub-array in it. Exists only inside of what is compiled.
    """

    array: Array
    given: int

    def __str__(self) -> str:
        rest = self.array.ndim - self.given
        if not rest:
            return f"an element of {self.array}"
        return f"a {self.array.element} array of {rest} dimension(s) inside another"


@dataclass(frozen=True, slots=True)
class Tuple:
    """
    A fixed number of values, each of its own type.

    `names` are set for a named tuple and for an instance of a dataclass, `home` is its class.
    """

    elements: tuple[Type, ...]
    names: tuple[str, ...] = ()
    home: type | None = None

    @property
    def is_object(self) -> bool:
        """Whether it is an instance of a dataclass, which has no order and no length."""
        return self.home is not None and not issubclass(self.home, tuple)

    def __str__(self) -> str:
        if self.home is None:
            return f"({', '.join(map(str, self.elements))})"
        pairs = zip(self.names, self.elements, strict=True)
        return f"{self.home.__name__}({', '.join(f'{name}: {type_}' for name, type_ in pairs)})"


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


Type = Scalar | Complex | Array | Part | Tuple | NoneType | Function

Leaf = Scalar | Array
"""What values consist of in native code: real numbers, and arrays of them."""


def leaves(type_: Type) -> list[Leaf]:
    """The real numbers and arrays of them that a value of `type_` consists of, in order."""
    return [leaf for _, leaf in named_leaves("", type_)]


def named_leaves(name: str, type_: Type) -> Iterator[tuple[str, Leaf]]:
    """As `leaves`, each with what Python calls it: `x`, `pair[0]`, `rec.mass`, `z.real`."""
    match type_:
        case Scalar():
            yield name, type_
        case Complex():
            yield f"{name}.real", type_.part
            yield f"{name}.imag", type_.part
        case Array(element=Scalar()):
            yield name, type_
        case Array(element, ndim):
            for path, scalar, shape in element_leaves(element):
                axes = ndim + len(shape)
                yield name + path, replace(type_, element=scalar, ndim=axes, contiguous=not axes)
        case Part(array, given):
            yield from named_leaves(name, array)
            yield from [(name, INT64)] * given
        case Tuple(elements, names):
            for number, element in enumerate(elements):
                inner = f"{name}.{names[number]}" if names else f"{name}[{number}]"
                yield from named_leaves(inner, element)
        case NoneType() | Function():
            pass


def element_leaves(element: Element) -> Iterator[tuple[str, Scalar, tuple[int, ...]]]:
    """The real numbers in an element: how they are reached, type, and shape of sub-arrays."""
    match element:
        case Scalar():
            yield "", element, ()
        case Complex():
            yield ".real", element.part, ()
            yield ".imag", element.part, ()
        case Record(fields):
            for field in fields:
                for path, scalar, shape in element_leaves(field.element):
                    yield f".{field.name}{path}", scalar, field.shape + shape


def carries_derivatives(type_: Type) -> bool:
    """Whether there is a float somewhere in a value of `type_`."""
    return any(is_float(leaf) for leaf in leaves(type_))


def is_float(leaf: Leaf) -> bool:
    """Whether a leaf holds floats."""
    element = leaf.element if isinstance(leaf, Array) else leaf
    return isinstance(element, Scalar) and element.kind == "f"
