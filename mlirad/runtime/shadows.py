"""
The shadows of a recording, kept by memory instead of by array object.

A `Buffer` is the memory that one array owns, its shadow (zero at first), and a copy of its
contents as the last launch left them. Views of the memory share all three: the shadow of a
view is the same view of the shadow. A buffer holds a reference to its array, so that neither
the address nor the shadow can pass to another array while the recording lives.
"""

from __future__ import annotations

import ctypes
import sys
from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from mlirad.errors import AliasError
from mlirad.runtime.aliasing import bounds
from mlirad.runtime.arguments import address
from mlirad.runtime.recording import Array

ALIGNMENT = 64


@dataclass(slots=True)
class Region:
    """Bytes `low … high` of a buffer, used as numbers of `dtype`."""

    low: int
    high: int
    dtype: np.dtype[Any]


@dataclass(slots=True, eq=False)
class Buffer:
    """
    Memory with a shadow.

    Attributes:
        owner: the array that owns the memory, kept alive.
        label: how error messages call it.
        low, high: its addresses, `high` excluded.
    """

    owner: Array
    label: str
    low: int
    high: int
    regions: list[Region] = field(default_factory=list[Region])
    _shadow: Array = field(init=False)
    _start: int = field(init=False)
    _bytes: ctypes.Array[ctypes.c_ubyte] = field(init=False)
    _kept: bytearray = field(init=False)

    def __post_init__(self) -> None:
        size = self.high - self.low
        self._shadow = np.zeros(size + ALIGNMENT, np.uint8)
        # Shadows are as aligned as their primals, so that both take the same loads.
        self._start = (self.low - address(self._shadow)) % ALIGNMENT
        self._bytes = (ctypes.c_ubyte * size).from_address(self.low)
        self._kept = bytearray(size)

    def shadow(self, array: Array) -> Array:
        """The shadow of `array`, a view of this memory; same shape, dtype and strides."""
        offset = self._start + address(array) - self.low
        return np.ndarray(array.shape, array.dtype, self._shadow, offset, array.strides)

    def keep(self) -> None:
        """Takes note of the contents."""
        self._kept[:] = cast(bytes, self._bytes)

    def changed(self) -> bool:
        """Whether the contents differ, in any bit, from what `keep` saw."""
        return self._kept != self._bytes

    def use(self, array: Array, label: str) -> None:
        """Takes note of the dtype under which `array` uses its bytes, or raises `AliasError`."""
        if array is self.owner and len(self.regions) == 1 and self.regions[0].dtype == array.dtype:
            self.regions[0].low, self.regions[0].high = self.low, self.high
            return
        low, high = bounds(array)
        dtype = self.owner.dtype if self._is_part(array) else array.dtype
        for region in self.regions:
            if region.dtype != dtype and low < region.high and region.low < high:
                raise AliasError(
                    f"{label} uses memory of {self.label} as {array.dtype}, which the recording "
                    f"knows as {region.dtype}: one shadow cannot be both\n"
                    f"  pass a copy, or use one dtype for this memory within the Tape"
                )
        for region in self.regions:
            if region.dtype == dtype and low <= region.high and region.low <= high:
                region.low, region.high = min(low, region.low), max(high, region.high)
                return
        self.regions.append(Region(low, high, dtype))

    def _is_part(self, array: Array) -> bool:
        """Whether `array` has the owner's elements, one field of them, or one complex part."""
        whole = self.owner.dtype
        if whole.itemsize == 0:
            return whole == array.dtype
        return array.dtype in parts_at(whole, (address(array) - self.low) % whole.itemsize)


def parts_at(dtype: np.dtype[Any], offset: int) -> Iterator[np.dtype[Any]]:
    """The dtypes of what begins at byte `offset` of a `dtype`."""
    if offset == 0:
        yield dtype
    for part in (dtype.fields or {}).values():
        if 0 <= offset - part[1] < part[0].itemsize:
            yield from parts_at(part[0].base, (offset - part[1]) % part[0].base.itemsize)
    if dtype.kind == "c" and offset % (dtype.itemsize // 2) == 0:
        yield np.dtype(f"f{dtype.itemsize // 2}")


def owner(array: Array) -> Array:
    """
    The array whose memory `array` is a view of.

    Not always one that owns its data: of memory that another library owns, it is the
    outermost array. Goes through objects between two arrays, such as `as_strided` leaves.
    """
    found = array
    base: object = array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            found = cast(Array, base)
        link = "obj" if isinstance(base, memoryview) else "base"
        base = getattr(cast(object, base), link, None)
    return found


class Shadows:
    """Every buffer that has a shadow, found by the arrays that view it."""

    def __init__(self) -> None:
        self._by_owner: dict[int, Buffer] = {}
        self._by_address: list[tuple[int, int]] = []
        """`(low, key)` of each buffer, in order of addresses; they never overlap."""

    def __iter__(self) -> Iterator[Buffer]:
        return iter(self._by_owner.values())

    def find(self, array: Array) -> Buffer | None:
        """The buffer of the memory `array` views, if it has a shadow."""
        whole = owner(array)
        buffer = self._by_owner.get(id(whole))
        return buffer if buffer is not None else self._find_at(*bounds(whole), array)

    def _find_at(self, low: int, high: int, array: Array) -> Buffer | None:
        """The buffer that holds the addresses, which another array object owns."""
        if low == high:
            return None
        place = bisect_right(self._by_address, (high - 1, sys.maxsize)) - 1
        if place < 0:
            return None
        buffer = self._by_owner[self._by_address[place][1]]
        if buffer.high <= low:
            return None
        inner = bounds(array)
        if buffer.low <= inner[0] and inner[1] <= buffer.high:
            return buffer
        raise AliasError(
            f"an array of {array.dtype}{list(array.shape)} and {buffer.label} share memory, but "
            "neither is a view of the other, so their shadows cannot be kept together\n"
            "  make one array of the whole memory and pass slices of it"
        )

    def attach(self, array: Array, label: str) -> Buffer:
        """The buffer of the memory `array` views, made with a shadow of zero if there is none."""
        buffer = self.find(array)
        if buffer is None:
            whole = owner(array)
            buffer = Buffer(whole, label, *bounds(whole))
            buffer.keep()
            self._by_owner[id(whole)] = buffer
            if buffer.low < buffer.high:
                insort(self._by_address, (buffer.low, id(whole)))
        return buffer

    def shadow(self, array: Array, label: str) -> Array:
        """The shadow of `array`, made (and zero) if its memory has none yet."""
        buffer = self.attach(array, label)
        buffer.use(array, label)
        return buffer.shadow(array)
