"""Derivatives from Python: the example of the README, all entry points, and what they return."""

import math
from typing import Any

import numpy as np
import pytest
from numba import cuda

import mlirad as ad


@ad.kernel
def square(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]


@ad.kernel
def shift(x, a):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] = math.sin(x[i]) * a


@ad.jit
def twice(x):
    square[1, x.shape[0]](x)
    square[1, x.shape[0]](x)


@ad.jit
def squares(x, a):
    square[1, x.shape[0]](x)
    shift[1, x.shape[0]](x, a)


@ad.jit
def poly(x, n):
    result = 1.0
    for _ in range(n):
        result *= x
    return result


@ad.jit
def total(x, a):
    s = 0.0
    for i in range(x.shape[0]):
        s += a * x[i] * x[i]
    return s


@ad.jit
def pair(x, y):
    return x * y, 3, x + 2.0 * y


@ad.jit
def worked(x, work):
    for i in range(x.shape[0]):
        work[i] = x[i] * x[i]
    s = 0.0
    for i in range(x.shape[0]):
        s += work[i]
    return s


def example() -> tuple[np.ndarray, np.ndarray]:
    return np.array([2.0, 2.0]), np.array([0.0, 1.0])


@pytest.mark.parametrize("launch", [square[1, 2], square.forall(2), square[3, 32]])
def test_the_example(launch: Any):
    x, dx = example()
    assert ad.autodiff(ad.Reverse, launch, ad.Duplicated(x, dx)) == (None, (None,))
    np.testing.assert_array_equal(dx, [0.0, 4.0])
    np.testing.assert_array_equal(x, [4.0, 4.0])
    x, dx = example()
    assert ad.autodiff(ad.Forward, launch, ad.Dual(x, dx)) == (None, None)
    np.testing.assert_array_equal(dx, [0.0, 4.0])
    np.testing.assert_array_equal(x, [4.0, 4.0])


def test_the_example_through_a_function():
    for mode, kind in ((ad.Reverse, ad.Duplicated), (ad.Forward, ad.Dual)):
        x, dx = example()
        ad.autodiff(mode, twice, kind(x, dx))
        np.testing.assert_array_equal(dx, [0.0, 32.0])
        np.testing.assert_array_equal(x, [16.0, 16.0])


def test_the_example_on_an_untouched_numba_kernel():
    @cuda.jit
    def plain(x):
        i = cuda.grid(1)
        if i < x.shape[0]:
            x[i] = x[i] * x[i]

    x, dx = example()
    ad.reverse(plain, ad.Duplicated)[1, 2](x, dx)
    np.testing.assert_array_equal(dx, [0.0, 4.0])


def test_two_kernels_agree_with_complex_step():
    x0, step = np.array([0.3, -1.2, 2.0]), 1e-30
    seed, tangent = np.array([1.0, -0.5, 2.0]), np.array([0.2, 1.0, -1.0])

    def program(x: Any, a: Any) -> Any:
        return np.sin(x * x) * a

    x, dx = x0.copy(), seed.copy()
    primal, (_, da) = ad.autodiff(ad.Reverse, squares, ad.Duplicated(x, dx), ad.Active(1.5))
    assert primal is None
    expected = [(seed * program(x0 + 1j * step * e, 1.5).imag).sum() / step for e in np.eye(3)]
    np.testing.assert_allclose(dx, expected, rtol=1e-14)
    assert da == pytest.approx((seed * program(x0, 1.0)).sum(), rel=1e-14)
    x, dx = x0.copy(), tangent.copy()
    ad.autodiff(ad.Forward, squares, ad.Dual(x, dx), ad.Dual(1.5, 0.5))
    expected = program(x0 + 1j * step * tangent, 1.5 + 0.5j * step).imag / step
    np.testing.assert_allclose(dx, expected, rtol=1e-14)
    np.testing.assert_allclose(x, program(x0, 1.5), rtol=1e-15)


def test_many_threads_of_forall():
    for n in (1, 127, 200, 1000):
        x, dx = np.arange(1.0, n + 1), np.ones(n)
        ad.reverse(square, ad.Duplicated).forall(n)(x, dx)
        np.testing.assert_array_equal(dx, 2 * np.arange(1.0, n + 1))


def test_derived_functions_return_primal_then_cotangents():
    df = ad.reverse(poly, ad.Active, ad.Const)
    assert df(3.0, 4, 1.0) == (81.0, 108.0)
    assert df(3.0, 4, 0.5) == (81.0, 54.0)
    assert ad.reverse(poly, ad.Const, ad.Const)(3.0, 4, 1.0) == 81.0
    assert ad.reverse(poly, ad.Active, ad.Const, ret=ad.Const)(3.0, 4) == (81.0, 0.0)


