"""Loops with every small start, stop and step: as often as Python's, in both modes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad.gpu import grid
from tests.fuzz.dual import Dual, lift

SMALL = range(-7, 8)
RANGES = [(a, b, s) for a, b, s in product(SMALL, SMALL, SMALL) if s]
X, A = 0.37, 0.83


def walk(a, x, start, stop, step):
    i = 50
    s = x
    for i in range(start, stop, step):
        s = s * (1.0 - s) * (2.5 + 0.1 * i)
        a[0] = a[0] * s + a[0] * a[0] * 0.1
    return s + a[0] * i * 0.01


def leave(a, x, start, stop, step):
    i = 50
    s = x
    for i in range(start, stop, step):
        s = s * (1.0 - s) * (2.5 + 0.1 * i)
        if i == stop - 2 * step or s > 0.6123:
            break
        a[0] = a[0] * s + a[0] * a[0] * 0.1
    else:
        a[0] = a[0] * a[0]
    return s + a[0] * i * 0.01


def triangle(a, x, start, stop, step):
    j = start
    s = x
    for i in range(start, stop, step):
        for j in range(stop, i, -step):
            s = s * (1.0 - s) * (2.5 + 0.1 * j)
            stop = stop - (j & 1)
        a[0] = a[0] * s + a[0] * a[0] * 0.1
    return s + a[0] * j * 0.01


def in_kernel(a, x, start, stop, step):
    g = grid(1)
    i = 50
    if g < 1:
        for i in range(start, stop, step):
            x[0] = x[0] * (1.0 - x[0]) * (2.5 + 0.1 * i)
            a[g] = a[g] * x[0] + a[g] * a[g] * 0.1
        x[0] = x[0] + a[g] * i * 0.01


def literal_steps() -> str:
    """One function with a loop for each step as a literal."""
    lines = ["def literal(a, x, start, stop, step):", "    i = 50", "    s = x"]
    for step in (s for s in SMALL if s):
        lines += [
            f"    if step == {step}:",
            f"        for i in range(start, stop, {step}):",
            "            s = s * (1.0 - s) * (2.5 + 0.1 * i)",
            "            a[0] = a[0] * s + a[0] * a[0] * 0.1",
        ]
    return "\n".join([*lines, "    return s + a[0] * i * 0.01", ""])


@pytest.fixture
def literal(tmp_path: Path) -> Callable[..., Any]:
    path = tmp_path / "literal_steps.py"
    path.write_text(literal_steps())
    spec = importlib.util.spec_from_file_location("literal_steps", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["literal_steps"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.literal


def expected(f: Callable[..., Any], bounds: tuple[int, ...], da: float, dx: float) -> list[Dual]:
    """The results of plain Python along one direction: the number, and the array's element."""
    a = [Dual(A, da)]
    return [lift(f(a, Dual(X, dx), *bounds)), a[0]]


def check_function(f: Callable[..., Any]) -> None:
    program = ad.jit(f)
    forward = ad.forward(program, ad.Dual, ad.Dual, *[ad.Const] * 3)
    reverse = ad.reverse(program, ad.Duplicated, ad.Active, *[ad.Const] * 3)
    a, da = np.empty(1), np.empty(1)
    for bounds in RANGES:
        along = [expected(f, bounds, 1.0, 0.0), expected(f, bounds, 0.0, 1.0)]
        result, final = along[0]
        a[0] = A
        assert program(a, X, *bounds) == result.value, bounds
        assert a[0] == final.value, bounds
        a[0], da[0] = A, 0.7
        primal, tangent = forward(a, da, X, -0.4, *bounds)
        wanted = [0.7 * p.tangent - 0.4 * q.tangent for p, q in zip(*along, strict=True)]
        assert primal == result.value, bounds
        np.testing.assert_allclose([tangent, da[0]], wanted, rtol=1e-12, atol=1e-13)
        a[0], da[0] = A, 0.3
        primal, x_ct = reverse(a, da, X, *bounds, 1.1)
        gradient = [1.1 * of_result.tangent + 0.3 * of_a.tangent for of_result, of_a in along]
        assert (primal, a[0]) == (result.value, final.value), bounds
        np.testing.assert_allclose([da[0], x_ct], gradient, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", [walk, leave, triangle], ids=lambda f: f.__name__)
def test_every_range_known_at_run_time(f: Callable[..., Any]) -> None:
    check_function(f)


def test_every_range_with_a_literal_step(literal: Callable[..., Any]) -> None:
    check_function(literal)


def run_thread(bounds: tuple[int, ...], da: float, dx: float) -> list[Dual]:
    """Thread 0 of the kernel in plain Python."""
    a, x = [Dual(A, da)], [Dual(X, dx)]
    FunctionType(in_kernel.__code__, {"grid": lambda _: 0, "range": range})(a, x, *bounds)
    return [a[0], x[0]]


def test_every_range_in_a_kernel() -> None:
    kernel = ad.kernel(in_kernel)
    forward = ad.forward(kernel, ad.Dual, ad.Dual, *[ad.Const] * 3)[1, 2]
    reverse = ad.reverse(kernel, ad.Duplicated, ad.Duplicated, *[ad.Const] * 3)[1, 2]
    for bounds in RANGES:
        rows = [run_thread(bounds, 1.0, 0.0), run_thread(bounds, 0.0, 1.0)]
        values = [d.value for d in rows[0]]
        slopes = np.array([[d.tangent for d in row] for row in rows])
        a, x, da, dx = (np.array([number]) for number in (A, X, 0.7, -0.4))
        forward(a, da, x, dx, *bounds)
        assert [a[0], x[0]] == values, bounds
        np.testing.assert_allclose([da[0], dx[0]], [0.7, -0.4] @ slopes, rtol=1e-12, atol=1e-13)
        a, x, da, dx = (np.array([number]) for number in (A, X, 0.3, 1.1))
        reverse(a, da, x, dx, *bounds)
        assert [a[0], x[0]] == values, bounds
        np.testing.assert_allclose([da[0], dx[0]], slopes @ [0.3, 1.1], rtol=1e-12, atol=1e-13)
