"""Compiled control flow does what Python does: values of functions run both ways."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.compiled import call


def falling_range(n):
    s = 0
    i = -100
    for i in range(n, -3, -2):
        if i == 2:
            continue
        s += i
    return s * 10 + i


def run_time_step(first, last, step):
    total = 0
    k = 7
    for k in range(first, last, step):
        total = total * 3 + k
    return total * 100 + k


def for_else(x, n):
    for i in range(n):
        if x[i] > 2.0:
            return x[i]
        if x[i] < -1.0:
            break
    else:
        return 100.0
    return -1.0


def early_returns(x):
    if x > 0.0:
        if x > 5.0:
            return 1.0
        y = x * 2.0
    else:
        y = -x
    if y > 3.0:
        return y
    elif y > 2.0:
        z = y + 1.0
    else:
        return 0.5
    return z + y


def fibonacci(n):
    a, b = 0, 1
    k = 0
    while True:
        a, b = b, a + b
        k += 1
        if a > n:
            break
        if k == 4:
            continue
        if k > 20:
            return -1
    return a * 100 + k


def nested_breaks(x, n):
    t = 0.0
    k = 0
    for i in range(n):
        j = i
        for j in range(i, n):
            if i == j:
                continue
            if j > i + 2:
                break
            t += x[i] * x[-j - 1]
        k = i + j
    return t + k


def while_else(n):
    i = 5
    while i > 0:
        for j in range(n):
            if j == i:
                return j * 100
            if j > 7:
                break
        else:
            i -= 1
            continue
        i -= 2
    return i


def guarded_while(x):
    n = 0
    while n < x.shape[0] and x[n] > 0.0:
        n += 1
    return n


def carried_from_the_last_iteration(x, n):
    p = 0.0
    for i in range(n):
        if i > 0:
            p = previous * 0.5 + x[i]  # noqa: F821 (assigned in the iteration before)
        previous = x[i] + p  # noqa: F841
    return p


def return_from_three_loops(a):
    t = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(2):
                if a[i, j] < 0.0:
                    return i * 10.0 + j
                t += a[i, j] * a.shape[k]
    return t


def widened_in_loop(n):
    t = 1
    for k in range(n):
        t = t * 0.5 + k
    return t


def nonzero_or(a, b, c):
    return (a and b) or c


def chained(x):
    y = 1 if x > 2.0 else x
    return y + (0.0 < x < 2.0 <= x + 1.0)


LADDER = np.arange(6.0) + 1.0

PROGRAMS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (falling_range, [(7,), (2,), (-9,)]),
    (run_time_step, [(0, 9, 2), (9, 0, -4), (0, 9, -1), (9, 0, 1), (-5, 5, 3)]),
    (for_else, [(np.array(v), len(v)) for v in ([0.0, 1, 3, -5], [0.0, -2, 3], [0.0, 1])]),
    (early_returns, [(x,) for x in (6.0, 1.2, 2.0, -1.0, -2.5, -4.0)]),
    (fibonacci, [(50,), (2,), (10**9,)]),
    (nested_breaks, [(LADDER, 6)]),
    (while_else, [(3,), (9,), (12,)]),
    (guarded_while, [(np.array([1.0, 1, -1]),), (np.ones(4),)]),
    (carried_from_the_last_iteration, [(LADDER, 5), (LADDER, 0)]),
    (return_from_three_loops, [(np.ones((2, 3)),), (np.array([[1.0, 2], [3, -4]]),)]),
    (widened_in_loop, [(3,), (0,)]),
    (nonzero_or, [(1, 2, 3), (0, 2, 3), (1, 0, 3)]),
    (chained, [(1.0,), (3.0,), (0.0,), (1.5,)]),
]


@pytest.mark.parametrize(("function", "calls"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_compiled_does_what_python_does(
    function: Callable[..., Any], calls: list[tuple[Any, ...]]
) -> None:
    for args in calls:
        expected, got = copy.deepcopy(args), copy.deepcopy(args)
        assert call(function, *got) == pytest.approx(function(*expected), rel=1e-14)
        np.testing.assert_equal(got, expected)


def test_zero_step_at_run_time_means_no_iteration() -> None:
    assert call(run_time_step, 0, 9, 0) == 7
