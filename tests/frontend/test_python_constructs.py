"""Python beyond the language: each construct works as in Python, or is refused with a way out."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba import cuda

import mlirad as ad
from tests.fuzz.case import PREFIX

U, T = ad.errors.UnsupportedError, ad.errors.TypingError
X = (0.7, -0.4, 1.3)

# What stands in the body of `f(x)`, the class of the error, what it says, and the way out.
REFUSED: list[tuple[str, type[ad.errors.MliradError], str, str]] = [
    ("return sum(v for v in x)", U, "'sum' is not compiled", "'for' loop"),
    ("g = (v for v in x)", U, "generator expressions", "'for' loop"),
    ("yield x[0]", U, "is a generator", "in an array"),
    ("yield from x", U, "is a generator", "in an array"),
    ("d = {'a': x[0]}", U, "dicts are not compiled", "one variable"),
    ("d = {v: v for v in x}", U, "comprehensions", "'for' loop"),
    ("return TABLE['a'] * x[0]", T, "'TABLE' is a 'dict'", "only arrays"),
    ("s = {1, 2}", U, "sets are not compiled", "array"),
    ("s = {v for v in x}", U, "comprehensions", "'for' loop"),
    ("s = [x[0], x[1]]", U, "lists are not compiled", "tuple"),
    ("s = list((x[0], x[1]))", U, "'list' is not compiled", "tuple"),
    ("s = [v for v in x]", U, "comprehensions", "'for' loop"),
    ("return x[0] + 'a'", U, "strings are not compiled", "out of the function"),
    ("s = f'{x[0]}'", U, "strings are not compiled", "out of the function"),
    ("s = b'a'", U, "strings are not compiled", "out of the function"),
    ("if 'a' == 'b': x[0] = 1.0", U, "strings are not compiled", "out of the function"),
    ("s = 'mode'", U, "strings are not compiled", "out of the function"),
    ("return x['a']", U, "strings are not compiled", "out of the function"),
    ("try: x[0] = 1.0\n    finally: pass", U, "'try' is not compiled", "'if'"),
    ("with np.errstate(): x[0] = 1.0", U, "'with' is not compiled", "out of the function"),
    ("f = lambda i: x[i]", U, "lambda", "'def'"),
    ("global G; G = x[0]", U, "'global' is not compiled", "array argument"),
    ("return f(x)", U, "'f' calls itself", "loop"),
    ("return mutual(x)", U, "calls itself, directly or through others", "loop"),
    ("print(x)", U, "'print' is not compiled", "outside"),
    ("match x[0]:\n        case 1.0: return 1.0\n    return x[0]", U, "'match'", "'elif'"),
    ("assert x[0] > 0", U, "'assert' is not compiled", "before the call"),
    ("raise ValueError", U, "'raise' is not compiled", "error number"),
    ("del x", U, "'del' is not compiled", "leave it out"),
    ("y = (z := x[0])", U, "':=' is not compiled", "of its own"),
    ("class A: pass", U, "classes are not compiled", "arguments"),
    ("def g(): pass", U, "nested functions", "outside"),
    ("import os", U, "'import' inside", "top of the file"),
    ("from os import path", U, "'import' inside", "top of the file"),
    ("return opened(x, 1)", U, "takes '*' arguments", "name each"),
    ("return keyworded(x, y=1)", U, "takes '*' arguments", "name each"),
    ("return max(*(x[0], 2.0))", U, "'*' unpacking", "name each"),
    ("return helper(**{'v': x[0]})", U, "'**' arguments", "name each"),
    ("return helper({'v': x[0]})", U, "dicts are not compiled", "one variable"),
    ("a, *b = (x[0], x[1], 1.0)", U, "'*' unpacking", "name each"),
    ("t = (*x.shape, 1)", U, "'*' unpacking", "name each"),
    ("return x @ x", T, "a number is needed here", "'for' loop"),
    ("y = x * 2", T, "a number is needed here", "'for' loop"),
    ("y = -x", T, "a number is needed here", "'for' loop"),
    ("return 1.0 if x == x else 0.0", T, "a number is needed here", "index it"),
    ("if x: x[0] = 1.0", T, "a number is needed here", "index it"),
    ("y = np.sin(x)", T, "'np.sin' cannot take (float64[::1])", "single numbers"),
    ("return max(x)", T, "'max' cannot take (float64[::1])", "single numbers"),
    ("return x.sum()", U, "'.sum' of an array", "'for' loop"),
    ("return x.T.copy().mean()", U, "'.mean' of an array", "'for' loop"),
    ("return x.reshape(1, 3)[0, 0]", U, "'.reshape' of an array", "'for' loop"),
    ("return x.astype(np.float32)[0]", U, "'.astype' of an array", "'for' loop"),
    ("return np.sum(x)", U, "'np.sum' is not compiled", "'for' loop"),
    ("return np.dot(x, x)", U, "'np.dot' is not compiled", "loops"),
    ("return np.linalg.norm(x)", U, "'np.linalg.norm' is not compiled", "loops"),
    ("return np.random.rand() * x[0]", U, "'np.random.rand' is not compiled", "outside"),
    ("if isinstance(x[0], float): x[0] = 1.0", U, "'isinstance' is not", "per type"),
    ("return getattr(x, 'size')", U, "'getattr' is not compiled", "per type"),
    ("return type(x[0])(1)", U, "'type' is not compiled", "per type"),
    ("t = (x[0], x[1], 3.0)[1:]", U, "slices of tuples", "literals"),
    ("return np.float16(x[0])", U, "'np.float16' is not compiled", "np.float32"),
    ("return sorted((x[0], x[1]))[0]", U, "'sorted' is not compiled", "'for' loop"),
    ("for v in map(math.sin, x): x[0] = v", U, "is not compiled", "'for' loop"),
    ("return 1.0 if 3 in (1, 2) else x[0]", U, "'in' is not compiled", "each element"),
    ("return 1.0 if x is x else 0.0", U, "'is' compares with None only", "'=='"),
    ("POINT.k = x[0]", U, "'POINT.k' cannot be assigned", "variable"),
    ("return partial(x[0])", U, "'partial' is not compiled", "loops and scalar"),
    ("return vectorized(x[0])", U, "'vectorized' is not compiled", "loops and scalar"),
    ("return float(input())", U, "'input' is not compiled", "outside"),
    ("exec('1')", U, "'exec' is not compiled", "outside"),
    ("return pow(2, 3, 5) * x[0]", T, "'pow' cannot take", "single numbers"),
    ("return x[0] * 10**30", T, "does not fit into 64 bits", "1e30"),
    ("return helper(x[0], v=1.0)", T, "gets 'v' twice", "change the call"),
    ("return checked(x[0])", U, "'checked' was declared with 'boundscheck'", "leave it out"),
    ("return single(x[0])", T, "'single' was declared for (float32) -> float32", "signature"),
    ("return rounded(x[0])", T, "declared for (float64) -> float32", "leave the signature"),
    ("return typed(x[0])", U, "'typed' was declared with 'locals'", "types follow"),
]  # fmt: skip

KERNELS: list[tuple[str, type[ad.errors.MliradError], str, str]] = [
    ("y = np.zeros(3)", U, "'np.zeros' is not compiled in kernels", "local.array"),
    ("y = cuda.shared.array(0, dtype=np.float64)", U, "size the launch decides", "literal shape"),
    ("y = cuda.local.array(x.size, np.float64)", T, "not known while compiling", "literals"),
    ("cuda.atomic.inc(x, 0, 1.0)", U, "'atomic.inc' is not compiled", "atomic add"),
    ("k = cuda.grid(ndim=1)", T, "takes no keyword arguments", "by position"),
    ("print(x[0])", U, "'print' is not compiled", "outside"),
    ("return 1.0", T, "returns a value", "array argument"),
]  # fmt: skip

ACCEPTED = [
    '"""A docstring."""\n    return x[0]',
    "y: float = x[0]\n    return y * y",
    "a = b = x[0]\n    return a * b",
    "(a, b), c = (x[0], x[1]), x[2]\n    return a * b + c",
    "return POINT.k * x[0]",
    "return np.pi * x[0] + math.e",
    "return x[0] if x.ndim == 1 and len(x.shape) == 1 else 0.0",
    "return divmod(x[2], 0.4)[0] * x[1]",
    "i = 0\n    while i < 2: i += 1\n    else: i = 5\n    return x[0] * i",
    "for i in range(3): pass\n    else: x[0] = x[1] * x[1]\n    return x[0] * i",
    "for i in reversed(range(3)): x[i] = x[i] * x[i - 1]\n    return x[0] * x[2]",
    "s = 0.0\n    for v in x: s = s * v + v\n    return s",
    "s = 0.0\n    for i, v in enumerate(x): s = s * v + i\n    return s",
    "s = 0.0\n    for v, w in zip(x, x[::-1]): s = s * v + w\n    return s",
    "x += 1.0; return x[0] * x[1]",
    "y = x.copy(); y[0] = 2.0; return x[0] * y[0] * y[1]",
    "x.fill(x[1]); return x[0] * x[2]",
    "return x[...][0] * x[1]",
    "return permissive(x[0])",
    "return exact(x[0])",
    "return x.dtype.type(2) * x[0]",
    "return np.float64(x[0]) * int(True)",
]

HEADER = """
import functools
import numba
from numba import cuda
TABLE = {"a": 1.0}
class Point:
    k = 2.5
