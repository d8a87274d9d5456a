"""Counts the bytes that compiled code asks the runtime for."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mlirad.backends import cpu

ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Within it, what is compiled adds the bytes of each allocation to the list."""
    table = cpu.default_table()
    allocate = ALLOC(table[0] or 0)
    sizes: list[int] = []

    def alloc(size: int) -> int | None:
        sizes.append(size)
        return allocate(size)

    callback = ALLOC(alloc)
    counting = (ctypes.c_void_p * 3)(ctypes.cast(callback, ctypes.c_void_p), table[1], table[2])
    with monkeypatch.context() as patch:
        patch.setattr(cpu, "default_table", lambda: counting)
        yield sizes
