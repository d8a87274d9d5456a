"""Kernels: ids under every module name, launches from functions, devices functions, atomics."""

from typing import Any

import numba
import numpy as np
import pytest
from numba import cuda

from mlirad.frontend.lower import lower
from mlirad.frontend.types import FLOAT64, INT64, Array
from tests.frontend.compiled import call


class Kernel:
    """What the frontend needs to know of a kernel object."""

    is_kernel = True

    def __init__(self, py_func: Any):
        self.py_func = py_func

    def __getitem__(self, sizes: Any) -> Any:
        raise AssertionError("never run by Python here")

    forall = __getitem__


@Kernel
def square(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]


def scaled(v, factor=2.0):
    return v * factor


@cuda.jit
def double_guarded(x, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= x.size:
        return
    x[i] = scaled(x[i])
    cuda.atomic.add(out, (0,), x[i])


def positions(out):
    i, j = cuda.grid(2)
    n, m = cuda.gridsize(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = 1000 * i + 100 * j + 10 * n + m


@numba.njit
def launches(x, out, n):
    for _ in range(n):
        square[1, x.shape[0]](x)
    square[(1, 1), (len(x), 1)](x)
    square.forall(0)(x)
    square.forall(x.size)(x)
    double_guarded[2, 2](out=out, x=x)
    return out[0]


def test_launches_from_a_function() -> None:
    x, out = np.array([1.0, 2.0, 0.5]), np.zeros(1)
    expected = 2 * x**8
    assert call(launches, x, out, 1) == expected.sum()
    np.testing.assert_array_equal(x, expected)


def test_two_dimensional_grid() -> None:
    out = np.zeros((3, 4))
    call(positions, out, sizes=(2, 1, 1, 2, 4, 1))
    i, j = np.indices((3, 4))
    np.testing.assert_array_equal(out, 1000 * i + 100 * j + 44)


def test_a_kernel_is_lowered_once_per_types_and_overlap() -> None:
    array = Array(FLOAT64, 1)
    module = str(lower(launches, [array, array, INT64], kernel=False, alias=[0, 0, -1]))
    assert module.count('"gpu.func"') == 2
    assert "mlirad.alias = array<i64: 0, 0>" in module
    assert "mlirad.alias = array<i64: 0, 0, -1>, mlirad.entry" in module


def test_positions_of_unaligned_arguments_count_the_sizes() -> None:
    types = [Array(FLOAT64, 1), Array(FLOAT64, 1, aligned=False)]
    module = str(lower(double_guarded, types, kernel=True))
    assert "mlirad.unaligned = array<i64: 7>, mlirad.entry" in module
    assert "mlirad.unaligned = array<i64: 1>" in module


@pytest.mark.parametrize("ndim", [1, 2])
def test_thread_positions_need_no_wraparound(ndim: int) -> None:
    body = square if ndim == 1 else positions
    assert "arith.select" not in str(lower(body, [Array(FLOAT64, ndim)], kernel=True))
