"""
`Tape`: records what arbitrary Python launches, to differentiate all of it afterwards.

Every launch that an active value can reach is recorded with its residuals and the shadows of
its arrays; `backward` runs the reverse sweeps in the opposite order. In forward mode nothing
is kept: each launch brings the tangents up to date. A float that Python reads out of an array
and passes on is a constant.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, cast

import numpy as np

from mlirad.errors import AliasError, ArgumentTypeError, RecordingError
from mlirad.runtime import compounds, recording
from mlirad.runtime.arguments import is_array, overlaps_itself
from mlirad.runtime.recording import Array, Launchable, Mode, Residuals, carries_derivatives
from mlirad.runtime.shadows import Buffer, Shadows


class Step(Protocol):
    """Something recorded that has a reverse."""

    def reverse(self) -> None: ...
    def discard(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """A launch, with arguments that only the recording holds."""

    residuals: Residuals
    args: tuple[object, ...]
    shadows: tuple[Array | None, ...]

    def reverse(self) -> None:
        self.residuals.reverse(self.args, self.shadows)

    def discard(self) -> None:
        self.residuals.discard()


@dataclass(frozen=True, slots=True)
class AssignStep:
    """`x[...] = value`, as the shadows of both; a constant value has none."""

    shadow: Array
    source: Array | None

    def reverse(self) -> None:
        """Takes the shadow of `x` and adds it to that of the value."""
        if self.shadow.dtype.fields is None:
            self.give(self.shadow, self.source)
            return
        targets = compounds.views(self.shadow)
        sources = [None] * len(targets) if self.source is None else compounds.views(self.source)
        for target, source in zip(targets, sources, strict=True):  # fields match by position
            self.give(target, source if carries_derivatives(target.dtype) else None)

    def give(self, shadow: Array, source: Array | None) -> None:
        cotangent = shadow.copy()
        shadow[...] = 0
        if source is None:
            return
        cotangent = sum_to(cotangent, source.shape)
        if source.dtype.kind != "c":  # the imaginary part was dropped
            cotangent = np.real(cotangent)
        np.add(source, cotangent, out=source, casting="same_kind")

    def discard(self) -> None:
        pass


def sum_to(cotangent: Array, shape: tuple[int, ...]) -> Array:
    """The transpose of broadcasting from `shape`: sums over the axes that it repeated."""
    extra = cotangent.ndim - len(shape)
    if extra < 0:  # an assignment drops leading axes of extent 1
        return cotangent.reshape(shape)
    axes = tuple(range(extra)) + tuple(
        extra + axis for axis, extent in enumerate(shape) if extent != cotangent.shape[extra + axis]
    )
    return cotangent.sum(axis=axes, keepdims=True).reshape(shape) if axes else cotangent


def collapsed(array: Array) -> Array:
    """`array` without the repetitions of `broadcast_to`: extent 1 along axes of stride 0."""
    return array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]


def discard_all(steps: list[Step]) -> None:
    while steps:
        steps.pop().discard()


class Tape:
    """
    Records the launches inside its `with` block.

    ```python
    with ad.Tape(x, v) as tape:         # differentiate with respect to x and v
        program(x, v)                   # any Python that launches kernels
    tape.shadow(x)[...] = seed          # seeds of the final contents, zero at first
    tape.backward()                     # tape.shadow(x) is now the cotangent of the initial ones

    with ad.Tape(x, v, mode=ad.Forward) as tape:
        tape.shadow(x)[...] = dx        # tangents; every launch brings them up to date
        program(x, v)
    ```

    Shadows belong to memory: views of one buffer share one shadow. Arrays that are not watched
    get a shadow when a launch first uses them beside an array that has one. After the
    `with`, arrays may be changed freely; inside it, active arrays are changed by launches
    or `assign` only. A change made behind the recording is noticed by the contents, so not
    when it writes exactly the bytes that were there.

    Args:
        arrays: numpy arrays of floats, complex numbers or records, whose contents at the start of
            the `with` are the independent variables.
        mode: `Reverse` or `Forward`.

    Raises:
        ArgumentTypeError: something in `arrays` has no derivatives.
        RecordingError: used out of order, or an active array was changed by the host.
        AliasError: the same memory is used under two dtypes.

    Memory: per active buffer a shadow and one copy of the contents; per launch its residuals,
    until `backward` or until the tape is gone.
    """

    def __init__(self, *arrays: Array, mode: Mode = Mode.REVERSE):
        problems = [p for n, array in enumerate(arrays, 1) if (p := unwatchable(n, array))]
        if mode not in tuple(Mode):
            problems.append(f"mode of a Tape is ad.Reverse or ad.Forward, not {mode!r}")
        if problems:
            raise ArgumentTypeError("\n".join(problems))
        self.mode = mode
        self._watched = arrays
        self._shadows = Shadows()
        self._steps: list[Step] = []
        self._state = "new"
        self._broken: str | None = None
        finalizer = weakref.finalize(self, discard_all, self._steps)
        finalizer.atexit = False  # compiled code may be gone before

    def __enter__(self) -> Self:
        if recording.current() is not None:
            raise RecordingError(
                "a Tape is recording already in this thread; Tapes cannot be nested\n"
                "  leave the outer `with` first, or watch all arrays with one Tape"
            )
        if self._state != "new":
            raise RecordingError("this Tape has recorded already\n  make a new Tape")
        for number, array in enumerate(self._watched, 1):
            self._shadows.shadow(array, f"array {number} of the Tape")
        self._state = "recording"
        recording.activate(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        recording.activate(None)
        self._state = "recorded"
        if kind is not None:
            self._break(f"{kind.__name__} ended its `with` block")
            return
        if self._broken is None:
            self._expect_unchanged(self._shadows, "before the end of the `with`")

    def shadow(self, array: Array) -> Array:
        """
        The shadow of `array`, to be read or written: same shape, dtype and strides.

        Reverse: before `backward` the seed of the final contents, afterwards the cotangent of
        the contents at the start. Forward: the tangent of the present contents.

        Raises:
            RecordingError: the recording never met this memory, or is not usable.
        """
        self._expect_usable("shadow")
        if self._state == "new":
            raise RecordingError("shadow() before the `with` block\n  enter the Tape first")
        if problem := unwatchable(None, array):
            raise ArgumentTypeError(problem)
        buffer = self._shadows.find(array)
        if buffer is None:
            raise RecordingError(
                f"an array of {array.dtype}{list(array.shape)} has no shadow: it is not watched, "
                "and no launch used it together with an active array\n"
                "  watch it, `ad.Tape(…, array)`, or ask for the array that was launched "
                "(a copy is another array)"
            )
        buffer.use(array, "the array given to shadow()")
        return buffer.shadow(array)

    def backward(self) -> None:
        """
        Runs everything recorded in reverse; may be called once, after the `with` block.

        Takes the seeds out of the shadows and leaves there the cotangents of the contents
        that the arrays had at the start. Reads no array but the shadows.
        """
        self._expect_usable("backward")
        if self.mode is Mode.FORWARD:
            raise RecordingError(
                "backward() of a forward Tape\n  its shadows are tangents already; "
                "use mode=ad.Reverse for cotangents"
            )
        match self._state:
            case "new" | "recording":
                raise RecordingError(
                    "backward() before the end of the recording\n  call it after the `with` block"
                )
            case "done":
                raise RecordingError(
                    "backward() was called before: what was recorded is used up\n"
                    "  record again with a new Tape"
                )
            case _:
                self._state = "done"
        try:
            while self._steps:
                self._steps.pop().reverse()
        except BaseException as error:
            self._break(f"{type(error).__name__} ended its backward()")
            raise

    def assign(self, x: Array, v: Array | complex) -> None:
        """
        `x[...] = v`, recorded.

        `v` is a number or an array; from an array with a shadow derivatives flow on, anything
        else is a constant.
        """
        self._expect_usable("assign")
        if self._state != "recording":
            raise RecordingError(
                "assign() outside the `with` block\n  write to the array itself: "
                "nothing is recorded there"
            )
        if problem := unassignable(x, v):
            raise ArgumentTypeError(problem)
        source = collapsed(v) if isinstance(v, np.ndarray) else None
        for what, array in (("the array", x), ("the value", source)):
            if array is not None and overlaps_itself(array) and self._shadows.find(array):
                raise AliasError(f"{what} given to assign() overlaps itself\n  pass a copy")
        self._expect_unchanged(self._find((x, source)), "before assign()")
        shadow, source_shadow = self._assigned_shadows(x, source)
        try:
            x[...] = v
        except BaseException as error:
            self._break(f"{type(error).__name__} in assign()")
            raise
        if (buffer := self._shadows.find(x)) is not None:
            buffer.keep()
        if shadow is None:
            return
        if self.mode is Mode.REVERSE:
            self._steps.append(AssignStep(shadow, source_shadow))
        else:
            shadow[...] = 0 if source_shadow is None else source_shadow

    def _assigned_shadows(self, x: Array, v: Array | None) -> tuple[Array | None, Array | None]:
        """The shadows of both sides of an assignment, None where there is nothing to do."""
        ours, theirs = "the array given to assign()", "the value given to assign()"
        tracked = v is not None and self._use(v, theirs) and carries_derivatives(v.dtype)
        known = self._use(x, ours)
        if not carries_derivatives(x.dtype) or not (tracked or known):
            return None, None
        source = self._shadows.shadow(v, theirs) if v is not None and tracked else None
        return self._shadows.shadow(x, ours), source

    def launch(self, program: Launchable, sizes: tuple[int, ...], args: Sequence[object]) -> object:
        """Runs and records `program`; called by whatever is launched, not by users."""
        if self._broken is not None:
            raise RecordingError(
                f"the Tape cannot record '{program.name}': {self._broken}\n"
                "  leave the `with` block and record again with a new Tape"
            )
        arrays = [cast(Array, a) if isinstance(a, np.ndarray) else None for a in args]
        labels = [f"'{name}' of '{program.name}'" for name in program.parameters]
        buffers = self._find(arrays)
        self._expect_unchanged(buffers, f"before the launch of '{program.name}'")
        floats = [a is not None and carries_derivatives(a.dtype) for a in arrays]
        recorded = any(b is not None and f for b, f in zip(buffers, floats, strict=True))
        if recorded and not all(b is not None or a is None for a, b in zip(arrays, buffers)):
            for array, label, is_float in zip(arrays, labels, floats, strict=True):
                if array is not None and is_float:
                    self._shadows.attach(array, label)
            buffers = self._find(arrays)  # also for integers that view the same memory
        shadows: list[Array | None] = [None] * len(arrays)
        for k, (array, buffer) in enumerate(zip(arrays, buffers, strict=True)):
            if array is not None and buffer is not None:
                buffer.use(array, labels[k])
                if recorded and floats[k]:
                    shadows[k] = buffer.shadow(array)
        try:
            result = (
                self._run(program, sizes, args, arrays, shadows)
                if recorded
                else (program.primal(sizes, args))
            )
        except BaseException as error:
            self._break(f"{type(error).__name__} ended the launch of '{program.name}'")
            raise
        for buffer in buffers:
            if buffer is not None:
                buffer.keep()
        return result

    def _run(
        self,
        program: Launchable,
        sizes: tuple[int, ...],
        args: Sequence[object],
        arrays: Sequence[Array | None],
        shadows: Sequence[Array | None],
    ) -> object:
        """Runs `program` with derivatives."""
        if self.mode is Mode.FORWARD:
            return program.forward(sizes, args, shadows)
        result, residuals = program.augment(sizes, args, [s is not None for s in shadows])
        # Views of our own: neither freeing nor reshaping the caller's arrays matters then.
        own = tuple(a if v is None else v[...] for a, v in zip(args, arrays, strict=True))
        self._steps.append(LaunchStep(residuals, own, tuple(shadows)))
        return result

    def _find(self, arrays: Iterable[Array | None]) -> list[Buffer | None]:
        """For each array the buffer of its memory, if that has a shadow."""
        return [None if array is None else self._shadows.find(array) for array in arrays]

    def _use(self, array: Array, label: str) -> bool:
        """Whether the memory of `array` has a shadow, which must then be of its dtype."""
        buffer = self._shadows.find(array)
        if buffer is not None:
            buffer.use(array, label)
        return buffer is not None

    def _expect_unchanged(self, buffers: Iterable[Buffer | None], when: str) -> None:
        for buffer in buffers:
            if buffer is not None and buffer.changed():
                self._break(f"the host changed {buffer.label}")
                raise RecordingError(
                    f"{buffer.label} was changed outside of a launch, {when}; it is active, so "
                    "its derivatives would be wrong\n"
                    "  write with `tape.assign(x, value)`, or before or after the `with` block"
                )

    def _expect_usable(self, what: str) -> None:
        if self._broken is not None:
            raise RecordingError(
                f"{what}() of a Tape that is not usable: {self._broken}\n"
                "  record again with a new Tape"
            )

    def _break(self, why: str) -> None:
        """Makes every later use an error and frees what was kept."""
        self._broken = self._broken or why
        discard_all(self._steps)


def kind_of(value: object) -> str:
    return f"{type(value).__name__} {value!r:.40}"


def unassignable(x: object, v: object) -> str:
    """Why `assign` cannot take these; empty if it can."""
    if not isinstance(x, np.ndarray):
        return f"assign() writes to a numpy array, not to {kind_of(x)}"
    if not isinstance(v, np.ndarray | np.generic | int | float | complex):
        return f"assign() takes a number or a numpy array as value, not {kind_of(v)}"
    if isinstance(v, np.void):
        return "assign() takes arrays: a record is a view of one\n  pass it as one: x[i:i+1]"
    known = [side.dtype for side in cast("list[object]", [x, v]) if is_array(side)]
    if any(dtype.fields for dtype in known) and known[0] != known[-1]:
        return (
            f"assign() to an array of {known[0]} takes records of the same dtype, not {known[1]}\n"
            "  assign one field: tape.assign(x['field'], v)"
        )
    return ""


def unwatchable(number: int | None, array: object) -> str:
    """Why `array` can have no shadow; empty if it can."""
    name = "the array" if number is None else f"array {number} of the Tape"
    if not isinstance(array, np.ndarray):
        return f"{name} is a {kind_of(array)}\n  pass a numpy array of floats"
    dtype = cast(Array, array).dtype
    if not carries_derivatives(dtype):
        return f"{name} has dtype {dtype}, which has no derivatives\n  pass a numpy array of floats"
    return ""
