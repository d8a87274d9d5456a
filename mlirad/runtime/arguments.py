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

from mlirad.errors import ArgumentTypeError, UnsupportedError
from mlirad.frontend import types as t
from mlirad.runtime import compounds
from mlirad.runtime.refusals import Refused, dtype_refusal, value_refusal

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
_ELEMENTS: dict[np.dtype[Any], t.Scalar | t.Complex] = compounds.COMPLEX | {
    np.dtype(scalar): kind for scalar, kind in _SCALARS.items() if scalar not in (bool, float)
}
_FUNCTIONS = (FunctionType, BuiltinFunctionType, np.ufunc)
_COMPLEX: dict[type, t.Complex] = {
    complex: t.COMPLEX128,
    np.complex64: t.COMPLEX64,
    np.complex128: t.COMPLEX128,
}
_PLAIN = frozenset({int, *_SCALARS})
"""Types of values that consist of nothing else."""
_FLAGS = 0x1 | 0x100 | 0x400  # C-contiguous, aligned, writable: what a type depends on


def is_array(value: object) -> TypeGuard[AnyArray]:
    """Whether `value` is a numpy array, said so that a type checker learns the most from it."""
    return isinstance(value, np.ndarray)


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """As `is_array`, for tuples."""
    return isinstance(value, tuple)


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
    if (found := _COMPLEX.get(type(value))) is not None:
        return found
    if (elements := compounds.elements(value)) is not None:
        return _tuple_type(type(value), elements)
    if isinstance(value, _FUNCTIONS) or hasattr(value, "py_func"):
        return t.Function(value)
    raise value_refusal(value)


def _tuple_type(kind: type, elements: Sequence[object]) -> t.Tuple:
    names = compounds.field_names(kind)
    found: list[t.Type] = []
    for number, element in enumerate(elements):
        try:
            found.append(type_of(element))
        except Refused as refused:
            if not names:
                raise
            what = f"a {kind.__name__} whose {names[number]!r} is {refused.what}"
            raise Refused(refused.kind, what, refused.way_out) from None
    return t.Tuple(tuple(found), names, kind if names else None)


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
        element = _record_type(array.dtype, array.dtype, "")
    flags = array.flags
    writable = flags.writeable and not overlaps_itself(array)
    if isinstance(element, t.Scalar):
        return t.Array(element, array.ndim, flags.c_contiguous, flags.aligned, writable)
    aligned = all(view.flags.aligned for view in compounds.views(array))
    return t.Array(element, array.ndim, contiguous=False, aligned=aligned, writable=writable)


def _record_type(dtype: np.dtype[Any], whole: np.dtype[Any], path: str) -> t.Element:
    """The type of an element; `path` leads to it in the dtype of an array."""
    if (known := _ELEMENTS.get(dtype)) is not None:
        return known
    if not dtype.names:
        raise dtype_refusal(dtype, whole, path)
    if (shared := compounds.overlapping_fields(dtype)) is not None:
        raise Refused(
            UnsupportedError,
            f"an array of dtype {whole}, whose fields '{path}{shared[0]}' and '{path}{shared[1]}' "
            "share memory",
            "use a dtype in which each field has bytes of its own",
        )
    fields: list[t.Field] = []
    for name, inner, _ in compounds.field_offsets(dtype):
        element = _record_type(inner.base, whole, f"{path}{name}.")
        fields.append(t.Field(name, element, inner.shape))
    return t.Record(tuple(fields))


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
            key = type(value), value.dtype, value.ndim, flags.num & _FLAGS
        else:
            folded = overlaps_itself(value)
            key = type(value), value.dtype, value.ndim, flags.num & _FLAGS, folded
        if value.dtype.kind == "V":
            return *key, [view.flags.aligned for view in compounds.views(value)].count(False)
        return key
    kind = type(value)
    if kind is int:
        assert isinstance(value, int)
        return int if -(2**63) <= value < 2**63 else (int, 0 < value < 2**64)
    if kind in _PLAIN:
        return kind
    if (elements := compounds.elements(value)) is not None:
        return kind, *map(key_of, elements)
    if callable(value):
        return value if getattr(value, "__hash__", None) else kind
    return kind


def _dtype_kind(array: Any) -> str:
    return array.dtype.kind


def leaves(values: Sequence[object]) -> list[Any]:
    """
    The values with tuples replaced by their elements, in order; an array of complex numbers or
    records is replaced by views of its parts. `None` and functions are left out.
    """
    flat: list[object] = []
    for value in values:
        kind = type(value)
        if kind in _PLAIN or (kind is np.ndarray and _dtype_kind(value) not in "cV"):
            flat.append(value)
        elif (elements := compounds.elements(value)) is not None:
            flat += leaves(elements)
        elif value is not None and not callable(value):
            flat += compounds.parts(value)
    return flat


def items(values: Sequence[object]) -> list[Any]:
    """As `leaves`, but arrays of complex numbers and records, and complex numbers, are whole."""
    return list(compounds.items(values))


def flat_types(types: Sequence[t.Type]) -> Iterator[t.Leaf]:
    """The types of the leaves. `None` has no leaf."""
    for type_ in types:
        yield from t.leaves(type_)


def leaf_names(name: str, type_: t.Type) -> list[str]:
    """`x` for a plain argument; `x[0]`, `x.field`, `x.real`… for what consists of others."""
    return [leaf for leaf, _ in t.named_leaves(name, type_)]


def item_names(name: str, type_: t.Type) -> list[tuple[str, t.Type]]:
    """The names and types of the items of a value."""
    match type_:
        case t.Tuple(elements, names):
            inner = [f"{name}.{n}" for n in names] or [f"{name}[{k}]" for k in range(len(elements))]
            pairs = zip(inner, elements, strict=True)
            return [item for n, element in pairs for item in item_names(n, element)]
        case t.NoneType() | t.Function():
            return []
        case _:
            return [(name, type_)]


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
        case t.Tuple(elements, names, home):
            return compounds.made(home, names, [_build(element, values) for element in elements])
        case t.Complex():
            real = next(values)
            return complex(real, next(values))
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
