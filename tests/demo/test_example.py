"""
The example that the demo ends with, in every way to write it: the kernel as one of mlirad and as
an untouched one of numba, launched over a grid, over a range and from compiled functions, in both
modes.
"""

import math

import numpy as np
import pytest
from numba import cuda

import mlirad as ad
from mlirad import gpu

STEP = 1e-30


@ad.kernel
def square(x):
    i = gpu.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]


@ad.kernel
def wave(x):
    i = gpu.grid(1)
    if i < x.shape[0]:
        x[i] = math.sin(x[i]) * math.exp(-x[i])


@cuda.jit
def numba_square(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]


@cuda.jit
def numba_wave(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] = math.sin(x[i]) * math.exp(-x[i])


@ad.jit
def square_twice(x):
    square[1, 2](x)
    square[1, 2](x)


@ad.jit
def numba_square_twice(x):
    numba_square[1, 2](x)
    numba_square[1, 2](x)


@ad.jit
def square_then_wave(x):
    square[1, 2](x)
    wave[1, 2](x)


@ad.jit
def numba_square_then_wave(x):
    numba_square[1, 2](x)
    numba_wave[1, 2](x)


@pytest.fixture(params=["reverse", "forward"])
def derivative(request):
    """Runs `autodiff` in one of the modes on `x` and its shadow."""

    def run(program, x, dx):
        if request.param == "reverse":
            return ad.autodiff(ad.Reverse, program, ad.Duplicated(x, dx))
        return ad.autodiff(ad.Forward, program, ad.Dual(x, dx))

    return run


@pytest.fixture
def x():
    return np.array([2.0, 2.0])


@pytest.fixture
def dx():
    return np.array([0.0, 1.0])


@pytest.mark.parametrize("kernel", [square, ad.kernel(numba_square)], ids=["mlirad", "numba"])
@pytest.mark.parametrize("over", ["grid", "range"])
def test_one_launch(derivative, kernel, over, x, dx):
    derivative(kernel[1, 2] if over == "grid" else kernel.forall(2), x, dx)
    np.testing.assert_array_equal(dx, [0, 4])
    np.testing.assert_array_equal(x, [4, 4])


@pytest.mark.parametrize("program", [square_twice, numba_square_twice], ids=["mlirad", "numba"])
def test_two_launches_from_a_function(derivative, program, x, dx):
    derivative(program, x, dx)
    np.testing.assert_array_equal(dx, [0, 32])
    np.testing.assert_array_equal(x, [16, 16])


@pytest.mark.parametrize(
    "program", [square_then_wave, numba_square_then_wave], ids=["mlirad", "numba"]
)
def test_two_kernels_agree_with_complex_step(derivative, program):
    start, direction = np.array([0.7, -1.3]), np.array([0.25, -2.0])

    def formula(x):
        return np.sin(x * x) * np.exp(-x * x)

    x, dx = start.copy(), direction.copy()
    derivative(program, x, dx)
    # elementwise: the Jacobian is diagonal, so both modes scale by it
    slope = formula(start + 1j * STEP).imag / STEP
    np.testing.assert_allclose(dx, slope * direction, rtol=1e-14)
    np.testing.assert_allclose(x, formula(start), rtol=1e-15)


def test_numba_kernels_are_left_as_they_were(x, dx):
    ad.reverse(numba_square, ad.Duplicated)[1, 2](x, dx)
    np.testing.assert_array_equal(dx, [0, 4])
    assert not numba_square.overloads  # numba has compiled nothing
