"""
Which arrays of a call overlap in memory.

The answer, the alias partition, is part of a specialisation: it decides which values the
reverse sweep must keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

import numpy as np

from mlirad.runtime.arguments import AnyArray, address, is_array

_shares_memory: Callable[..., bool] = np.shares_memory  # its stub knows two values of max_work
_MAX_WORK = 10_000  # of numpy's exact solver, which is exponential at worst


def bounds(array: AnyArray) -> tuple[int, int]:
    """The first address of `array` and the one behind its last."""
    low = address(array)
    if array.flags.c_contiguous:
        return low, low + array.nbytes
    if not array.size:
        return low, low
    high = low + array.itemsize
    for stride, length in zip(array.strides, array.shape, strict=True):
        if stride < 0:
            low += stride * (length - 1)
        else:
            high += stride * (length - 1)
    return low, high


def interleave(a: AnyArray, b: AnyArray) -> bool:
    """
    Whether `a` and `b` lie between each other's elements, as two fields of one record array do.

    All their strides are multiples of some number of bytes; modulo this number, the bytes of an
    element of `a` are then others than those of an element of `b`.
    """
    period = gcd(*a.strides, *b.strides)
    offset = (address(b) - address(a)) % period if period else 0
    return a.itemsize <= offset <= period - b.itemsize


def may_overlap(a: AnyArray, b: AnyArray) -> bool:
    """Whether `a` and `b` share a byte: exact where that is cheap to find out, else True."""
    if interleave(a, b):
        return False
    try:
        return _shares_memory(a, b, max_work=_MAX_WORK)
    except (ValueError, RuntimeError):  # numpy.exceptions.TooHardError is a RuntimeError
        return True


def overlapping_pairs(arrays: Sequence[AnyArray]) -> list[tuple[int, int]]:
    """All pairs of positions whose arrays may overlap, each with the smaller one first."""
    if len(arrays) < 2:
        return []
    spans = [bounds(array) for array in arrays]
    return [
        (i, j)
        for j, (low, high) in enumerate(spans)
        for i in range(j)
        if spans[i][0] < high and low < spans[i][1] and may_overlap(arrays[i], arrays[j])
    ]


def alias_partition(values: Sequence[object]) -> tuple[int, ...]:
    """
    One number per leaf: equal for arrays that may overlap, different for those that do not.

    Numbers count up from 0 by first occurrence, so equal partitions are equal tuples; -1
    stands for what is no array. Overlap is made transitive.
    """
    arrays = [(k, value) for k, value in enumerate(values) if is_array(value)]
    places = [k for k, _ in arrays]
    pairs = overlapping_pairs([array for _, array in arrays])
    partition = [-1] * len(values)
    leader = list(range(len(places)))
    for i, j in pairs:
        low, high = sorted((leader[i], leader[j]))
        leader = [low if k == high else k for k in leader]
    numbers: dict[int, int] = {}
    for place, group in zip(places, leader, strict=True):
        partition[place] = numbers.setdefault(group, len(numbers))
    return tuple(partition)