POINT = Point()
def mutual(x): return f(x)
def opened(x, *args): return x[0]
def keyworded(x, **more): return x[0]
def helper(v): return v
def cubed(v): return v * v * v
def third(v):
    u = v / 3.0
    return u * u
partial = functools.partial(helper)
vectorized = numba.vectorize(helper)
checked = numba.njit(boundscheck=True)(helper)
single = numba.njit(numba.float32(numba.float32))(third)
rounded = numba.njit(numba.float32(numba.float64))(third)
typed = numba.jit(nopython=True, locals={"u": numba.float32})(third)
permissive = numba.njit(fastmath=True, nogil=True)(cubed)
exact = numba.njit("float64(float64)")(cubed)

"""


def written(body: str, folder: Path) -> Callable[..., Any]:
    path = folder / "construct.py"
    path.write_text(f"{PREFIX}{HEADER}def f(x):\n    {body}\n")
    space: dict[str, Any] = {"__name__": "construct"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["f"]


def check_message(message: str, folder: Path, what: str, way_out: str) -> None:
    place, _, caret, *hints = message.splitlines()
    found = re.match(rf"{re.escape(str(folder))}/construct\.py:(\d+):(\d+): ", place)
    assert found, place
    assert what in place
    assert caret.index("^") - caret.index("|") - 1 == int(found[2])
    assert any(way_out in hint for hint in hints), hints


@pytest.mark.parametrize(("body", "error", "what", "way_out"), REFUSED)
def test_a_function_is_refused_with_place_and_way_out(
    body: str, error: type[Exception], what: str, way_out: str, tmp_path: Path
) -> None:
    f = written(body, tmp_path)
    with pytest.raises(error) as caught:
        ad.jit(f)(np.array(X))
    check_message(str(caught.value), tmp_path, what, way_out)


@pytest.mark.parametrize(("body", "error", "what", "way_out"), KERNELS)
def test_a_kernel_is_refused_with_place_and_way_out(
    body: str, error: type[Exception], what: str, way_out: str, tmp_path: Path
) -> None:
    f = written(body, tmp_path)
    with pytest.raises(error) as caught:
        ad.kernel(f)[1, 1](np.array(X))
    check_message(str(caught.value), tmp_path, what, way_out)


@pytest.mark.parametrize("body", ACCEPTED)
def test_what_is_accepted_means_what_python_means(body: str, tmp_path: Path) -> None:
    f = written(body, tmp_path)
    reverse = ad.reverse(f, ad.Duplicated)
    x, shadow = np.array(X), np.zeros(3)
    y, expected = np.array(X), np.array(X)
    value = f(expected)
    assert ad.jit(f)(y) == pytest.approx(value, rel=1e-15)
    np.testing.assert_array_equal(y, expected)
    reverse(x, shadow, 1.0)
    h = 1e-6
    steps = np.array(X) + h * np.eye(3), np.array(X) - h * np.eye(3)
    slopes = [(f(up) - f(down)) / (2 * h) for up, down in zip(*steps, strict=True)]
    np.testing.assert_allclose(shadow, slopes, rtol=1e-7, atol=1e-8)


def third(v):
    u = v / 3.0
    return u * u


def scaled(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] *= 2.0


async def coroutine(x):
    return x[0]


def opened(x, *args):
    return x[0]


def test_options_of_numba_objects_are_not_lost() -> None:
    for options in ({"boundscheck": True}, {"locals": {"u": numba.float32}}):
        found = numba.jit(nopython=True, **options)(third)
        with pytest.raises(U, match=f"'third' was declared with '{next(iter(options))}'"):
            ad.jit(found)
        with pytest.raises(U, match="was declared with"):
            ad.grad(found)(1.0)
    found = numba.njit(fastmath=True)(third)
    assert ad.grad(found)(1.5) == pytest.approx(2 * 1.5 / 9)


def test_a_signature_that_converts_is_refused_and_one_that_fits_is_not() -> None:
    single = numba.njit(numba.float32(numba.float32))(third)
    with pytest.raises(ad.errors.ArgumentTypeError, match=r"float32\) -> float32.*float64"):
        ad.jit(single)(1.5)
    with pytest.raises(ad.errors.ArgumentTypeError, match="leave the signature out"):
        ad.grad(single)(1.5)
    fits = numba.njit(["float32(float32)", "float64(float64)"])(third)
    assert ad.jit(fits)(1.5) == fits(1.5) == third(1.5)
    assert ad.grad(fits)(1.5) == pytest.approx(2 * 1.5 / 9)
    with pytest.raises(ad.errors.ArgumentTypeError, match="leave the signature out"):
        ad.jit(single)(1.5)
    assert ad.jit(numba.njit(third))(1.5) == third(1.5)


def test_objects_that_are_no_functions_are_refused_by_name() -> None:
    for found in (functools.partial(third), numba.vectorize(third), abs, np.sin, Path, 3.0):
        with pytest.raises(ad.errors.ArgumentTypeError, match="takes a Python function"):
            ad.jit(found)  # pyright: ignore
    with pytest.raises(U, match="'coroutine' is a coroutine"):
        ad.jit(coroutine)(np.zeros(3))
    with pytest.raises(U, match="'opened' takes '\\*' arguments"):
        ad.jit(opened)
    with pytest.raises(ad.errors.LaunchTypeError, match="no option 'parallel'"):
        ad.jit(third, parallel=True)  # pyright: ignore


@pytest.mark.parametrize(
    ("array", "way_out"),
    [
        (np.ones(3, ">f8"), r"astype\('float64'\)"),
        (np.ones(3, "f2"), "float32 or float64"),
        (np.array([1.0, None], dtype=object), "dtype object"),
        (np.zeros(2, "M8[s]"), r"astype\('int64'\)"),
        (np.ma.zeros(2), "np.asarray"),
        ([1.0], "np.array"),
        ({"a": 1.0}, "numpy arrays"),
        ("s", "strings have no meaning"),
    ],
    ids=str,
)
def test_values_that_are_no_arguments_are_refused_by_name(array: Any, way_out: str) -> None:
    with pytest.raises(ad.errors.MliradError, match=way_out) as caught:
        ad.kernel(scaled)[1, 1](array)
    assert "scaled: argument 'x' is" in str(caught.value)


def test_dynamic_shared_memory_is_refused_at_the_launch() -> None:
    with pytest.raises(U, match="streams and dynamic shared memory"):
        ad.kernel(scaled)[1, 1, 0, 64](np.zeros(3))
