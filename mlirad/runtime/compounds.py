"""
What values consist of: arrays of complex numbers and records, named tuples, dataclasses.

Native code knows real numbers and strided arrays of them. A complex array is two of these, a
structured array one per field, all views of the memory that the caller owns; a tuple or an
instance of a dataclass is its elements, in order.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mlirad.frontend import types as t

AnyArray: TypeAlias = NDArray[Any]

COMPLEX: dict[np.dtype[Any], t.Complex] = {
    np.dtype(np.complex64): t.COMPLEX64,
    np.dtype(np.complex128): t.COMPLEX128,
}


def views(array: Any) -> list[AnyArray]:
    """The arrays of real numbers that `array` consists of, in the order of `types.leaves`."""
    dtype: np.dtype[Any] = array.dtype
    if dtype.kind == "c":
        return [array.real, array.imag]
    if dtype.fields is None:
        return [array]
    names: Sequence[Any] = dtype.names or ()
    return [leaf for name in names for leaf in views(array[name])]


def field_offsets(dtype: np.dtype[Any]) -> list[tuple[str, np.dtype[Any], int]]:
    """The fields of a record: name, dtype and offset in bytes."""
    assert dtype.fields is not None
    fields: Any = dtype.fields
    return [(name, fields[name][0], fields[name][1]) for name in dtype.names or ()]


def overlapping_fields(dtype: np.dtype[Any]) -> tuple[str, str] | None:
    """Two fields of a record that share bytes, if there are any."""
    end, before = 0, ""
    for name, inner, offset in sorted(field_offsets(dtype), key=lambda field: field[2]):
        if offset < end and inner.itemsize:
            return before, name
        end, before = max(end, offset + inner.itemsize), name
    return None


# Tuples and instances of dataclasses


def field_names(kind: Any) -> tuple[str, ...]:
    """The names of the elements of a named tuple or dataclass; empty for any other type."""
    if hasattr(kind, "_fields"):
        return tuple(kind._fields)
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return ()


def elements(value: object) -> tuple[Any, ...] | None:
    """The elements of a tuple or of an instance of a dataclass; None for anything else."""
    if isinstance(value, tuple):
        return cast("tuple[Any, ...]", value)
    kind = type(value)
    if "__dataclass_fields__" in kind.__dict__ or dataclasses.is_dataclass(kind):
        return tuple(getattr(value, name) for name in field_names(kind))
    return None


def is_structure(value: object) -> bool:
    """Whether `value` is a tuple or an instance of a dataclass."""
    return isinstance(value, tuple) or dataclasses.is_dataclass(type(value))


def made(home: Any, names: Sequence[str], values: Sequence[Any]) -> Any:
    """A value of class `home` with these elements, made without `__init__`; a tuple for None."""
    if home is None:
        return tuple(values)
    if hasattr(home, "_make"):
        return home._make(values)
    return filled(object.__new__(home), names, values)


def made_like(value: Any, values: Sequence[Any]) -> Any:
    """As `value`, with other elements."""
    kind = cast("Any", type(value))
    if isinstance(value, tuple):
        return kind._make(values) if field_names(kind) else tuple(values)
    return filled(copy.copy(value), field_names(kind), values)


def filled(value: Any, names: Sequence[str], values: Sequence[Any]) -> Any:
    """`value` with its fields set, frozen or not."""
    for name, element in zip(names, values, strict=True):
        object.__setattr__(value, name, element)
    return value


# Flattening


def items(values: Sequence[object]) -> Iterator[Any]:
    """
    The values with tuples and dataclasses replaced by their elements. `None` and functions are
    left out.
    """
    for value in values:
        if (inner := elements(value)) is not None:
            yield from items(inner)
        elif value is not None and not callable(value):
            yield value


def parts(item: Any) -> Sequence[Any]:
    """The real numbers and arrays of them that an item consists of."""
    if isinstance(item, np.ndarray):
        return views(cast("AnyArray", item))
    if isinstance(item, (complex, np.complexfloating)):
        number = complex(cast("complex", item))
        return number.real, number.imag
    return (item,)
