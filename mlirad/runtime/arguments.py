"""
Python values as typed arguments of native code.

`type_of` says which type a value has (or why it cannot be passed), `leaves` flattens tuples,
and a `Packer` turns the leaves of one call into the 64-bit words of `docs/design/ir.md`.
Arrays are passed by address and never copied: the caller owns them and must keep them alive.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from mlirad.errors import ArgumentTypeError, MliradError, UnsupportedError
from mlirad.frontend import types as t

AnyArray: TypeAlias = NDArray[Any]

_SCALARS: dict[type, t.Scalar] = {
    bool: t.BOOL,
    float: t.FLOAT64,
    np.bool_: t.BOOL,
    np.int8: t.INT8,
    np.int16: t.INT16,
    np.int32: t.INT32,
    np.int64: t.INT64,
    np.uint8: t.UINT8,
    np.uint16: t.UINT16,
    np.uint32: t.UINT32,
    np.uint64: t.UINT64,
    np.float32: t.FLOAT32,
    np.float64: t.FLOAT64,
}
_ELEMENTS: dict[np.dtype[Any], t.Scalar] = {
    np.dtype(scalar): kind for scalar, kind in _SCALARS.items() if scalar not in (bool, float)
}
_FUNCTIONS = (FunctionType, BuiltinFunctionType, np.ufunc)
_FLAGS = 0x1 | 0x100 | 0x400  # C-contiguous, aligned, writable: what a type depends on


def is_array(value: object) -> TypeGuard[AnyArray]:
    """Whether `value` is a numpy array, said so that a type checker learns the most from it."""
    return isinstance(value, np.ndarray)


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """As `is_array`, for tuples."""
    return isinstance(value, tuple)


class Refused(Exception):
    """A value that cannot be passed: the error class, what it is, and the way out."""

    def __init__(self, kind: type[MliradError], what: str, way_out: str):
        super().__init__(what)
        self.kind, self.what, self.way_out = kind, what, way_out

    def error(self, function: str, argument: str) -> MliradError:
        """The error to raise, with the names that only the caller knows."""
        return self.kind(f"{function}: argument {argument!r} is {self.what}\n  {self.way_out}")


def type_of(value: object) -> t.Type:
    """The type of `value` as an argument; raises `Refused` if native code cannot take it."""
    if is_array(value):
        return _array_type(value)
    scalar = _SCALARS.get(type(value))
    if scalar is not None:
        return scalar
    if isinstance(value, int):
        return _int_type(value)
    if value is None:
        return t.NoneType()
    if is_tuple(value):
        return t.Tuple(tuple(type_of(element) for element in value))
    if isinstance(value, _FUNCTIONS) or hasattr(value, "py_func"):
        return t.Function(value)
    raise _refusal(value)


def _int_type(value: int) -> t.Scalar:
    if -(2**63) <= value < 2**63:
        return t.INT64
    if 0 < value < 2**64:
        return t.UINT64  # as numba types it
    raise Refused(ArgumentTypeError, f"the int {value}", "integers have at most 64 bits here")


def _array_type(array: AnyArray) -> t.Array:
    if type(array) not in (np.ndarray, np.memmap):
        raise Refused(
            ArgumentTypeError,
            f"a {type(array).__name__}, a subclass of numpy.ndarray whose meaning would be lost",
            "pass np.asarray(…) of it",
        )
    element = _ELEMENTS.get(array.dtype)
    if element is None:
        raise _dtype_refusal(array.dtype)
    flags = array.flags
    return t.Array(
        element,
        array.ndim,
        contiguous=flags.c_contiguous,
        aligned=flags.aligned,
        writable=flags.writeable and not overlaps_itself(array),
    )


def _dtype_refusal(dtype: np.dtype[Any]) -> Refused:
    what = f"an array of dtype {dtype}"
    if not dtype.isnative:
        native = dtype.newbyteorder("=")
        return Refused(
            ArgumentTypeError,
            f"{what} (not this machine's byte order)",
            f"pass x.astype({str(native)!r})",
        )
    if dtype.kind in "cV" and dtype.fields is not None:
        return Refused(UnsupportedError, what, "pass its fields as separate arrays: x['field']")
    if dtype.kind == "c":
        return Refused(UnsupportedError, what, "pass x.real and x.imag as two arrays")
    if dtype.kind == "f":
        return Refused(ArgumentTypeError, what, "floating-point arrays are float32 or float64")
    return Refused(
        ArgumentTypeError, what, "arrays hold int8…int64, uint8…uint64, bool, float32 or float64"
    )


def _refusal(value: object) -> Refused:
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiou" else "a"
    if hasattr(value, "__cuda_array_interface__"):
        return Refused(
            UnsupportedError,
            f"{article} {kind} on a GPU",
            "there is no GPU back end yet: pass a numpy array",
        )
    if value is None:
        return Refused(
            ArgumentTypeError, "None", "leave the parameter out, or pass an array or a number"
        )
    if isinstance(value, (np.generic, complex)):
        return Refused(
            UnsupportedError if isinstance(value, complex) else ArgumentTypeError,
            f"{article} {kind}",
            "numbers are bool, int, float or numpy's int8…uint64, bool_, float32, float64",
        )
    if isinstance(value, list):
        return Refused(ArgumentTypeError, "a list", "pass np.array(…) of it, or a tuple")
    if isinstance(value, (str, bytes)):
        return Refused(
            ArgumentTypeError,
            f"a {kind}",
            "strings have no meaning in compiled code: make it a global, or pass a number",
        )
    return Refused(
        ArgumentTypeError, f"{article} {kind}", "pass numpy arrays, numbers, or tuples of them"
    )


def overlaps_itself(array: AnyArray) -> bool:
    """Whether two elements of `array` share memory, as after `broadcast_to` or `as_strided`."""
    if array.flags.c_contiguous or array.size <= 1:
        return False
    axes = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    extent = array.itemsize
    for stride, length in axes:
        if stride < extent:
            return not _is_injective(array)
        extent += stride * (length - 1)
    return False


def _is_injective(array: AnyArray, limit: int = 100_000) -> bool:
    """The exact test, by listing all addresses; large arrays are taken to overlap."""
    if 0 in array.strides or array.size > limit:
        return False
    offsets = np.zeros(1, dtype=np.int64)
    for stride, length in zip(array.strides, array.shape, strict=True):
        steps = np.arange(length, dtype=np.int64) * stride
        offsets = (offsets[..., np.newaxis] + steps).reshape(-1)
    return bool(np.all(np.diff(np.sort(offsets)) >= array.itemsize))


def key_of(value: object) -> object:
    """Something hashable and quick to get that decides `type_of(value)`."""
    if is_array(value):
        flags = value.flags
        if flags.c_contiguous:
            return type(value), value.dtype, value.ndim, flags.num & _FLAGS
        return type(value), value.dtype, value.ndim, flags.num & _FLAGS, overlaps_itself(value)
    if is_tuple(value):
        return tuple(key_of(element) for element in value)
    if callable(value):
        return value if getattr(value, "__hash__", None) else type(value)
    if type(value) is int:
        return int if -(2**63) <= value < 2**63 else (int, 0 < value < 2**64)
    return type(value)


def leaves(values: Sequence[object]) -> list[Any]:
    """The values, tuples replaced by their elements, in order; `None` and functions left out."""
    flat: list[object] = []
    for value in values:
        if is_tuple(value):
            flat += leaves(value)
        elif value is not None and not callable(value):
            flat.append(value)
    return flat


def flat_types(types: Sequence[t.Type]) -> Iterator[t.Scalar | t.Array]:
    """The types of the leaves. `None` has no leaf."""
    for type_ in types:
        match type_:
            case t.Tuple(elements):
                yield from flat_types(elements)
            case t.NoneType() | t.Function():
                pass
            case _:
                yield type_


def leaf_names(name: str, type_: t.Type) -> list[str]:
    """`x` for a plain argument; `x[0]`, `x[1]`… for the elements of a tuple."""
    match type_:
        case t.Tuple(elements):
            return [n for k, e in enumerate(elements) for n in leaf_names(f"{name}[{k}]", e)]
        case t.NoneType() | t.Function():
            return []
        case _:
            return [name]


class Packer:
    """Turns the leaves of a call, which have `types`, into words; knows nothing of one call."""

    def __init__(self, types: Sequence[t.Scalar | t.Array]):
        self._append = [_WRITERS[writer_name(type_)] for type_ in types]
        self._struct = struct.Struct("=" + "".join(word_format(type_) for type_ in types))

    def __call__(self, sizes: Sequence[int], values: Sequence[object]) -> bytes:
        words: list[Any] = []
        for append, value in zip(self._append, values, strict=True):
            append(words, value)
        head = struct.pack(f"={len(sizes)}q", *sizes) if sizes else b""
        return head + self._struct.pack(*words)


def word_format(type_: t.Scalar | t.Array) -> str:
    """How `struct` lays out the words of one leaf."""
    match type_:
        case t.Array():
            return "Q" + "q" * (type_.ndim if type_.contiguous else 2 * type_.ndim)
        case t.Scalar("f", 32):
            return "f4x"
        case t.Scalar("f"):
            return "d"
        case t.Scalar("u"):
            return "Q"
        case _:
            return "q"


def count_words(type_: t.Scalar | t.Array) -> int:
    """How many 64-bit words one leaf takes."""
    return struct.calcsize("=" + word_format(type_)) // 8


def writer_name(type_: t.Scalar | t.Array) -> str:
    if isinstance(type_, t.Scalar):
        return "bool" if type_.kind == "b" else "scalar"
    return "contiguous" if type_.contiguous else "strided"


def _append_scalar(words: list[Any], value: Any) -> None:
    words.append(value)


def _append_bool(words: list[Any], value: Any) -> None:
    words.append(bool(value))


def _append_contiguous(words: list[Any], value: AnyArray) -> None:
    words.append(address(value))
    words.extend(value.shape)


def _append_strided(words: list[Any], value: AnyArray) -> None:
    words.append(address(value))
    words.extend(value.shape)
    words.extend(value.strides)


_WRITERS: dict[str, Callable[[list[Any], Any], None]] = {
    "scalar": _append_scalar,
    "bool": _append_bool,
    "contiguous": _append_contiguous,
    "strided": _append_strided,
}


def address(array: AnyArray) -> int:
    """Where the element with all indices 0 lies."""
    return array.__array_interface__["data"][0]


class Unpacker:
    """Turns the result words of a call into the Python value of type `result`."""

    def __init__(self, result: t.Type):
        self._result = result
        self._struct = struct.Struct("=" + "".join(map(word_format, flat_types([result]))))

    def __call__(self, words: Any) -> Any:
        """`words` is a buffer that holds at least the words of the result."""
        if isinstance(self._result, t.NoneType):
            return None
        return _build(self._result, iter(self._struct.unpack_from(words)))


def _build(type_: t.Type, values: Iterator[Any]) -> Any:
    match type_:
        case t.Tuple(elements):
            return tuple(_build(element, values) for element in elements)
        case t.NoneType() | t.Function():
            return None
        case t.Scalar("b"):
            return bool(next(values) & 1)
        case t.Scalar("i", bits):
            return _signed(next(values), bits)
        case t.Scalar("u", bits):
            return next(values) & ((1 << bits) - 1)
        case _:
            return next(values)


def _signed(word: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return ((word + half) & ((1 << bits) - 1)) - half
