"""Launches whose grid depends on the loops around them: caches are sized beforehand."""

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu
from tests.differences import check


@ad.kernel
def halve(x, n):
    i = gpu.grid(1)
    if i < n:
        x[i] = x[i] * x[i + n] + 0.1 * x[i]


@ad.jit
def product_in_passes(x, levels):
    for k in range(levels):
        n = len(x) // 2 ** (k + 1)
        halve[(n + 1) // 2, 2](x, n)
    return x[0]


def product_in_python(x, levels):
    for k in range(levels):
        n = len(x) // 2 ** (k + 1)
        for i in range(n):
            x[i] = x[i] * x[i + n] + 0.1 * x[i]
    return x[0]


@ad.jit
def product_by_halving(x, levels):
    n = len(x) // 2
    while n > 0:
        halve[1, n](x, n)
        if n == levels:
            halve.forall(n // 2)(x, n // 2)
        n //= 2
    return x[0]


def halving_in_python(x, levels):
    n = len(x) // 2
    while n > 0:
        product_step(x, n)
        if n == levels:
            product_step(x, n // 2)
        n //= 2
    return x[0]


def product_step(x, n):
    for i in range(n):
        x[i] = x[i] * x[i + n] + 0.1 * x[i]


@ad.jit
def grid_from_memory(x, levels):
    n = int(x[0])
    halve[n, 2](x, 1)
    return x[0]


X = np.random.default_rng(0).random(16) + 0.5


@pytest.mark.parametrize("levels", [0, 1, 2, 4])
def test_grids_that_shrink(levels: int):
    check(product_in_python, X, levels, compiled=product_in_passes)
    check(halving_in_python, X, levels, compiled=product_by_halving)


def test_a_grid_from_memory_is_refused_in_reverse():
    assert ad.jit(product_in_python)(X.copy(), 4) == product_in_passes(X.copy(), 4)
    with pytest.raises(ad.errors.UnsupportedError, match="depends on floats or on what is in"):
        ad.grad(grid_from_memory)(X + 1.0, 0)
