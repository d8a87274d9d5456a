"""Kernels whose threads race: on one worker they have the derivative of the order they run in."""

import numpy as np

import mlirad as ad
from mlirad import gpu


@ad.kernel
def last_wins(x, s):
    i = gpu.grid(1)
    if i < x.shape[0]:
        s[0] = x[i] * x[i]


@ad.kernel
def chained(x):
    i = gpu.grid(1)
    if 0 < i < x.shape[0]:
        x[i] = x[i] * x[i - 1]


def test_the_last_writer_gets_the_cotangent():
    x, s = np.array([1.0, 2.0, 3.0]), np.zeros(1)
    dx, ds = np.zeros(3), np.ones(1)
    ad.autodiff(ad.Reverse, last_wins[2, 2], ad.Duplicated(x, dx), ad.Duplicated(s, ds))
    assert s[0] == 9.0
    np.testing.assert_array_equal(dx, [0.0, 0.0, 6.0])


def test_a_chain_through_neighbouring_threads_runs_backwards():
    x, dx = np.array([2.0, 3.0, 5.0, 7.0]), np.array([0.0, 0.0, 0.0, 1.0])
    ad.autodiff(ad.Reverse, chained[2, 2], ad.Duplicated(x, dx))
    assert x[3] == 210.0
    np.testing.assert_array_equal(dx, [105.0, 70.0, 42.0, 30.0])


@ad.kernel
def squares(x, y):
    i = gpu.grid(1)
    if i < x.shape[0]:
        y[i] = x[i] * x[i]


@ad.jit
def squares_then_chain(x, y, z):
    squares[2, 2](x, y)
    chained[2, 2](z)


def test_a_chain_runs_backwards_beside_the_sweep_of_another_launch():
    x, y, z = np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4), np.array([2.0, 3.0, 5.0, 7.0])
    dx, dy, dz = np.zeros(4), np.ones(4), np.array([0.0, 0.0, 0.0, 1.0])
    duplicated = ad.Duplicated
    ad.autodiff(
        ad.Reverse, squares_then_chain, duplicated(x, dx), duplicated(y, dy), duplicated(z, dz)
    )
    np.testing.assert_array_equal(dz, [105.0, 70.0, 42.0, 30.0])
    np.testing.assert_array_equal(dx, 2 * x)


@ad.kernel
def extremes(x, y):
    i = gpu.grid(1)
    if i < len(x):
        gpu.atomic.max(y, i % 2, x[i] * x[i])
        gpu.atomic.min(y, 2, x[i])


def test_atomic_extremes_have_one_winner_each_ties_keep_the_first():
    x = np.array([1.0, 3.0, 2.0, -1.0, -2.0, 0.5])  # |2| and |-2| tie among even positions
    y, dx, dy = np.array([0.0, 100.0, 0.0]), np.zeros(6), np.array([1.0, 10.0, 100.0])
    ad.autodiff(ad.Reverse, extremes[2, 3], ad.Duplicated(x, dx), ad.Duplicated(y, dy))
    np.testing.assert_array_equal(y, [4.0, 100.0, -2.0])
    np.testing.assert_array_equal(dx, [0.0, 0.0, 4.0, 0.0, 100.0, 0.0])
    np.testing.assert_array_equal(dy, [0.0, 10.0, 0.0])
    tangent = np.zeros(3)
    direction = np.arange(1.0, 7.0)
    start = np.array([0.0, 100.0, 0.0])
    ad.autodiff(ad.Forward, extremes[2, 3], ad.Dual(x, direction), ad.Dual(start, tangent))
    np.testing.assert_array_equal(tangent, [12.0, 0.0, 5.0])
