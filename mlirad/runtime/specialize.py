"""
Compiled code for one combination of argument types and alias partition, and the cache of it.

The cache is per program and lives as long as it. Globals and closures are read when a
specialisation is compiled, as numba does; later assignments to them are not noticed by it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mlirad.frontend import types as t
from mlirad.runtime.arguments import Packer, Unpacker, flat_types


class Entry(Protocol):
    """Native code: takes the words of the arguments, returns a status and those of the results."""

    def __call__(self, args: Any, /) -> tuple[int, Any]: ...


class Specialization:
    """An entry with the types of its arguments and result. Threads may share it."""

    __slots__ = ("_entry", "_pack", "_unpack", "name")

    def __init__(self, name: str, entry: Entry, types: Sequence[t.Type], result: t.Type):
        self.name = name
        self._entry = entry
        self._pack = Packer(list(flat_types(types)))
        self._unpack = Unpacker(result)

    def __call__(self, sizes: Sequence[int], leaves: Sequence[object]) -> object:
        """Runs it on the leaves of its arguments, which must be of its types."""
        status, results = self._entry(self._pack(sizes, leaves))
        if status:
            raise MemoryError(f"{self.name}: not enough memory")
        return self._unpack(results)


@dataclass(frozen=True, slots=True)
class Request:
    """What a specialisation is compiled for."""

    types: tuple[t.Type, ...]
    alias: tuple[int, ...]
    axes: int = 3
    """How many axes the launch has: those beyond are known to be of size 1."""
    spread: bool = False
    """Whether blocks of a launch run on several workers: then the code needs atomics."""


def launch_axes(sizes: Sequence[int]) -> int:
    """The number of axes of a grid and block, given as in a launch; 3 for what has none."""
    if not sizes:
        return 3
    if sizes[2] != 1 or sizes[5] != 1:
        return 3
    return 1 if sizes[1] == sizes[4] == 1 else 2


class Specializations:
    """The specialisations of one program, compiled when they are first needed."""

    def __init__(self, build: Callable[[Request], Specialization]):
        self._build = build
        self._lock = threading.RLock()
        self._by_key: dict[Hashable, tuple[Specialization, Request]] = {}
        self._by_request: dict[Request, Specialization] = {}
        self.last: Request | None = None
        """What the last call used: the default of the `inspect` methods."""

    def find(self, key: Hashable) -> Specialization | None:
        """The one used before for values with `key`."""
        if (found := self._by_key.get(key)) is None:
            return None
        specialization, self.last = found
        return specialization

    def compile(self, key: Hashable, request: Request) -> Specialization:
        """The one for `request`, from now on found under `key` as well."""
        with self._lock:
            found = self._by_request.get(request)
            if found is None:
                found = self._by_request[request] = self._build(request)
            self._by_key[key] = found, request
            self.last = request
            return found
