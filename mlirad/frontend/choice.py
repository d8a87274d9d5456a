"""The type of an array variable that is one of several arrays, depending on what ran."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import IndexType, i8
from xdsl.ir import Attribute

from mlirad.frontend.ir_types import flatten_type
from mlirad.frontend.operands import Origin
from mlirad.frontend.types import Array, Type

SELECTOR = i8
"""The type of the number that tells which alternative a variable is."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """
    A whole array, or (with `kept`) windows of it that have these axes of it in memory.

    `ndim` is that of the array which `origin` names.
    """

    origin: Origin
    ndim: int
    kept: tuple[int, ...] | None

    @property
    def numbers(self) -> int:
        """How many indices describe the window: first, step and size along each axis."""
        return 0 if self.kept is None else 3 * self.ndim

    def as_window(self) -> Alternative:
        return self if self.kept is not None else replace(self, kept=tuple(range(self.ndim)))


@dataclass(frozen=True, slots=True)
class Choice:
    """
    What the branches of an `if` or the iterations of a loop leave in an array variable.

    Carried as the number of the alternative, then the numbers of each window. `array` is the
    type of the variable.
    """

    array: Array
    alternatives: tuple[Alternative, ...]

    def __str__(self) -> str:
        return str(self.array)


def join_arrays(a: Array, b: Array) -> Array | None:
    """The type of what is an `a` or a `b`: what is known of both."""
    if (a.element, a.ndim, a.axes) != (b.element, b.ndim, b.axes):
        return None
    contiguous = a.contiguous and b.contiguous
    return replace(
        a,
        contiguous=contiguous,
        unit=not contiguous and (a.contiguous or a.unit) and (b.contiguous or b.unit),
        aligned=a.aligned and b.aligned,
        writable=a.writable and b.writable,
    )


def join(a: Choice, b: Choice) -> Choice | None:
    """The choice between all that `a` and `b` can be; None if their types differ."""
    array = join_arrays(a.array, b.array)
    if array is None:
        return None
    both = (*a.alternatives, *b.alternatives)
    windows = {alternative for alternative in both if alternative.kept is not None}
    # The whole of an array is one of its windows, if there are others like it.
    merged = (w if (w := x.as_window()) in windows else x for x in both)
    return Choice(array, tuple(dict.fromkeys(merged)))


def carried_types(types: Iterable[Type | Choice]) -> list[Attribute]:
    """The IR types of variables where control flow meets."""
    found: list[Attribute] = []
    for type_ in types:
        if isinstance(type_, Choice):
            found += [SELECTOR] * (len(type_.alternatives) > 1)
            found += [IndexType()] * sum(a.numbers for a in type_.alternatives)
        else:
            found += flatten_type(type_)
    return found
