"""What `explain` returns: decisions of the residual analysis as data, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["kept", "recomputed", "live"]
HEAD = ("where", "value", "what", "bytes", "why")


@dataclass(frozen=True, slots=True)
class Entry:
    """How the reverse sweep gets at one value of the primal."""

    function: str
    file: str
    line: int
    source: str
    """The text of that line."""
    name: str
    """What the value is called in the source; empty if it has no name."""
    kind: Kind
    bytes: int | str
    """A number, or a formula where the arguments are not known; 0 for what costs no memory."""
    reason: str
    trivial: bool = False
    """A constant, an id, a size or integer arithmetic, which the table leaves out."""


@dataclass(frozen=True, slots=True)
class Accumulation:
    """A place where the reverse sweep adds to a shadow."""

    file: str
    line: int
    source: str
    array: str
    atomic: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `explain` returns; its text is a table."""

    name: str
    entries: tuple[Entry, ...] = ()
    accumulations: tuple[Accumulation, ...] = ()

    @property
    def bytes(self) -> int | str:
        """The memory for kept values: a number, or a formula where arguments are not known."""
        total: int | str = 0
        for entry in sorted(self.entries, key=lambda entry: isinstance(entry.bytes, str)):
            total = added(total, entry.bytes)
        return total

    def __str__(self) -> str:
        unit = " bytes" if isinstance(self.bytes, int) else ""
        lines = [f"{self.name} keeps for its reverse sweep: {self.bytes}{unit}"]
        shown = [entry for entry in self.entries if not entry.trivial]
        lines += table(
            HEAD,
            [(place(e), e.name, e.kind, str(e.bytes), e.reason, e.source) for e in shown],
        )
        if hidden := len(self.entries) - len(shown):
            lines.append(f"and {hidden} constants, ids, sizes and integers, computed again")
        if self.accumulations:
            rows = [
                (place(a), a.array, "atomic" if a.atomic else "plain", a.reason, a.source)
                for a in self.accumulations
            ]
            lines += [
                "",
                "additions to shadows",
                *table(("where", "array", "how", "why"), rows),
            ]
        return "\n".join(lines)


def added(a: int | str, b: int | str) -> int | str:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return " + ".join(str(part) for part in (a, b) if part)


def place(where: Entry | Accumulation) -> str:
    return f"{where.file}:{where.line}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as they need to be; the last cell of each row on a line of its own."""
    if not rows:
        return []
    cells = [head, *(row[:-1] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    written = [lines[0]]
    before = None
    for line, row in zip(lines[1:], rows, strict=True):
        if row[-1] and (row[0], row[-1]) != before:
            written.append(f"    {row[-1]}")
        before = row[0], row[-1]
        written.append(line)
    return written
