"""Arrays that a launch reads and a later one destroys are copied once."""

from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu
from tests.differences import check


@ad.kernel
def step(u, v, k):
    i = gpu.grid(1)
    n = u.shape[0]
    if 0 < i < n - 1:
        v[i] = u[i] + k * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * (1.0 + u[i] * u[i])
    elif i < n:
        v[i] = u[i]


@ad.jit
def heat(u, v, k, m):
    n = u.shape[0]
    for _ in range(m // 2):
        step[(n + 31) // 32, 32](u, v, k)
        step[(n + 31) // 32, 32](v, u, k)
    s = 0.0
    for i in range(n):
        s += u[i] * u[i]
    return s


def heat_numpy(u: Any, k: Any, m: int) -> Any:
    for _ in range(m):
        v = u.copy()
        v[1:-1] = u[1:-1] + k * (u[:-2] - 2 * u[1:-1] + u[2:]) * (1 + u[1:-1] ** 2)
        u = v
    return (u * u).sum()


def test_heat_equation_keeps_one_field_per_step():
    n, m, k = 50, 200, 0.1
    u, v = np.sin(np.linspace(0, 3, n)), np.zeros(n)
    df = ad.reverse(heat, ad.Duplicated, ad.Duplicated, ad.Active, ad.Const)
    du = np.zeros(n)
    _, of_k = df(u.copy(), du, v.copy(), np.zeros(n), k, m, 1.0)
    for j in range(0, n, 7):
        moved = u.astype(complex)
        moved[j] += 1e-30j
        assert du[j] == pytest.approx(heat_numpy(moved, k, m).imag / 1e-30, rel=1e-9)
    expected = heat_numpy(u.astype(complex), k + 1e-30j, m).imag / 1e-30
    assert of_k == pytest.approx(expected, rel=1e-9)
    example = (u, du, v, np.zeros(n), k, m, 1.0)
    assert ad.explain(df, example).bytes == 8 * n * m


@ad.kernel
def product(a, x, y):
    i = gpu.grid(1)
    if i < a.shape[0]:
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = s * s


@ad.kernel
def scale(a, x):
    i, j = gpu.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        a[i, j] = a[i, j] * (1.0 + 0.1 * x[i])


@ad.jit
def products(a, x, y, m):
    k = 0
    while k < m:
        product[2, 3](a, x, y)
        scale[(2, 2), (3, 3)](a, y)
        product[2, 3](a.T, y, x)
        k += 1
    return x[0] * y[1]


def products_in_python(a, x, y, m):
    for _ in range(m):
        y[:] = (a @ x) ** 2
        a *= 1.0 + 0.1 * y[:, None]
        x[:] = (a.T @ y) ** 2
    return x[0] * y[1]


@pytest.mark.parametrize("m", [0, 1, 2])
def test_matrices_that_change_between_products(m: int):
    rng = np.random.default_rng(0)
    a, x, y = rng.random((5, 5)) * 0.3, rng.random(5), np.zeros(5)
    check(products_in_python, a, x, y, m, compiled=products, rtol=1e-6)
    check(products_in_python, np.asfortranarray(a), x[::-1], y, m, compiled=products, rtol=1e-6)


@ad.jit
def windows(a, m):
    for k in range(m):
        step[1, 8](a[k], a[k + 1], 0.3)
        step[1, 8](a[k + 1, ::-1], a[k, ::-1], 0.2)
    return a[0, 2] * a[m, 3]


def windows_in_python(a, m):
    def one(u, v, k):
        new = u.copy()
        new[1:-1] = u[1:-1] + k * (u[:-2] - 2 * u[1:-1] + u[2:]) * (1 + u[1:-1] ** 2)
        v[:] = new

    for k in range(m):
        one(a[k], a[k + 1], 0.3)
        one(a[k + 1, ::-1], a[k, ::-1], 0.2)
    return a[0, 2] * a[m, 3]


def test_windows_are_copied_too():
    a = np.random.default_rng(0).random((4, 6))
    check(windows_in_python, a, 3, compiled=windows)
