"""
What a recording needs from a program, and what a program needs from a recording.

Everything that Python can launch (a kernel with its grid, a compiled function) is a
`Launchable`. While a recording is active in this thread, it is given to the recorder
instead of being run:

    recorder = current()
    result = recorder.launch(program, sizes, args) if recorder else program.primal(sizes, args)

`args` are the leaves of the arguments (the elements of a tuple one by one), in the order of
`parameters`; wherever a sequence below runs alongside them it has one entry per leaf.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


class Mode(Enum):
    """The direction in which derivatives travel; `mlirad.Forward` and `mlirad.Reverse`."""

    FORWARD = "forward"
    REVERSE = "reverse"

    def __repr__(self) -> str:
        return self.name.capitalize()


class Residuals(Protocol):
    """What an augmented primal kept for its reverse sweep. It owns all of it."""

    def reverse(self, args: Sequence[object], shadows: Sequence[Array | None]) -> None:
        """
        Runs the reverse sweep; may be called once, and frees what was kept.

        `shadows` are those of the arguments that were active: on entry cotangents of the final
        contents, on return of the initial contents. Of arrays in `args` only shape and strides
        are read, their contents may have changed.
        """
        ...

    def discard(self) -> None:
        """Frees what was kept; does nothing when that is gone already."""
        ...


class Launchable(Protocol):
    """A program that a recording can run, in whichever way its arguments ask for."""

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the leaves, `x` or `pair[0]`."""
        ...

    def primal(self, sizes: tuple[int, ...], args: Sequence[object]) -> object:
        """Runs the program as it is. `sizes` is the grid and the block, empty for functions."""
        ...

    def augment(
        self, sizes: tuple[int, ...], args: Sequence[object], active: Sequence[bool]
    ) -> tuple[object, Residuals]:
        """Runs it and keeps what the reverse sweep for the `active` arrays will need."""
        ...

    def forward(
        self,
        sizes: tuple[int, ...],
        args: Sequence[object],
        tangents: Sequence[Array | None],
    ) -> object:
        """Runs it with tangents, which are overwritten as their arrays are."""
        ...


class Recorder(Protocol):
    """A recording that is active."""

    def launch(self, program: Launchable, sizes: tuple[int, ...], args: Sequence[object]) -> object:
        """Runs `program`, records it, and returns its primal result."""
        ...


class _Active(threading.local):
    recorder: Recorder | None = None


_active = _Active()


def current() -> Recorder | None:
    """The recording that is active in this thread."""
    return _active.recorder


def activate(recorder: Recorder | None) -> None:
    """Makes `recorder` the active one in this thread; `None` ends it."""
    _active.recorder = recorder


def carries_derivatives(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of `dtype` have shadows: floats, complex numbers, records with one inside."""
    if dtype.fields is not None:
        return any(carries_derivatives(field[0]) for field in dtype.fields.values())
    return dtype.kind in "fc"
