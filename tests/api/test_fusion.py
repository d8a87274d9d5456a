"""Which accumulations are atomic, and which sweeps share a kernel: counted, with derivatives."""

from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu


@ad.kernel
def scaled(x, y, c):
    i = gpu.grid(1)
    if i < x.shape[0]:
        y[i] = x[i] * x[i] * c[0]


@ad.kernel
def stencil(x, y, c):
    i = gpu.grid(1)
    if 0 < i < x.shape[0] - 1:
        y[i] = x[i - 1] * x[i + 1] * c[0]


@ad.kernel
def every_second(x, y, c):
    i = gpu.grid(1)
    if 2 * i + 1 < x.shape[0]:
        y[2 * i + 1] = x[2 * i + 1] ** 2 * c[0]


@ad.kernel
def mirrored(x, y, c):
    i = gpu.grid(1)
    n = x.shape[0]
    if i < n:
        y[n - 1 - i] = x[n - 1 - i] ** 2 * c[0]


@ad.kernel
def in_pairs(x, y, c):
    i = gpu.grid(1)
    if i < x.shape[0]:
        y[i] = x[i // 2] * x[i] * c[0]


@ad.kernel
def strided(x, y, c):
    for i in range(gpu.grid(1), x.shape[0], gpu.gridsize(1)):
        y[i] = x[i] ** 3 * c[0]


@ad.kernel
def in_place(x, y, c):
    i = gpu.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]
        y[i] = x[i] * c[0]


@ad.kernel
def to_the_left(x, y, c):
    """Threads race: each reads what the next one has not yet written."""
    i = gpu.grid(1)
    if i < x.shape[0] - 1:
        x[i] = x[i] * x[i + 1] * c[0]


def to_the_left_in_python(x, y, c):
    for i in range(len(x) - 1):
        x[i] = x[i] * x[i + 1] * c[0]


def as_python(kernel: Any):
    formulas = {
        "scaled": lambda x, i, n: x[i] ** 2,
        "stencil": lambda x, i, n: x[i - 1] * x[i + 1] if 0 < i < n - 1 else 0.0,
        "every_second": lambda x, i, n: x[i] ** 2 if i % 2 else 0.0,
        "mirrored": lambda x, i, n: x[i] ** 2,
        "in_pairs": lambda x, i, n: x[i // 2] * x[i],
        "strided": lambda x, i, n: x[i] ** 3,
    }

    def run(x: Any, y: Any, c: Any):
        n = len(x)
        if kernel.name == "in_place":
            x[:] = x * x
            y[:] = x * c[0]
        elif kernel.name == "to_the_left":
            to_the_left_in_python(x, y, c)
        else:
            y[:] = [formulas[kernel.name](x, i, n) * c[0] for i in range(n)]

    return run


CASES = {  # kernel, atomics (additions, and exchanges for takes), launches
    "scaled": (scaled, 1, 1),
    "stencil": (stencil, 3, 1),
    "every second": (every_second, 1, 1),
    "mirrored": (mirrored, 3, 2),
    "in pairs": (in_pairs, 3, 1),
    "grid stride": (strided, 3, 2),
    "in place": (in_place, 1, 1),
    "racing": (to_the_left, 4, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_atomics_and_launches(name: str):
    kernel, atomics, launches = CASES[name]
    n = 9
    rng = np.random.default_rng(0)
    x, c = rng.random(n) + 0.5, np.array([1.5])
    seeds = rng.normal(size=n), rng.normal(size=n)
    run = as_python(kernel)

    def objective(x: Any, c: Any) -> Any:
        x, y = x.copy(), np.zeros(n, x.dtype)
        run(x, y, c)
        return seeds[0] @ x + seeds[1] @ y

    expected = np.zeros(n)
    for k in range(n):
        moved = x.astype(complex)
        moved[k] += 1e-30j
        expected[k] = objective(moved, c.astype(complex)).imag / 1e-30
    of_c = objective(x.astype(complex), c + 1e-30j).imag / 1e-30

    derivative = ad.reverse(kernel, ad.Duplicated, ad.Duplicated, ad.Duplicated)
    dx, dy, dc = seeds[0].copy(), seeds[1].copy(), np.zeros(1)
    derivative[3, 4](x.copy(), dx, np.zeros(n), dy, c, dc)
    np.testing.assert_allclose(dx, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(dc, of_c, rtol=1e-12)
    text = derivative.inspect_mlir("lowered")
    assert text.count("memref.atomic_rmw") == atomics
    assert text.count('"gpu.launch_func"') == launches


def test_a_kernel_of_one_axis_on_a_plane_of_threads_needs_atomics():
    derivative = ad.reverse(scaled, ad.Duplicated, ad.Duplicated, ad.Const)
    x, dx, dy = np.arange(1.0, 4.0), np.zeros(3), np.ones(3)
    derivative[1, (3, 2)](x, dx, np.zeros(3), dy, np.ones(1))
    # Both threads of a column store the same; only one of them takes the shadow.
    np.testing.assert_array_equal(dx, 2 * x)
    assert "memref.atomic_rmw" in derivative.inspect_mlir("lowered")


@ad.jit
def program(x, y, c, n):
    for _ in range(n):
        scaled[2, 8](x, y, c)
        in_place[2, 8](y, x, c)
    return x[0] * y[1]


def test_launches_with_constant_sizes_and_loops():
    x, y, c = np.array([0.9, 1.1, 0.7]), np.zeros(3), np.array([1.1])

    def plain(x: Any, c: Any) -> Any:
        y = np.zeros(3, x.dtype)
        for _ in range(2):
            y = x * x * c[0]
            y = y * y
            x = y * c[0]
        return x[0] * y[1]

    gradient = ad.grad(program, wrt=(0, 2))(x, y, c, 2)
    for k in range(3):
        moved = x.astype(complex)
        moved[k] += 1e-30j
        assert gradient[0][k] == pytest.approx(plain(moved, c).imag / 1e-30, rel=1e-12)
    assert gradient[1][0] == pytest.approx(plain(x, c + 1e-30j).imag / 1e-30, rel=1e-12)
