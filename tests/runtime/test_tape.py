"""What a recording does, with programs written in numpy: no compiler takes part."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlirad.errors import AliasError, ArgumentTypeError, RecordingError
from mlirad.runtime import recording
from mlirad.runtime.recording import Mode
from mlirad.runtime.tape import Tape


@dataclass
class Kept:
    """Residuals of a numpy program: a function of the shadows, or nothing once used."""

    pullback: object
    log: list[str]

    def reverse(self, args, shadows):
        pullback, self.pullback = self.pullback, None
        pullback(*shadows)

    def discard(self):
        if self.pullback is not None:
            self.log.append("discarded")
        self.pullback = None


@dataclass
class Program:
    """`run(*args)`, `pullback(*args)` taken before the run, `push(args, tangents)` before it."""

    name: str
    parameters: tuple[str, ...]
    run: object
    pullback: object
    push: object
    log: list[str] = field(default_factory=list)

    def __call__(self, *args):
        recorder = recording.current()
        return recorder.launch(self, (), args) if recorder else self.primal((), args)

    def primal(self, sizes, args):
        self.log.append("primal")
        return self.run(*args)

    def augment(self, sizes, args, active: Sequence[bool]):
        self.log.append("augment")
        pullback = self.pullback(*args)
        return self.run(*args), Kept(pullback, self.log)

    def forward(self, sizes, args, tangents):
        self.log.append("forward")
        self.push(args, tangents)
        return self.run(*args)


def square_program():
    """`x[...] = x * x`."""

    def run(x):
        x[...] = x * x

    def pullback(x):
        slope = 2 * x

        def pull(dx):
            dx *= slope

        return pull

    def push(args, tangents):
        tangents[0][...] *= 2 * args[0]

    return Program("square", ("x",), run, pullback, push)


def gather_program():
    """`y[...] = scale * x[index]`."""

    def run(y, x, index, scale):
        y[...] = scale * x[index]
        return scale

    def pullback(y, x, index, scale):
        kept = index.copy()

        def pull(dy, dx, _index, _scale):
            cotangent = scale * dy
            dy[...] = 0  # first: dx may be the same memory
            np.add.at(dx, kept, cotangent)

        return pull

    def push(args, tangents):
        _, _, index, scale = args
        tangents[0][...] = scale * tangents[1][index]

    return Program("gather", ("y", "x", "index", "scale"), run, pullback, push)


@pytest.fixture
def square():
    return square_program()


@pytest.fixture
def gather():
    return gather_program()


def test_one_launch_in_both_modes(square):
    x = np.array([2.0, 3.0])
    with Tape(x) as tape:
        square(x)
    tape.shadow(x)[...] = [1.0, 10.0]
    tape.backward()
    np.testing.assert_array_equal(tape.shadow(x), [4.0, 60.0])
    np.testing.assert_array_equal(x, [4.0, 9.0])
    x = np.array([2.0, 3.0])
    with Tape(x, mode=Mode.FORWARD) as tape:
        tape.shadow(x)[...] = [1.0, 10.0]
        square(x)
        np.testing.assert_array_equal(tape.shadow(x), [4.0, 60.0])
        square(x)
    np.testing.assert_array_equal(tape.shadow(x), [4.0 * 8, 60.0 * 18])


def test_launches_are_reversed_last_first(square, gather):
    x, y, index = np.array([2.0, 3.0]), np.zeros(3), np.array([1, 1, 0])
    with Tape(x) as tape:
        square(x)
        assert gather(y, x, index, 5.0) == 5.0
        square(y)
    tape.shadow(y)[...] = [1.0, 0.0, 2.0]
    tape.backward()
    # y = (5 x_i^2)^2 = 25 x_i^4
    np.testing.assert_allclose(tape.shadow(x), [2 * 100 * 8.0, 100 * 27.0])
    np.testing.assert_array_equal(tape.shadow(y), 0.0)


def test_without_a_tape_nothing_is_recorded(square):
    square(np.ones(2))
    assert square.log == ["primal"]


def test_launches_that_no_active_value_reaches_are_not_recorded(square, gather):
    x, y = np.ones(2), np.ones(2)
    with Tape(x) as tape:
        square(y)
        gather(x, y, np.array([0, 1]), 1.0)
        square(y)
    assert square.log == ["primal", "augment"]
    tape.shadow(x)[...] = 1.0
    tape.backward()
    np.testing.assert_array_equal(tape.shadow(x), 0.0)


def test_views_of_one_buffer_share_their_shadow(square):
    x = np.arange(1.0, 7.0).reshape(2, 3)
    with Tape(x[0]) as tape:
        square(x[:, 1])
        square(x.T[1:])
    tape.shadow(x)[...] = 1.0
    tape.backward()
    expected = np.array([[1, 4 * 2.0**3, 2 * 3.0], [1, 4 * 5.0**3, 2 * 6.0]])
    np.testing.assert_allclose(tape.shadow(x), expected)


def test_an_index_array_edited_after_the_forward_pass(gather):
    x, y, index = np.array([1.0, 2.0]), np.zeros(2), np.array([0, 0])
    with Tape(x) as tape:
        gather(y, x, index, 1.0)
        index[:] = 1
    index[:] = 1
    x[:], y[:] = 7.0, 8.0
    tape.shadow(y)[...] = 1.0
    tape.backward()
    np.testing.assert_array_equal(tape.shadow(x), [2.0, 0.0])


def test_an_unwatched_temporary_freed_inside_the_tape(square, gather):
    x, y, index = np.array([1.0, 2.0]), np.zeros(2), np.arange(2)
    with Tape(x) as tape:
        for n in range(20):  # each temporary would get the memory of the one before
            temporary = np.full(2, float(n))
            gather(temporary, x, index, 3.0)
            square(temporary)
            gather(y, temporary, index, 1.0)
            del temporary
            gc.collect()
    tape.shadow(y)[...] = 1.0
    tape.backward()
    np.testing.assert_array_equal(tape.shadow(x), [18.0, 36.0])


def test_a_host_write_between_launches_is_an_error(square, gather):
    x, y = np.array([1.0, 2.0]), np.zeros(2)
    with Tape(x) as tape:
        gather(y, x, np.arange(2), 3.0)
        y[0] = 5.0
        with pytest.raises(RecordingError, match=r"'y' of 'gather' was changed.*\n.*tape.assign"):
            square(y)
    assert square.log == []
    assert y[1] == 6.0
    with pytest.raises(RecordingError, match="the host changed 'y' of 'gather'"):
        tape.backward()
    with pytest.raises(RecordingError):
        tape.shadow(x)
    with pytest.raises(RecordingError, match="array 1 of the Tape was changed"), Tape(x):
        x[0] = 5.0


@pytest.mark.parametrize("mode", Mode)
def test_a_host_write_after_the_last_launch_is_an_error_too(square, mode):
    x = np.array([1.0, 2.0])

    def program():
        square(x)
        x[0] = 5.0

    with pytest.raises(RecordingError, match="before the end"), Tape(x, mode=mode):
        program()
    assert recording.current() is None


def test_arrays_may_be_written_until_they_are_active(gather):
    x, y = np.array([1.0, 2.0]), np.zeros(2)
    with Tape(x) as tape:
        y[0] = 3.0
        gather(y, x, np.arange(2), 3.0)
    tape.shadow(y)[...] = 1.0
    tape.backward()
    np.testing.assert_array_equal(tape.shadow(x), 3.0)


@pytest.mark.parametrize("mode", Mode)
def test_assign_takes_part(mode, square, gather):
    x, y = np.array([3.0, 5.0]), np.zeros((2, 2))
    with Tape(x, mode=mode) as tape:
        if mode is Mode.FORWARD:
            tape.shadow(x)[...] = 1.0
        gather(y[0], x, np.arange(2), 3.0)
        tape.assign(y, x)  # broadcasts
        square(y)
        tape.assign(x[:1], 4.0)
    np.testing.assert_array_equal(y, [[9, 25], [9, 25]])
    np.testing.assert_array_equal(x, [4.0, 5.0])
    if mode is Mode.FORWARD:
        np.testing.assert_array_equal(tape.shadow(y), [[6, 10], [6, 10]])
        np.testing.assert_array_equal(tape.shadow(x), [0, 1])
        return
    tape.shadow(y)[...] = [[1, 1], [0, 1]]
    tape.shadow(x)[...] = [100.0, 1000.0]
    tape.backward()
    np.testing.assert_array_equal(tape.shadow(x), [6.0, 1020.0])
    np.testing.assert_array_equal(tape.shadow(y), 0.0)


def test_assign_between_overlapping_views_and_repeated_values(square):
    x = np.array([1.0, 2.0, 3.0])
    with Tape(x) as tape:
        tape.assign(x, x[::-1])
        tape.assign(x[1:], np.broadcast_to(x[:1], (2,)))
    np.testing.assert_array_equal(x, 3.0)
    tape.shadow(x)[...] = [1.0, 10.0, 100.0]
    tape.backward()
    np.testing.assert_array_equal(tape.shadow(x), [0.0, 0.0, 111.0])


def test_assign_makes_its_array_active(square):
    x, y, z = np.array([2.0]), np.zeros(1, np.float32), np.zeros(1)
    with Tape(x) as tape:
        tape.assign(z, 1.0)  # nothing active: a plain write
        z[0] = 2.0
        tape.assign(y, x)
        square(y)
    tape.shadow(y)[...] = 1.0
    tape.backward()
    assert tape.shadow(x)[0] == 4.0
    with pytest.raises(RecordingError):
        tape.shadow(z)


def test_backward_once_and_in_order(square):
    x = np.ones(2)
    with Tape(x) as tape:
        square(x)
        with pytest.raises(RecordingError, match="after the `with` block"):
            tape.backward()
    tape.backward()
    with pytest.raises(RecordingError, match="called before"):
        tape.backward()
    with pytest.raises(RecordingError, match="make a new Tape"):
        tape.__enter__()
    with pytest.raises(RecordingError, match="before the end"):
        Tape(x).backward()
    with pytest.raises(RecordingError, match="enter the Tape"):
        Tape(x).shadow(x)
    with pytest.raises(RecordingError, match="outside"):
        tape.assign(x, 1.0)
    with Tape(x, mode=Mode.FORWARD) as tape:
        square(x)
    with pytest.raises(RecordingError, match="forward Tape"):
        tape.backward()


def test_an_exception_makes_the_tape_unusable(square):
    x = np.ones(2)
    tape = Tape(x)

    def program():
        square(x)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), tape:
        program()
    assert square.log == ["augment", "discarded"]
    assert recording.current() is None
    for use in (tape.backward, lambda: tape.shadow(x), lambda: tape.assign(x, 1.0)):
        with pytest.raises(RecordingError, match="ZeroDivisionError ended its `with`"):
            use()


def test_a_launch_that_fails_makes_the_tape_unusable(square, gather):
    x, y = np.ones(2), np.ones(2)
    with Tape(x) as tape:
        square(x)
        with pytest.raises(IndexError):
            gather(y, x, np.array([7, 7]), 1.0)
        with pytest.raises(RecordingError, match="cannot record 'square': IndexError ended"):
            square(x)
    with pytest.raises(RecordingError, match="launch of 'gather'"):
        tape.backward()


def test_tapes_do_not_nest(square):
    x = np.ones(2)
    with Tape(x) as tape:
        with pytest.raises(RecordingError, match="nested"), Tape(x):
            pass
        square(x)
    tape.backward()


def test_only_arrays_of_floats_are_watched():
    with pytest.raises(ArgumentTypeError) as caught:
        Tape(np.ones(2), np.arange(3), 1.5, "x")
    assert all(f"array {n} of the Tape" in str(caught.value) for n in (2, 3, 4))
    with pytest.raises(ArgumentTypeError, match="mode of a Tape"):
        Tape(np.ones(2), mode="reverse")


def test_an_array_that_was_never_met_has_no_shadow(square):
    x = np.ones(2)
    with Tape(x) as tape:
        square(x)
    with pytest.raises(RecordingError, match="watch it"):
        tape.shadow(x.copy())
    with pytest.raises(ArgumentTypeError):
        tape.shadow(np.arange(2))


def test_one_memory_under_two_dtypes_is_refused(square, gather):
    x = np.ones(2)
    with Tape(x):
        with pytest.raises(AliasError, match="'x' of 'square'"):
            square(x.view(np.float32))
        with pytest.raises(AliasError, match="'index' of 'gather'"):
            gather(np.ones(2), x, x.view(np.int64), 1.0)
    assert square.log == gather.log == []
    with pytest.raises(AliasError):
        Tape(x, x.view(np.float32)).__enter__()
    assert recording.current() is None


@pytest.mark.parametrize("end", ["drop", "fail"])
def test_residuals_are_freed_with_the_tape(square, end):
    x = np.ones(2)
    tape = Tape(x)
    with tape:
        square(x)
        square(x)
    if end == "drop":
        del tape
        gc.collect()
        assert square.log[2:] == ["discarded"] * 2
    else:
        tape.backward()
        assert square.log[2:] == []


def test_recordings_are_per_thread(square):
    from threading import Thread

    x, y = np.ones(2), np.ones(2)
    with Tape(x) as tape:
        thread = Thread(target=square, args=(y,))
        thread.start()
        thread.join()
        square(x)
    assert square.log == ["primal", "augment"]
    tape.backward()


SIZE = 6
VIEWS = [slice(None, 2), slice(1, 6, 3), slice(4, None, -3), slice(-1, None), slice(2, 4)]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["square", "gather", "assign", "constant"]),
        *[st.tuples(st.integers(0, 2), st.sampled_from(VIEWS))] * 2,
        st.tuples(st.integers(0, 1), st.integers(0, 1)),
    ),
    max_size=8,
)


def run_steps(steps, arrays, tape=None):
    """A random program over views of three arrays; in plain numpy without a tape."""
    square, gather = square_program(), gather_program()
    assign = tape.assign if tape else lambda x, v: x.__setitem__(..., v)
    for kind, (to, target), (origin, source), index in steps:
        y, x = arrays[to][target], arrays[origin][source]
        if kind == "square":
            square(y)
        elif kind == "gather":
            gather(y, x, np.array(index[: len(y)]) % len(x), 0.75)
        elif kind == "assign":
            assign(y, x if len(x) in (1, len(y)) else x[0:1])
        else:
            assign(y, 0.5)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, seed=st.integers(0, 2**32 - 1))
def test_random_programs_agree_with_complex_step(steps, seed):
    random = np.random.default_rng(seed)
    start, direction, cotangent = random.uniform(0.5, 1.5, (3, 3, SIZE))
    start, direction, cotangent = start.copy(), direction.copy(), cotangent.copy()
    watched = (0, 1)  # the third becomes active if a value reaches it
    direction[2] = 0

    stepped = [x + 1e-30j * v for x, v in zip(start, direction, strict=True)]
    run_steps(steps, stepped)
    tangent = np.imag(stepped) / 1e-30

    arrays = [x.copy() for x in start]
    with Tape(*(arrays[k] for k in watched), mode=Mode.FORWARD) as tape:
        for k in watched:
            tape.shadow(arrays[k])[...] = direction[k]
        run_steps(steps, arrays, tape)
    np.testing.assert_array_equal(arrays, np.real(stepped))
    for k in watched:
        np.testing.assert_allclose(tape.shadow(arrays[k]), tangent[k], rtol=1e-12)

    arrays = [x.copy() for x in start]
    with Tape(*(arrays[k] for k in watched)) as tape:
        run_steps(steps, arrays, tape)
    for array in arrays:
        array[...] = np.nan  # nothing may be read from here on
    inner = 0.0
    for k, array in enumerate(arrays):
        try:
            tape.shadow(array)[...] = cotangent[k]
        except RecordingError:
            assert not tangent[k].any()
            continue
        inner += cotangent[k] @ tangent[k]
    tape.backward()
    pulled = sum(tape.shadow(arrays[k]) @ direction[k] for k in watched)
    np.testing.assert_allclose(pulled, inner, rtol=1e-10, atol=1e-12)
