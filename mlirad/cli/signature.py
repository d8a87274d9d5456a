"""Types and annotations as they are written on the command line."""

from __future__ import annotations

import re

from mlirad.errors import ArgumentTypeError
from mlirad.frontend import types as t
from mlirad.runtime.annotations import Active, Annotation, Const, Dual, Duplicated

SCALARS = {
    "bool": t.BOOL,
    "i8": t.INT8,
    "i16": t.INT16,
    "i32": t.INT32,
    "i64": t.INT64,
    "u8": t.UINT8,
    "u16": t.UINT16,
    "u32": t.UINT32,
    "u64": t.UINT64,
    "f32": t.FLOAT32,
    "f64": t.FLOAT64,
    "c64": t.COMPLEX64,
    "c128": t.COMPLEX128,
}
ANNOTATIONS: dict[str, type[Annotation]] = {
    kind.__name__.lower(): kind for kind in (Active, Const, Dual, Duplicated)
}
# A comma between the brackets of an array does not end an argument.
COMMA = re.compile(r",(?![^\[]*\])")


def parse_types(text: str) -> list[t.Type]:
    """
    The types in `f64[:], f32[:, ::1], i64`.

    As in numba, `[:]` is an array of any strides, and `::1` for the last axis says that the
    array is contiguous in C order. Raises `ArgumentTypeError` for anything else.
    """
    return [parse_type(part.strip()) for part in COMMA.split(text) if part.strip()]


def parse_type(text: str) -> t.Type:
    name, bracket, axes = text.partition("[")
    element = SCALARS.get(name.strip())
    if element is None:
        raise ArgumentTypeError(
            f"--args: no type {text!r}\n"
            f"  scalars are {', '.join(SCALARS)}; arrays f64[:] or f64[::1]"
        )
    if not bracket:
        return element
    if not re.fullmatch(r"(\s*:\s*,)*\s*(:|::1)\s*\]", axes):
        raise ArgumentTypeError(
            f"--args: {text!r} is no array type\n"
            "  write one ':' per axis, '::1' for a contiguous last one"
        )
    contiguous = "::1" in axes and isinstance(element, t.Scalar)
    return t.Array(element, axes.count(",") + 1, contiguous)


def parse_activity(text: str) -> tuple[type[Annotation], ...]:
    """The annotations in `duplicated, const`. Raises `ArgumentTypeError` for other names."""
    found: list[type[Annotation]] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name.lower() not in ANNOTATIONS:
            raise ArgumentTypeError(
                f"--activity: no annotation {name!r}\n  there are {', '.join(ANNOTATIONS)}"
            )
        found.append(ANNOTATIONS[name.lower()])
    return tuple(found)


def parse_capability(text: str) -> tuple[int, int]:
    """The compute capability in `9.0`. Raises `ArgumentTypeError` for what is none."""
    if not (found := re.fullmatch(r"(\d+)\.(\d)", text.strip())):
        raise ArgumentTypeError(f"--cc: {text!r} is no compute capability\n  write one as 8.0")
    return int(found[1]), int(found[2])
