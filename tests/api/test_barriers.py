"""Kernels whose threads share memory and wait for each other: values and both modes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu

WIDTHS = (1, 2, 7, 8, 32, 64)
TILE = 4


@ad.kernel
def block_sums(x, y):
    part = gpu.shared.array(64, np.float64)
    t = gpu.threadIdx.x
    i = gpu.grid(1)
    part[t] = x[i] * x[i] if i < x.shape[0] else 0.0
    gpu.syncthreads()
    step = 1
    while step < gpu.blockDim.x:
        if t % (2 * step) == 0 and t + step < gpu.blockDim.x:
            part[t] += part[t + step] * (1.0 + 0.1 * part[t])
        gpu.syncthreads()
        step *= 2
    if t == 0:
        gpu.atomic.add(y, 0, part[0])


def block_sums_numpy(width: int, x: Any, y: Any):
    for start in range(0, len(x), width):
        part = np.zeros(width, x.dtype)
        own = x[start : start + width]
        part[: len(own)] = own * own
        step = 1
        while step < width:
            old = part.copy()
            for t in range(0, width, 2 * step):
                if t + step < width:
                    part[t] = old[t] + old[t + step] * (1.0 + 0.1 * old[t])
            step *= 2
        y[0] += part[0]


@ad.kernel
def softmax(x, y):
    part = gpu.shared.array(64, np.float64)
    t = gpu.threadIdx.x
    width = gpu.blockDim.x
    i = gpu.grid(1)
    inside = i < x.shape[0]
    e = math.exp(x[i]) if inside else 0.0
    part[t] = e
    gpu.syncthreads()
    total = 0.0
    for k in range(width):
        total += part[k]
    gpu.syncthreads()
    part[t] = e / total
    gpu.syncthreads()
    if inside:
        y[i] = part[t] * part[width - 1 - t] + e / total


def softmax_numpy(width: int, x: Any, y: Any):
    for start in range(0, len(x), width):
        e = np.zeros(width, x.dtype)
        own = np.exp(x[start : start + width])
        e[: len(own)] = own
        p = e / e.sum()
        y[start : start + width] = (p * p[::-1] + p)[: len(own)]


@ad.kernel
def product_scan(x, y):
    a = gpu.shared.array(64, np.float64)
    b = gpu.shared.array(64, np.float64)
    t = gpu.threadIdx.x
    i = gpu.grid(1)
    source, target = a, b
    source[t] = x[i] if i < x.shape[0] else 1.0
    gpu.syncthreads()
    step = 1
    while step < gpu.blockDim.x:
        target[t] = source[t] * source[t - step] if t >= step else source[t]
        gpu.syncthreads()
        source, target = target, source
        step *= 2
    if i < x.shape[0]:
        y[i] = source[t]


def product_scan_numpy(width: int, x: Any, y: Any):
    for start in range(0, len(x), width):
        y[start : start + width] = np.cumprod(x[start : start + width])


@ad.kernel
def bitonic_sort(x, y):
    s = gpu.shared.array(64, np.float64)
    t = gpu.threadIdx.x
    i = gpu.grid(1)
    s[t] = x[i] if i < x.shape[0] else 1e30
    gpu.syncthreads()
    k = 2
    while k <= gpu.blockDim.x:
        j = k // 2
        while j > 0:
            other = t ^ j
            if other > t:
                up = (t & k) == 0
                if (s[t] > s[other]) == up:
                    kept = s[t]
                    s[t] = s[other]
                    s[other] = kept
            gpu.syncthreads()
            j //= 2
        k *= 2
    if i < x.shape[0]:
        y[i] = s[t] * s[t] * (t + 1)


def bitonic_sort_numpy(width: int, x: Any, y: Any):
    for start in range(0, len(x), width):
        own = x[start : start + width]
        own = own[np.argsort(own.real)]
        y[start : start + width] = own * own * np.arange(1, len(own) + 1)


@ad.kernel
def smoothed(x, y):
    row = gpu.shared.array(64, np.float64)
    w = gpu.local.array(3, np.float64)
    t = gpu.threadIdx.x
    n = gpu.blockDim.x
    i = gpu.grid(1)
    own = x[i] if i < x.shape[0] else 0.0
    row[t] = own
    for k in range(3):
        w[k] = own * (k + 1)
    for k in range(3):
        gpu.syncthreads()
        left = row[(t + n - 1) % n]
        right = row[(t + 1) % n]
        w[k] = w[k] * left + 0.5 * right
        gpu.syncthreads()
        row[t] = row[t] * 0.5 + w[k] * w[0]
    if i < x.shape[0]:
        y[i] = row[t] + w[2]


def smoothed_numpy(width: int, x: Any, y: Any):
    for start in range(0, len(x), width):
        own = np.zeros(width, x.dtype)
        count = len(x[start : start + width])
        own[:count] = x[start : start + width]
        row, w = own.copy(), [own * (k + 1) for k in range(3)]
        for k in range(3):
            left, right = np.roll(row, 1), np.roll(row, -1)
            w[k] = w[k] * left + 0.5 * right
            row = row * 0.5 + w[k] * w[0]
        y[start : start + width] = (row + w[2])[:count]


KERNELS: dict[str, tuple[Any, Callable[[int, Any, Any], None]]] = {
    "sums": (block_sums, block_sums_numpy),
    "softmax": (softmax, softmax_numpy),
    "product scan": (product_scan, product_scan_numpy),
    "bitonic sort": (bitonic_sort, bitonic_sort_numpy),
    "smoothed": (smoothed, smoothed_numpy),
}


def jacobian(reference: Callable[[int, Any, Any], None], width: int, x: Any) -> Any:
    """By complex step."""
    columns: list[Any] = []
    for k in range(len(x)):
        moved, y = x.astype(complex), np.zeros(len(x), complex)
        moved[k] += 1e-30j
        reference(width, moved, y)
        columns.append(y.imag / 1e-30)
    return np.array(columns).T


SIZES = [(name, n) for name in KERNELS for n in WIDTHS if (name, n) != ("bitonic sort", 7)]


@pytest.mark.parametrize(("name", "width"), SIZES)
def test_block_algorithms_agree_with_complex_step(name: str, width: int):
    kernel, reference = KERNELS[name]
    rng = np.random.default_rng(width)
    x = rng.random(2 * width + max(1, width // 3)) + 0.5
    grid = 3
    expected, y = np.zeros(len(x)), np.zeros(len(x))
    reference(width, x.copy(), expected)
    kernel[grid, width](x.copy(), y)
    np.testing.assert_allclose(y, expected, rtol=1e-12)

    matrix = jacobian(reference, width, x)
    seed, direction = rng.normal(size=len(x)), rng.normal(size=len(x))
    dx, dy = np.zeros(len(x)), seed.copy()
    ad.autodiff(
        ad.Reverse,
        kernel[grid, width],
        ad.Duplicated(x.copy(), dx),
        ad.Duplicated(np.zeros(len(x)), dy),
    )
    np.testing.assert_allclose(dx, seed @ matrix, rtol=1e-10, atol=1e-12)
    tangent = np.zeros(len(x))
    ad.autodiff(
        ad.Forward,
        kernel[grid, width],
        ad.Dual(x.copy(), direction),
        ad.Dual(np.zeros(len(x)), tangent),
    )
    np.testing.assert_allclose(tangent, matrix @ direction, rtol=1e-10, atol=1e-12)


@ad.kernel
def tiled_product(a, b, c):
    left = gpu.shared.array((TILE, TILE), np.float64)
    right = gpu.shared.array((TILE, TILE), np.float64)
    i, j = gpu.grid(2)
    ti = gpu.threadIdx.x
    tj = gpu.threadIdx.y
    n = a.shape[1]
    total = 0.0
    for tile in range((n + TILE - 1) // TILE):
        k = tile * TILE
        left[ti, tj] = a[i, k + tj] if i < a.shape[0] and k + tj < n else 0.0
        right[ti, tj] = b[k + ti, j] if k + ti < n and j < b.shape[1] else 0.0
        gpu.syncthreads()
        for m in range(TILE):
            total += left[ti, m] * right[m, tj]
        gpu.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


def test_tiled_matrix_product():
    rng = np.random.default_rng(0)
    a, b, seed = rng.random((6, 9)), rng.random((9, 7)), rng.random((6, 7))
    c, da, db, dc = np.zeros((6, 7)), np.zeros((6, 9)), np.zeros((9, 7)), seed.copy()
    ad.autodiff(
        ad.Reverse,
        tiled_product[(2, 2), (TILE, TILE)],
        *(ad.Duplicated(x, dx) for x, dx in ((a, da), (b, db), (c, dc))),
    )
    np.testing.assert_allclose(c, a @ b, rtol=1e-13)
    np.testing.assert_allclose(da, seed @ b.T, rtol=1e-13)
    np.testing.assert_allclose(db, a.T @ seed, rtol=1e-13)
    np.testing.assert_array_equal(dc, 0.0)


@ad.kernel
def histogram(x, y):
    bins = gpu.shared.array(4, np.float64)
    t = gpu.threadIdx.x
    if t < 4:
        bins[t] = 0.0
    gpu.syncthreads()
    i = gpu.grid(1)
    if i < len(x):
        gpu.atomic.add(bins, int(x[i] * 4.0), x[i] * x[i])
        gpu.atomic.sub(bins, 0, 0.5 * x[i])
    gpu.syncthreads()
    if t < 4:
        gpu.atomic.add(y, t, bins[t] * bins[t])


def test_histogram_in_shared_memory():
    rng = np.random.default_rng(0)
    x, seed = rng.random(20) * 0.9 + 0.05, rng.random(4)
    y, expected, dx = np.zeros(4), np.zeros(4), np.zeros(20)
    gradient = np.zeros(20)
    for start in range(0, 20, 8):
        own = x[start : start + 8]
        bins, place = np.zeros(4), (own * 4.0).astype(int)
        np.add.at(bins, place, own * own)
        bins[0] -= 0.5 * own.sum()
        expected += bins * bins
        weight = 2.0 * seed * bins
        gradient[start : start + 8] = weight[place] * 2.0 * own - 0.5 * weight[0]
    ad.autodiff(ad.Reverse, histogram[3, 8], ad.Duplicated(x, dx), ad.Duplicated(y, seed.copy()))
    np.testing.assert_allclose(y, expected, rtol=1e-13)
    np.testing.assert_allclose(dx, gradient, rtol=1e-12)


@ad.kernel
def counted_by_each_thread(x, y, n):
    s = gpu.shared.array(8, np.float64)
    t = gpu.threadIdx.x
    shift = 0
    for k in range(n):
        shift += shift * k + 1
    s[t] = x[t] * x[t]
    gpu.syncthreads()
    y[t] = s[(t + shift) % 8] * shift
    rounds = 1
    if n > 1:
        y[t] += s[7 - t]
        rounds = n - 1
    for _ in range(rounds):
        gpu.syncthreads()
        s[t] = s[t] * y[t]
    gpu.syncthreads()
    y[t] += s[(t + 1) % 8]


def counted_numpy(x: Any, n: int) -> Any:
    shift = 0
    for k in range(n):
        shift += shift * k + 1
    s = x * x
    y = np.roll(s, -shift) * shift
    if n > 1:
        y += s[::-1]
    return y + np.roll(s * y ** (n - 1 if n > 1 else 1), -1)


@pytest.mark.parametrize("n", range(4))
def test_loops_without_barriers_may_decide_about_barriers(n: int):
    rng = np.random.default_rng(n)
    x, seed, y, dx = rng.random(8) + 0.5, rng.normal(size=8), np.zeros(8), np.zeros(8)
    kinds = ad.Duplicated, ad.Duplicated, ad.Const
    ad.reverse(counted_by_each_thread, *kinds)[1, 8](x, dx, y, seed.copy(), n)
    np.testing.assert_allclose(y, counted_numpy(x, n), rtol=1e-13)
    steps = x + 1e-30j * np.eye(8)
    expected = [seed @ counted_numpy(step, n).imag / 1e-30 for step in steps]
    np.testing.assert_allclose(dx, expected, rtol=1e-12, atol=1e-14)


@ad.kernel
def rounds_from_memory(x, n):
    s = gpu.shared.array(8, np.float64)
    t = gpu.threadIdx.x
    s[t] = x[t]
    for k in range(n[0]):
        gpu.syncthreads()
        if k % 2 == 1:
            v = s[(t + k) % 8]
            gpu.syncthreads()
            s[t] = v * x[t]
    gpu.syncthreads()
    x[t] = s[7 - t]


def test_counters_up_to_a_loaded_bound_decide_about_barriers():
    x, seed, n = np.linspace(0.5, 1.5, 8), np.arange(8.0), np.array([4])
    moved = np.roll(x, -1) * x
    moved = np.roll(moved, -3) * x
    expected, dx = moved[::-1], seed.copy()
    y = x.copy()
    ad.autodiff(ad.Reverse, rounds_from_memory[1, 8], ad.Duplicated(y, dx), ad.Const(n))
    np.testing.assert_allclose(y, expected, rtol=1e-14)
    s = seed[::-1]
    gradient = s * np.roll(x, -4) * np.roll(x, -3)
    gradient += np.roll(s * x * np.roll(x, -3), 4) + np.roll(s * x * np.roll(x, -4), 3)
    np.testing.assert_allclose(dx, gradient, rtol=1e-13)


@ad.kernel
def barrier_in_branch(x):
    i = gpu.grid(1)
    if i < x.shape[0]:
        x[i] = 1.0
        gpu.syncthreads()


@ad.kernel
def barrier_after_return(x):
    i = gpu.grid(1)
    if i >= x.shape[0]:
        return
    gpu.syncthreads()
    x[i] = 1.0


@ad.kernel
def unknown_size(x):
    s = gpu.shared.array(0, np.float64)
    x[0] = s[0]


@pytest.mark.parametrize("kernel", [barrier_in_branch, barrier_after_return])
def test_a_barrier_that_not_all_threads_reach_is_refused_with_its_line(kernel: Any):
    x = np.zeros(3)
    with pytest.raises(ad.errors.UnsupportedError, match="depends on the id") as caught:
        kernel[1, 4](x)
    assert "gpu.syncthreads()" in str(caught.value)
    np.testing.assert_array_equal(x, 0.0)


def test_shared_memory_of_unknown_size_is_refused_by_name():
    with pytest.raises(ad.errors.UnsupportedError, match="whose size the launch decides"):
        unknown_size[1, 1](np.zeros(1))
