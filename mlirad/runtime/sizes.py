"""Grids and blocks: how they are written, and CUDA's limits, which hold on all back ends."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, TypeAlias

from mlirad.errors import LaunchError, LaunchTypeError, UnsupportedError
from mlirad.runtime.arguments import is_tuple

Sizes: TypeAlias = tuple[int, ...]
"""Blocks in x, y, z, then threads per block in x, y, z; then the threads wanted, if guarded."""

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
FORALL_BLOCK = 128


def launch_sizes(name: str, configuration: object) -> Sizes:
    """
    The sizes in `kernel[grid, block]`: each an int or a tuple of up to three.

    Raises:
        LaunchTypeError: something else was given.
        LaunchError: a size is not positive or exceeds a limit of CUDA.
        UnsupportedError: a stream or dynamic shared memory was given.
    """
    if not is_tuple(configuration) or len(configuration) < 2:
        raise LaunchTypeError(
            f"{name}[…] takes a grid and a block, but got {configuration!r}\n"
            f"  write {name}[blocks, threads_per_block](…), or {name}.forall(n)(…)"
        )
    grid, block, *more = configuration
    if any(extra not in (0, None) for extra in more) or len(more) > 2:
        raise UnsupportedError(
            f"{name}[…]: streams and dynamic shared memory are not supported\n"
            f"  write {name}[blocks, threads_per_block](…)"
        )
    blocks, threads = _three(name, "grid", grid, MAX_GRID), _three(name, "block", block, MAX_BLOCK)
    if threads[0] * threads[1] * threads[2] > MAX_THREADS:
        raise LaunchError(
            f"{name}: a block of {_times(threads)} threads has more than {MAX_THREADS} of them\n"
            "  make the block smaller and the grid larger"
        )
    return (*blocks, *threads)


def forall_sizes(name: str, count: object) -> Sizes:
    """
    Sizes with `count` threads in x, no blocks at all for 0. Where blocks of equal size cannot
    have exactly that many, the number follows as a seventh size.
    """
    n = _integer(name, "the number of threads", count)
    if n < 0:
        raise LaunchError(f"{name}.forall({n}): the number of threads is negative")
    threads = min(max(n, 1), FORALL_BLOCK)
    blocks = -(-n // threads)
    if blocks > MAX_GRID[0]:
        raise LaunchError(
            f"{name}.forall({n}): more than {MAX_GRID[0]} blocks of {threads} threads"
        )
    sizes = (blocks, 1, 1, threads, 1, 1)
    return sizes if blocks * threads == n else (*sizes, n)


def _three(name: str, what: str, given: object, limits: Sequence[int]) -> tuple[int, int, int]:
    given_sizes: tuple[object, ...] = given if is_tuple(given) else (given,)
    if not 1 <= len(given_sizes) <= 3:
        raise LaunchError(
            f"{name}: the {what} has {len(given_sizes)} dimensions, but at most 3 exist"
        )
    sizes = [_integer(name, f"the {what}", size) for size in given_sizes]
    for size, limit, axis in zip(sizes, limits, "xyz", strict=False):
        if size < 1:
            raise LaunchError(f"{name}: the {what} has size {size} in {axis}\n  sizes are positive")
        if size > limit:
            raise LaunchError(
                f"{name}: the {what} has size {size} in {axis}, but CUDA allows at most {limit}"
            )
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _integer(name: str, what: str, value: Any) -> int:
    if isinstance(value, bool):
        raise LaunchTypeError(f"{name}: {what} is a bool ({value}), not an integer")
    try:
        return index(value)
    except TypeError:
        raise LaunchTypeError(
            f"{name}: {what} is {value!r}, not an integer\n  use // where a size is computed"
        ) from None


def _times(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))
