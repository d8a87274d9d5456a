"""Windows, transposes and arrays of a function's own: values and derivatives in both modes."""

import math
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu
from tests.differences import check

RNG = np.random.default_rng(0)
A = RNG.random((4, 5)) + 0.5
X, Y = RNG.random(6) + 0.5, RNG.random(6) + 0.5


def rows(a):
    s = 0.0
    for i in range(a.shape[0]):
        row = a[i]
        for j in range(len(row)):
            s += row[j] ** 2 * (j + 1)
            row[j] = math.sin(row[j])
        s += row[-1]
    return s


def slices(a, x):
    b = a[1:4:2, ::-1]
    c = x[-1:-6:-2]
    s = 0.0
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            s += b[i, j] ** 2 * (i + 2 * j)
            b[i, j] *= c[j % len(c)]
    a[:, 2] = x[1]
    a[0] = x[1:6]
    a[1, 1:3] += x[2] * x[3]
    a[2:, 0] *= x[:2]
    x[:] = x[::-1]
    for v in range(4):
        s += a[v, v] * a[v, -1] * x[v]
    return s


def transposes(a):
    t = a.T
    s = 0.0
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            s += t[i, j] ** 2 * (i * 3 + j)
    u = t[1:3]
    u[0, 1] = s * u[1, 2]
    return s * a[1, 1] + a[1, 2] * a[2, 2] + a.transpose()[4, 3]


def swapped_in_a_loop(x, y, n):
    for k in range(n):
        for i in range(1, len(x) - 1):
            y[i] = x[i] * x[i - 1] + 0.1 * x[i + 1]
        x, y = y, x
    return x[2] + y[3]


def chosen_by_conditions(x, y, n):
    r = x if n > 2 else y
    if n % 2:
        z = x[1:4]
    else:
        z = y[2:5]
    for i in range(3):
        z[i] = z[i] * r[i]
    return z[0] * z[1] + x[2] * y[2]


def own_arrays(x):
    w = np.zeros(len(x))
    v = np.empty((2, 3))
    o = np.ones_like(x)
    f = np.full((2, 2), x[1])
    for i in range(len(x)):
        w[i] = x[i] ** 2
        v[i % 2, i % 3] = w[i] * x[0]
        o[i] *= x[i]
    t = w.copy()
    w[2] = 5.0
    return t[2] * w[2] + v[1, 1] * o[3] * f[0, 1]


def swapped_windows_in_while(x, y):
    k = 0
    a = x
    b = y[::2]
    while a[1] < 30.0 and k < 7:
        for i in range(3):
            b[i] = a[i] * 1.3 + b[i] * a[2 - i]
        a, b = b, a
        k += 1
    return a[0] * b[1]


def overlapping_assignments(x):
    x[1:] = x[:-1]
    x[0] = x[3] * x[2]
    z = x[2:4]
    z += z
    return x[1] * x[2] + x[3]


def row_after_the_loop(a, n):
    r = a[0]
    for i in range(n):
        r = a[i]
        r[1] *= r[0]
    return r[1] * r[2]


def zero_dimensions_and_sizes(x):
    z = np.zeros(())
    z[()] = x[1] * x[2]
    z[...] += 1.0
    q = x[3:3]
    q[:] = 7.0
    return z[()] * x[1] + len(q)


def windows_and_break(a, n):
    r = a[0]
    c = a[:, 1]
    for i in range(10):
        if i >= n:
            break
        if a[i, 1] > 1.2:
            continue
        r = a[i]
        c = c[1:] if len(c) > 2 else c
        r[0] = c[0] * r[0]
    return r[0] * c[1]


def rows_of_different_owners(a, x, n):
    r = x[1:4]
    s = 0.0
    for k in range(n):
        r[0] *= r[1]
        s += r[2] * r[0]
        if k % 2 == 0:
            r = a[k, ::2]
        else:
            r = a[:3, k]
    return s * r[0]


