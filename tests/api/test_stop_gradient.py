"""`ad.stop_gradient` holds a number fixed, in both modes, in functions and in kernels."""

import numpy as np

import mlirad as ad
from mlirad import gpu


@ad.jit
def half_fixed(x):
    return x * ad.stop_gradient(x) + x


@ad.kernel
def fixed_weight(x, y):
    i = gpu.grid(1)
    if i < x.shape[0]:
        y[i] = ad.stop_gradient(x[i] * x[i]) * x[i]


def test_functions():
    assert ad.value_and_grad(half_fixed)(3.0) == (12.0, 4.0)
    assert ad.jvp(half_fixed, (3.0,), (1.0,)) == (12.0, 4.0)
    assert ad.stop_gradient(2.5) == 2.5


def test_kernels():
    x, y, dx = np.array([1.0, 2.0]), np.zeros(2), np.zeros(2)
    ad.autodiff(ad.Reverse, fixed_weight[1, 2], ad.Duplicated(x, dx), ad.Duplicated(y, np.ones(2)))
    np.testing.assert_array_equal(y, [1.0, 8.0])
    np.testing.assert_array_equal(dx, [1.0, 4.0])
    dy = np.zeros(2)
    ad.autodiff(ad.Forward, fixed_weight[1, 2], ad.Dual(x, np.ones(2)), ad.Dual(y, dy))
    np.testing.assert_array_equal(dy, [1.0, 4.0])
