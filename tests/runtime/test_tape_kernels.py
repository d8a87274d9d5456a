"""Recordings of real kernels: the faults that users of other tools met, by name."""

import gc

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu
from mlirad.errors import AliasError, RecordingError


@ad.kernel
def cube(y, x):
    i = gpu.grid(1)
    if i < x.shape[0]:
        y[i] = x[i] * x[i] * x[i]


@ad.kernel
def gather(y, x, index, scale):
    i = gpu.grid(1)
    if i < y.shape[0]:
        y[i] = y[i] + scale * x[index[i]] * x[index[i]]


@ad.kernel
def square(x):
    i = gpu.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]


@ad.jit
def decay(x, n):
    for k in range(n):
        for i in range(x.shape[0]):
            x[i] = x[i] - 0.1 * x[i] * x[i]
    return x[0]


@pytest.fixture(autouse=True)
def no_disk_cache(monkeypatch):
    monkeypatch.setenv("MLIRAD_CACHE", "0")


def test_an_array_edited_after_the_forward_pass_changes_nothing():
    x, y = np.array([3.0, -0.5]), np.zeros(2)
    with ad.Tape(x, y) as tape:
        cube[1, 2](y, x)
    x[:] = 10.0
    tape.shadow(y)[...] = [1.0, 2.0]
    tape.backward()
    np.testing.assert_allclose(tape.shadow(x), [27.0, 1.5])
    np.testing.assert_array_equal(tape.shadow(y), 0.0)


def test_an_index_array_edited_after_the_forward_pass_changes_nothing():
    x, y, index = np.array([1.0, 2.0]), np.zeros(3), np.array([0, 0, 1])
    with ad.Tape(x) as tape:
        gather[1, 4](y, x, index, 3.0)
        index[:] = 1  # not active: the host may write it at any time
        gather[1, 4](y, x, index, 1.0)
    index[:] = 0
    tape.shadow(y)[...] = [1.0, 1.0, 100.0]
    tape.backward()
    np.testing.assert_allclose(tape.shadow(x), [2 * 2 * 3.0, 100 * 4 * 3.0 + 102 * 4.0])


def test_an_unwatched_temporary_freed_inside_the_tape_takes_part():
    x, y = np.array([1.0, 2.0]), np.zeros(2)
    with ad.Tape(x) as tape:
        for _ in range(10):  # each temporary would get the memory of the one before
            temporary = np.zeros(2)
            cube[1, 2](temporary, x)
            gather[1, 2](y, temporary, np.arange(2), 1.0)
            del temporary
            gc.collect()
    np.testing.assert_allclose(y, 10 * np.array([1.0, 64.0]))
    tape.shadow(y)[...] = 1.0
    tape.backward()
    np.testing.assert_allclose(tape.shadow(x), 60 * np.array([1.0, 32.0]))


def test_a_host_write_between_launches_is_refused_and_assign_is_the_way():
    x = np.array([2.0, 3.0])
    with ad.Tape(x) as tape:
        square[1, 2](x)
        x[0] = 1.0
        with pytest.raises(RecordingError, match=r"array 1 of the Tape .*\n.*tape.assign"):
            square[1, 2](x)
    x = np.array([2.0, 3.0])
    with ad.Tape(x) as tape:
        square[1, 2](x)
        tape.assign(x[:1], 1.0)
        square[1, 2](x)
    tape.shadow(x)[...] = 1.0
    tape.backward()
    np.testing.assert_allclose(tape.shadow(x), [0.0, 4 * 27.0])


def test_a_base_array_and_its_view_share_their_shadow():
    x = np.array([2.0, 3.0, 5.0, 7.0])
    with ad.Tape(x) as tape:
        square[1, 4](x[::2])
        cube[1, 2](x[:2], x[2:])
    tape.shadow(x)[...] = [1.0, 1.0, 0.0, 0.0]
    tape.backward()
    # x0 = (x2^2)^3, x1 = x3^3
    np.testing.assert_allclose(tape.shadow(x), [0.0, 0.0, 6 * 5.0**5, 3 * 49.0])
    with pytest.raises(AliasError), ad.Tape(x):
        square[1, 8](x.view(np.float32))


def test_functions_are_recorded_like_kernels():
    x = np.array([2.0, 3.0])
    reference = x + 1e-30j
    for _ in range(5):
        reference = reference - 0.1 * reference * reference
    slope = np.imag(reference) / 1e-30
    with ad.Tape(x) as tape:
        assert decay(x, 3) == x[0]
        decay(x, 2)
    np.testing.assert_allclose(x, np.real(reference), rtol=1e-14)
    tape.shadow(x)[...] = [1.0, 10.0]
    tape.backward()
    np.testing.assert_allclose(tape.shadow(x), slope * [1.0, 10.0], rtol=1e-13)


def test_forward_tangents_follow_each_launch():
    x, y = np.array([2.0, 3.0]), np.zeros(2)
    with ad.Tape(x, mode=ad.Forward) as tape:
        tape.shadow(x)[...] = [1.0, 10.0]
        square[1, 2](x)
        np.testing.assert_allclose(tape.shadow(x), [4.0, 60.0])
        cube[1, 2](y, x)
    np.testing.assert_allclose(tape.shadow(y), [6 * 32.0, 60 * 243.0])