def test_derived_functions_return_primal_and_tangent():
    dg = ad.forward(poly, ad.Dual, ad.Const)
    assert dg(3.0, 2.0, 4) == (81.0, 216.0)
    assert ad.forward(poly, ad.Dual, ad.Const, ret=ad.Const)(3.0, 2.0, 4) == 81.0


def test_arrays_and_numbers_together():
    x, dx = np.array([1.0, 2.0]), np.array([0.25, 0.0])
    primal, gradients = ad.autodiff(ad.Reverse, total, ad.Duplicated(x, dx), ad.Active(3.0))
    assert (primal, gradients) == (15.0, (None, 5.0))
    np.testing.assert_array_equal(dx, [6.25, 12.0])  # reverse mode adds


def test_tuples_as_results():
    dg = ad.forward(pair, ad.Dual, ad.Const)
    assert dg(2.0, 1.0, 5.0) == ((10.0, 3, 12.0), (5.0, None, 1.0))
    df = ad.reverse(pair, ad.Active, ad.Active)
    assert df(2.0, 5.0, (1.0, None, 1.0)) == ((10.0, 3, 12.0), 6.0, 4.0)


def test_second_derivatives():
    second = ad.forward(ad.reverse(poly, ad.Active, ad.Const), ad.Dual, ad.Const, ad.Const)
    (primal, cotangent), (tangent, curvature) = second(3.0, 1.0, 4, 1.0)
    assert (primal, cotangent) == (81.0, 108.0)
    assert (tangent, curvature) == (108.0, 108.0)  # 4 x^3 and 12 x^2 at 3


def test_gradients_leave_the_arguments_alone():
    x = np.array([1.0, 2.0])
    value, gradient = ad.value_and_grad(total)(x, 3.0)
    assert value == 15.0
    np.testing.assert_array_equal(gradient, [6.0, 12.0])
    both = ad.grad(total, wrt=(0, 1))(x, 3.0)
    np.testing.assert_array_equal(both[0], [6.0, 12.0])
    assert both[1] == 5.0
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_gradients_go_through_work_arrays():
    x, work = np.array([1.0, 2.0]), np.zeros(2)
    np.testing.assert_array_equal(ad.grad(worked)(x, work), [2.0, 4.0])
    np.testing.assert_array_equal(work, [0.0, 0.0])


def test_gradients_of_overlapping_arguments_are_those_of_the_values():
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(ad.grad(worked)(x, x), [2.0, 4.0])


def test_plain_functions_are_compiled():
    def cube(x):
        return x * x * x

    assert ad.grad(cube)(2.0) == 12.0


def test_grad_wants_one_float():
    with pytest.raises(ad.errors.ArgumentTypeError, match="vjp"):
        ad.grad(pair)(1.0, 2.0)


def test_jvp_and_vjp():
    x = np.array([1.0, 2.0])
    assert ad.jvp(total, (x, 3.0), (np.array([1.0, 0.0]), 0.0)) == (15.0, 6.0)
    assert ad.jvp(total, (x, 3.0), (2.0,), wrt=1) == (15.0, 10.0)
    value, pullback = ad.vjp(total, x, 3.0)
    assert value == 15.0
    x[:] = 0.0
    for seed in (1.0, 2.0):
        dx, da = pullback(seed)
        np.testing.assert_array_equal(dx, [6.0 * seed, 12.0 * seed])
        assert da == 5.0 * seed
    value, pullback = ad.vjp(pair, 2.0, 5.0, wrt=0)
    assert pullback((1.0, None, 0.0)) == 5.0


def test_arguments_that_overlap_have_the_true_derivative():
    def f(x, y):
        for i in range(x.shape[0]):
            x[i] = x[i] * y[i]

    x, dx = np.array([3.0, 5.0]), np.array([1.0, 1.0])
    ad.autodiff(ad.Reverse, f, ad.Duplicated(x, dx), ad.Duplicated(x, dx))
    np.testing.assert_array_equal(x, [9.0, 25.0])
    np.testing.assert_array_equal(dx, [6.0, 10.0])


def test_shadows_may_have_other_strides():
    x, dx = np.array([2.0, 3.0]), np.zeros(4)[::2]
    dx[:] = 1.0
    ad.reverse(square, ad.Duplicated)[1, 2](x, dx)
    np.testing.assert_array_equal(dx, [4.0, 6.0])


def test_active_values_in_a_const_array_are_refused():
    x, dx, work = np.ones(2), np.zeros(2), np.zeros(2)
    with pytest.raises(ad.errors.ActivityError, match="work"):
        ad.autodiff(ad.Reverse, worked, ad.Duplicated(x, dx), ad.Const(work))
    np.testing.assert_array_equal(work, [0.0, 0.0])
