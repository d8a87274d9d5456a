"""
What can go wrong, one class per cause.

Every message says where (`file:line:column`, with the source line and a caret where there
is one), what, why, and the way out. This module is below everything else: it imports
nothing of the project and no compiler.
"""

from __future__ import annotations

import linecache
from typing import Protocol


class MliradError(Exception):
    """Base of every error that mlirad raises about what it was given."""


class ArgumentTypeError(MliradError, TypeError):
    """An argument or its annotation has a type that the call cannot take."""


class TypingError(MliradError, TypeError):
    """The body of a kernel or function does not type-check."""


class LaunchError(MliradError, ValueError):
    """A launch or call has the wrong shape: grid, block, sizes, counts, read-only arrays."""


class LaunchTypeError(MliradError, TypeError):
    """A launch was given something that is no grid, block or argument."""


class BoundsError(MliradError, IndexError):
    """An index was out of range in code compiled with `boundscheck=True`."""


class NoRuleError(MliradError, NotImplementedError):
    """An active operation has no derivative rule."""


class UnsupportedError(MliradError, NotImplementedError):
    """The program is valid Python, but uses something mlirad does not compile."""


class AliasError(MliradError, ValueError):
    """Arrays overlap in memory in a way that has no well-defined derivative."""


class ActivityError(MliradError, ValueError):
    """An annotation contradicts what the program does with the argument."""


class RecordingError(MliradError, RuntimeError):
    """A `Tape` was used out of order, or an array it recorded was changed behind it."""


class Located(Protocol):
    """Anything with the fields of a `file:line:column` location (columns start at 1)."""

    filename: str
    line: int
    column: int


def place(where: Located | None) -> str:
    """`file:line:column`, or `<unknown>` where no location is known."""
    return f"{where.filename}:{where.line}:{where.column}" if where else "<unknown>"


def excerpt(where: Located | None) -> str:
    """The source line of `where` and a caret under its column; empty if it cannot be read."""
    if where is None:
        return ""
    line = linecache.getline(where.filename, where.line).rstrip("\n")
    if not line:
        return ""
    number = f"{where.line:>5} | "
    caret = " " * (len(number) - 2) + "| " + " " * (where.column - 1) + "^"
    return f"{number}{line}\n{caret}"


def describe(where: Located | None, what: str, way_out: str = "") -> str:
    """A message in the house form: place and what, the source line, then the way out."""
    lines = [f"{place(where)}: {what}", excerpt(where)]
    if way_out:
        lines.append(f"  {way_out}")
    return "\n".join(line for line in lines if line)
