"""`for` over arrays, tuples, ranges, `enumerate`, `zip` and `reversed`: values and derivatives."""

from typing import Any

import numpy as np
import pytest

import mlirad as ad
from tests.differences import check

RNG = np.random.default_rng(0)
A = RNG.random((4, 5)) + 0.5
X, Y = RNG.random(6) + 0.5, RNG.random(6) + 0.5


def enumerated(x):
    s = 0.0
    for i, v in enumerate(x):
        s += v**i
    for i, v in enumerate(x[1:4], 2):
        s += v * i
    for i, v in enumerate(x, start=-1):
        s += v * i * i
    return s


def zipped_and_reversed(x, y, a):
    s = 0.0
    for u, v in zip(x, y[:4], strict=False):
        s += u * v
    for k, (r, u) in enumerate(zip(a, x, strict=False)):
        r[k] = u * r[0]
        s += r[1]
    for v in reversed(x):
        s = s * 0.5 + v
    for i in reversed(range(1, 6, 2)):
        s = s * 0.7 + x[i]
    for i, v in reversed(((1, 2.5), (3, 0.5))):
        s += x[i] * v
    return s


def tuples(x, y, n):
    s = 0.0
    for c in (1.0, x[0], 2.5):
        s = s * c + c
    for array in (x, y, x[::2]):
        s += array[1] * array[2]
        array[1] *= 1.1
    t = (x, y)
    for k in range(n):
        s += t[k % 2][k]
        t[-(k % 2) - 1][0] *= 2.0
    return s


def ranges(x, n):
    r = range(n, -n, -2)
    s = 0.0
    for i in r:
        s += x[i] * i
    s += len(r) * x[0] + r.start * x[1] + len(range(3, -3))
    for i in reversed(r):
        s += x[i] * s
    return s


def zipped_tuples(x, n):
    a, b, i = 1.0, 0.5, 0
    for i, (a, b) in enumerate(zip(x, x[2:n], strict=False)):
        if a > 1.2:
            break
    else:
        b *= 2.0
    return a * b + i


def chosen_by_expression(x, y, b):
    z = x if b > 0 else y[1:]
    z[0] = z[1] * z[0]
    return (x if b > 1 else z)[0] * y[1]


CASES: dict[str, tuple[Any, ...]] = {
    "enumerate": (enumerated, X),
    "zip and reversed": (zipped_and_reversed, X, Y, A),
    "tuples": (tuples, X, Y, 3),
    "ranges": (ranges, X, 4),
    "empty ranges": (ranges, X, 0),
    "break": (zipped_tuples, X, 6),
    "nothing to zip": (zipped_tuples, X, 0),
    "conditional expression 0": (chosen_by_expression, X, Y, 0),
    "conditional expression 1": (chosen_by_expression, X, Y, 1),
    "conditional expression 2": (chosen_by_expression, X, Y, 2),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_iterables(case: tuple[Any, ...]):
    check(*case)


def mixed_tuple(x):
    s = 0.0
    for c in (1, x[0]):
        s += c
    return s


def test_a_tuple_of_several_types_is_no_iterable():
    with pytest.raises(ad.errors.TypingError, match="no single element type"):
        ad.jit(mixed_tuple)(X)
