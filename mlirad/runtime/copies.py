"""Copies of the arguments of a call that overlap exactly as the originals do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.runtime import compounds
from mlirad.runtime.aliasing import alias_partition, bounds
from mlirad.runtime.arguments import AnyArray, address, is_array, items
from mlirad.runtime.recording import carries_derivatives

_ALIGNMENT = 64


class Copies:
    """The values of a call as they are now; each use of them gets its own arrays."""

    def __init__(self, args: Sequence[Any]):
        self._args = _rebuild(args, _copy_all(items(args)))

    def primals(self) -> tuple[Any, ...]:
        """Fresh copies."""
        return _rebuild(self._args, _copy_all(items(self._args)))

    def zeros(self, wanted: Sequence[bool]) -> dict[int, Any]:
        """Zeroed arrays for the `wanted` arguments, by position, that overlap as those do."""
        places = [k for k, want in enumerate(wanted) if want]
        arrays = [self._args[k] for k in places]
        return dict(zip(places, _copy_all(arrays, zeroed=True), strict=True))

    def item_zeros(self) -> list[list[Any]]:
        """As `zeros`, of every float array in each argument, by item; `None` for other items."""
        by_argument = [items([value]) for value in self._args]
        flat = [item for found in by_argument for item in found]
        wanted = [is_array(item) and carries_derivatives(item.dtype) for item in flat]
        arrays = [item for item, want in zip(flat, wanted, strict=True) if want]
        zeros = iter(_copy_all(arrays, zeroed=True))
        rest = iter([next(zeros) if want else None for want in wanted])
        return [[next(rest) for _ in found] for found in by_argument]


def _rebuild(args: Sequence[Any], flat: list[Any]) -> tuple[Any, ...]:
    """`args` with the leaves replaced by those in `flat`."""
    rest = iter(flat)

    def build(value: Any) -> Any:
        if (elements := compounds.elements(value)) is not None:
            return compounds.made_like(value, [build(element) for element in elements])
        return value if value is None or callable(value) else next(rest)

    return tuple(build(value) for value in args)


def _copy_all(values: Sequence[Any], zeroed: bool = False) -> list[Any]:
    """Copies of the arrays in `values`, or zeros like them; arrays that overlap still do."""
    groups: dict[int, list[int]] = {}
    for place, number in enumerate(alias_partition(values)):
        if number >= 0:
            groups.setdefault(number, []).append(place)
    copied = list(values)
    for places in groups.values():
        if len(places) == 1:
            array = values[places[0]]
            copied[places[0]] = np.zeros_like(array) if zeroed else array.copy(order="K")
        else:
            arrays = [values[place] for place in places]
            for place, copy in zip(places, _copy_group(arrays, zeroed), strict=True):
                copied[place] = copy
    return copied


def _copy_group(arrays: Sequence[AnyArray], zeroed: bool) -> list[AnyArray]:
    """Views of one new buffer, at the offsets that `arrays` have from each other."""
    spans = [bounds(array) for array in arrays]
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    buffer = np.zeros(high - low + _ALIGNMENT, dtype=np.uint8)
    shift = (low - address(buffer)) % _ALIGNMENT
    copies: list[AnyArray] = []
    for array in arrays:
        offset = shift + address(array) - low
        view = np.ndarray(array.shape, array.dtype, buffer, offset, array.strides)
        copies.append(view)
        if not zeroed:
            view[...] = array
    return copies
