"""The modules that `lower` gives: locations, names, types of results as numba has them."""

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numba import cuda
from xdsl.dialects.builtin import FileLineColLoc

from mlirad.frontend.lower import lower, lower_function, result_type
from mlirad.frontend.source import unwrap
from mlirad.frontend.types import FLOAT64, INT64, Array, NoneType, Tuple
from tests.frontend.compiled import call, example_type


def smooth(x, y, n):
    for _ in range(n):
        for i in range(1, len(x) - 1):
            if x[i] > 0.0 and x[i - 1] > x[i]:
                y[i] = 0.5 * x[i] + 0.25 * (x[i - 1] + x[-i])


def test_every_op_of_a_kernel_has_its_line() -> None:
    array = Array(FLOAT64, 1)
    module = lower(smooth, [array, array, INT64], kernel=True)
    first = smooth.__code__.co_firstlineno
    lines: set[int] = set()

    for op in module.walk():
        if op is not module:
            assert isinstance(op.location, FileLineColLoc), op
            assert op.location.filename.data == __file__
            lines.add(op.location.line.data - first)
    assert lines >= {0, 1, 2, 3, 4}
    assert max(lines) == 4


def test_values_have_the_names_of_variables() -> None:
    text = str(lower(summed, [Array(FLOAT64, 1)], kernel=False))
    assert "func.func @summed(%x: memref<?xf64>) -> f64" in text
    assert "iter_args(%total" in text


def summed(x):
    total = 0.0
    for i in range(len(x)):
        term = x[i]
        total += term
    return total


def test_only_what_lives_on_is_carried_by_a_loop() -> None:
    text = str(lower(summed, [Array(FLOAT64, 1)], kernel=False))
    (loop,) = (line for line in text.splitlines() if "scf.for" in line)
    assert loop.endswith("-> (f64) {")


def hypot(x, y):
    return math.sqrt(x * x + y * y)


def calls_hypot(x):
    return hypot(x, 4.0)


def test_functions_named_like_libm_get_another_symbol() -> None:
    assert call(hypot, 3.0, 4.0) == 5.0
    assert call(calls_hypot, 3.0) == 5.0
    assert lower_function(hypot, [FLOAT64, FLOAT64], kernel=False).name == "hypot_1"


def test_result_types() -> None:
    def pair(x):
        return x, (1, x * 0.5)

    assert result_type(pair, [INT64]) == Tuple((INT64, Tuple((INT64, FLOAT64))))
    assert result_type(smooth, [Array(FLOAT64, 1)] * 2 + [INT64]) == NoneType()


def test_dispatchers_are_opened() -> None:
    assert unwrap(numba.njit(summed)) is summed
    assert unwrap(cuda.jit(smooth)) is smooth
    assert unwrap(3) is None


def int_then_float(n):
    x = 3
    y = x << n
    x = 0.5
    return y + x


def widened_argument(n):
    if n > 0:
        n = n * 0.5
    return n


def reassigned(n):
    n = n // 2
    m = n
    n = m > 1
    return m, n


def loop_variable(n, m):
    i = n
    for i in range(n, m):
        pass
    return i


def last_of(n):
    k = n
    for k in range(n):
        pass
    return k


def two_returns(x):
    if x > 2:
        return 1
    return x * 0.5


def int_or_bool(x):
    flag = False
    if x > 1:
        flag = 7
    return flag


def widened_twice(n):
    a = 0
    b = 0
    for _ in range(n):
        a = b
        b = b + 0.5
    return a, b


TYPED: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (int_then_float, (1,)),
    (widened_argument, (3,)),
    (widened_argument, (-3,)),
    (reassigned, (9,)),
    (loop_variable, (np.int32(1), np.int32(4))),
    (loop_variable, (np.int32(1), 4)),
    (loop_variable, (np.int32(5), np.int32(4))),
    (last_of, (np.int8(3),)),
    (last_of, (np.uint64(3),)),
    (two_returns, (5,)),
    (two_returns, (1,)),
    (int_or_bool, (5,)),
    (int_or_bool, (1,)),
    (widened_twice, (3,)),
]


@pytest.mark.parametrize(("function", "args"), TYPED, ids=lambda p: getattr(p, "__name__", ""))
def test_values_and_types_are_those_of_numba(
    function: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    compiled = numba.njit(function)
    expected = compiled(*args)
    got = call(function, *args)
    assert got == expected
    theirs = compiled.overloads[compiled.signatures[0]].signature.return_type
    ours = result_type(function, [example_type(a) for a in args])
    assert str(ours) == numba_name(theirs)


def numba_name(type_: Any) -> str:
    """A type of numba as mlirad writes it."""
    if isinstance(type_, numba.types.BaseTuple):
        return f"({', '.join(map(numba_name, type_))})"
    return str(type_)
