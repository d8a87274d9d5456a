"""
What compiled code looks like from outside: entries, their arguments, the words they take.

Pure data, so that code kept on disk can be loaded without xDSL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}
"""Bytes of an element in memory, by its LLVM type."""


@dataclass(frozen=True, slots=True)
class NativeType:
    """
    One argument or result of an entry.

    A scalar is one 64-bit word. A memref is its data pointer, its `rank` sizes and, if
    `strided`, its `rank` strides in bytes.
    """

    kind: Literal["scalar", "memref"]
    element: str
    rank: int = 0
    strided: bool = False

    @property
    def words(self) -> int:
        """How many 64-bit words it takes in a call."""
        if self.kind == "scalar":
            return 1
        return 1 + self.rank * (2 if self.strided else 1)


@dataclass(frozen=True, slots=True)
class EntrySignature:
    """The arguments and results of an entry, in order."""

    args: tuple[NativeType, ...]
    results: tuple[NativeType, ...]

    @property
    def argument_words(self) -> int:
        return sum(t.words for t in self.args)

    @property
    def result_words(self) -> int:
        return sum(t.words for t in self.results)


@dataclass(frozen=True, slots=True)
class NativeObject:
    """Machine code for the processor it was compiled on, and what can be called in it."""

    code: bytes
    entries: Mapping[str, EntrySignature]
    llvm: str | None = field(default=None, compare=False)
    """The LLVM text it came from, if asked for."""


def entry_symbol(name: str) -> str:
    """
    The symbol of the entry `name` in the object code.

    The suffix keeps a kernel called `sin` from being taken for the `sin` of the C library.
    """
    return f"{name}.entry"
