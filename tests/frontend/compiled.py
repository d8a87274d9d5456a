"""Lowers a function for example arguments, compiles it without derivatives, and calls it."""

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad import pipeline
from mlirad.backends import cpu
from mlirad.frontend.lower import lower_function
from mlirad.frontend.types import BOOL, FLOAT64, INT64, Array, Scalar, Tuple, Type


def scalar_of(dtype: np.dtype[Any]) -> Scalar:
    kind = {"i": "i", "u": "u", "f": "f", "b": "b"}[dtype.kind]
    return BOOL if kind == "b" else Scalar(kind, 8 * dtype.itemsize)  # pyright: ignore[reportArgumentType]


def example_type(argument: Any) -> Type:
    """The type of an example argument."""
    if isinstance(argument, np.ndarray):
        return Array(scalar_of(argument.dtype), argument.ndim, bool(argument.flags.c_contiguous))
    if isinstance(argument, np.generic):
        return scalar_of(argument.dtype)
    if isinstance(argument, tuple):
        return Tuple(tuple(map(example_type, argument)))
    return {bool: BOOL, int: INT64, float: FLOAT64}[type(argument)]


def words(argument: Any) -> list[int]:
    """An argument as the 64-bit words of a native call."""
    if isinstance(argument, np.ndarray):
        strides = [] if argument.flags.c_contiguous else argument.strides
        return [argument.ctypes.data, *argument.shape, *strides]
    if isinstance(argument, tuple):
        return [word for item in argument for word in words(item)]
    if isinstance(argument, np.float32):
        return [struct.unpack("<I", struct.pack("<f", argument))[0]]
    if isinstance(argument, (float, np.floating)):
        return [struct.unpack("<q", struct.pack("<d", argument))[0]]
    return [int(argument)]


def unpack(type_: Type, values: Sequence[int]) -> Any:
    """The Python value of result words."""
    if isinstance(type_, Tuple):
        return tuple(unpack(t, [v]) for t, v in zip(type_.elements, values, strict=True))
    if not isinstance(type_, Scalar):
        return None
    raw = struct.pack("<Q", values[0] & (2**64 - 1))
    name = "?" if type_ == BOOL else f"<{type_.kind}{type_.bits // 8}"
    return np.frombuffer(raw, name, count=1)[0]


def call(function: Callable[..., Any], *args: Any, sizes: Sequence[int] | None = None) -> Any:
    """
    Calls `function` compiled; with `sizes` (three of the grid, three of the block) as a kernel.

    Arrays are changed in place. Returns numpy scalars of the result types.
    """
    types = [example_type(a) for a in args]
    lowered = lower_function(function, types, kernel=sizes is not None)
    lowered.module.verify()
    native = pipeline.compile_native(lowered.module, verify=True)
    entry = cpu.load(native).entry(lowered.name)
    flat = [*(sizes or ()), *(word for a in args for word in words(a))]
    given = (ctypes.c_int64 * max(1, len(flat)))(*flat)
    results = (ctypes.c_int64 * max(1, entry.signature.result_words))()
    assert entry(given, results) == 0
    return unpack(lowered.result, list(results))
