"""Functions and kernels as arguments: known while compiling, one specialisation for each."""

import math

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu
from tests.differences import differences

X = np.array([0.4, 0.9, 1.3])


def square(v):
    return v * v


def cube(v):
    return v * v * v


@ad.kernel
def doubled(x):
    i = gpu.grid(1)
    if i < len(x):
        x[i] = 2.0 * x[i]


@ad.kernel
def apply(f, x):
    i = gpu.grid(1)
    if i < len(x):
        x[i] = f(x[i])


def total(f, x):
    s = 0.0
    for v in x:
        s += f(v)
    return s


def composed(fs, x):
    f, g = fs
    return total(f, x) * g(x[0])


@ad.jit
def launches(kernel, f, x):
    kernel[1, 4](x)
    apply[1, 4](f, x)
    return x[0] * x[1]


@pytest.mark.parametrize("f", [square, cube, math.sin, np.exp, ad.jit(square)])
def test_each_function_has_its_own_derivative(f):
    plain = square if isinstance(f, type(ad.jit(cube))) else f
    compiled = ad.jit(total)
    for _ in range(2):
        assert compiled(f, X) == pytest.approx(total(plain, X), rel=1e-14)
    gradient = ad.grad(total, wrt=1)(f, X)
    np.testing.assert_allclose(gradient, differences(total, (plain, X), 1), rtol=1e-8)
    tangent = ad.jvp(total, (f, X), (np.ones(3),), wrt=1)[1]
    assert tangent == pytest.approx(gradient.sum(), rel=1e-12)


def test_tuples_of_functions():
    gradient = ad.grad(composed, wrt=1)((cube, math.sin), X)
    np.testing.assert_allclose(gradient, differences(composed, ((cube, math.sin), X), 1), rtol=1e-8)


def test_kernels_are_passed_and_launched():
    gradient = ad.grad(launches, wrt=2)(doubled, cube, X)
    a, b = 2 * X[0], 2 * X[1]
    np.testing.assert_allclose(gradient, [6 * a**2 * b**3, 6 * a**3 * b**2, 0.0], rtol=1e-14)


def test_a_kernel_takes_a_function():
    x, dx = X.copy(), np.ones(3)
    ad.autodiff(ad.Reverse, apply[1, 4], ad.Const(square), ad.Duplicated(x, dx))
    np.testing.assert_allclose(dx, 2 * X)
    with ad.Tape(x) as tape:
        apply[1, 4](cube, x)
    tape.shadow(x)[...] = 1.0
    tape.backward()
    np.testing.assert_allclose(tape.shadow(x), 3 * X**4)


def test_a_function_has_no_derivative():
    with pytest.raises(ad.errors.ArgumentTypeError, match=r"'f' is .*function 'square'.*Active"):
        ad.autodiff(ad.Reverse, ad.jit(total), ad.Active(square), ad.Const(X))


def test_what_cannot_be_compiled_is_refused():
    with pytest.raises(ad.errors.UnsupportedError, match="a lambda cannot"):
        ad.jit(total)(lambda v: v, X)
    with pytest.raises(ad.errors.UnsupportedError, match="'sum' is not compiled"):
        ad.jit(total)(sum, X)