CASES: dict[str, tuple[Any, ...]] = {
    "rows": (rows, A),
    "rows in Fortran order": (rows, np.asfortranarray(A)),
    "slices": (slices, A, X),
    "slices in Fortran order": (slices, np.asfortranarray(A), X),
    "transposes": (transposes, A),
    "swapped in a loop": (swapped_in_a_loop, X, Y, 3),
    "swapped in a loop that does not run": (swapped_in_a_loop, X, Y, 0),
    "chosen by conditions, first": (chosen_by_conditions, X, Y, 3),
    "chosen by conditions, second": (chosen_by_conditions, X, Y, 2),
    "own arrays": (own_arrays, X),
    "swapped windows in while": (swapped_windows_in_while, X, Y),
    "overlapping assignments": (overlapping_assignments, X),
    "row after the loop": (row_after_the_loop, A, 3),
    "row after a loop that does not run": (row_after_the_loop, A, 0),
    "zero dimensions and sizes": (zero_dimensions_and_sizes, X),
    "windows and break": (windows_and_break, A, 4),
    "rows of different owners": (rows_of_different_owners, A, X, 3),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_windows(case: tuple[Any, ...]):
    check(*case)


def slice_sum(x, start, stop, step):
    part, total = x[start:stop:step], 0.0
    for i in range(len(part)):
        total += part[i] * (i + 1)
    return total


def test_slices_mean_what_python_means_for_all_small_bounds():
    compiled = ad.jit(slice_sum)
    x = np.arange(1.0, 6.0)
    for start in range(-7, 8):
        for stop in range(-7, 8):
            for step in (-3, -2, -1, 1, 2, 3):
                assert compiled(x, start, stop, step) == slice_sum(x, start, stop, step)


def dot(u, v):
    s = 0.0
    for i in range(len(u)):
        s += u[i] * v[i]
    return s


def scale(u, c):
    for i in range(len(u)):
        u[i] *= c


@ad.kernel
def local_kernel(a, x):
    i = gpu.grid(1)
    if i >= a.shape[0]:
        return
    w = gpu.local.array(5, np.float64)
    v = gpu.local.array((2, 3), dtype=np.float64)
    for j in range(5):
        w[j] = a[i, j] * x[j]
    p = w
    q = a[i]
    for _ in range(3):
        for j in range(5):
            q[j] = p[j] * q[4 - j] + 0.1
        p, q = q, p
    v[1, 2] = dot(w[1:4], a[i, 1:4])
    scale(a[i, ::2], v[1, 2])
    gpu.atomic.add(x, 5, dot(a[i], w))


@ad.jit
def local_program(a, x):
    local_kernel[2, 3](a, x)
    return x[5] * a[1, 2]


def local_program_in_python(a, x):
    for i in range(4):
        w = np.zeros(5)
        for j in range(5):
            w[j] = a[i, j] * x[j]
        p, q = w, a[i]
        for _ in range(3):
            for j in range(5):
                q[j] = p[j] * q[4 - j] + 0.1
            p, q = q, p
        scale(a[i, ::2], dot(w[1:4], a[i, 1:4]))
        x[5] += dot(a[i], w)
    return x[5] * a[1, 2]


def test_local_arrays_swapped_with_rows_of_an_argument():
    small = A * 0.5
    check(local_program_in_python, small, X * 0.5, compiled=local_program)


def swapped_and_cut(x, y):
    p, q = x, y
    for i in range(4):
        p, q = q, p
        p[i] = p[i] * q[i + 1]
        p = p[1:] if i == 2 else p
    return p[0] * q[1]


def test_swapped_arrays_of_which_one_becomes_a_window():
    check(swapped_and_cut, X, Y)


@ad.kernel
def row_kernel(row, x, column):
    i = gpu.grid(1)
    if i < len(row):
        row[i] = row[i] * x[i] + column[0]


@ad.jit
def launches_with_windows(a, x):
    for i in range(len(a)):
        row_kernel[1, 5](a[i], x[:-1], a[:, 0])
    return a[2, 3] * x[1]


def launches_in_python(a, x):
    for i in range(len(a)):
        for k in range(5):
            a[i, k] = a[i, k] * x[k] + a[0, 0]
    return a[2, 3] * x[1]


def test_windows_are_passed_to_kernels():
    check(launches_in_python, A, X, compiled=launches_with_windows)
