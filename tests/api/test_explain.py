"""What is kept: the bytes that `explain` names are those that are allocated, and no more."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu
from mlirad.cli.main import main
from mlirad.errors import ArgumentTypeError
from mlirad.explanation import Explanation
from mlirad.frontend import types as t
from tests.api.allocations import counted

Run = Callable[..., Any]


def rectangle(x, n):
    for i in range(n):
        for j in range(4):
            x[j] = math.sin(x[j] * x[i])


def upper(x, n):
    for i in range(n):
        for j in range(i, n):
            x[j] = math.sin(x[j]) + x[i]


def lower(x, n):
    for i in range(n):
        for j in range(i):
            x[i] = math.sin(x[i]) + x[j]


def band(x, n):
    for i in range(n):
        for j in range(i - 2, n - 3):
            x[abs(j)] = math.sin(x[abs(j)]) * x[i]


def steep(x, n):
    for k in range(2):
        for i in range(n):
            for j in range(2 * i - 3):
                x[j % n] = math.sin(x[j % n]) + x[k]


def steps(x, n):
    for i in range(n - 1, -1, -2):
        for j in range(1, n, 3):
            x[j] = math.sin(x[j] * x[i])


def branches(x, n):
    for i in range(0, n, 2):
        for j in range(n, 0, -3):
            if x[j - 1] > 0.9:
                x[j - 1] = math.sin(x[j - 1]) + x[i]
            else:
                x[i] = x[i] * math.exp(-x[i])


def three_deep(x, n):
    for i in range(2):
        for j in range(3):
            for k in range(1, n):
                x[k] = math.cos(x[k]) + x[i] * x[j]


def grid_stride(x, n):
    for i in range(gpu.grid(1), x.shape[0], gpu.gridsize(1)):
        x[i] = math.sin(x[i]) * x[i]


def relax(x, n):
    i = gpu.grid(1)
    if i < x.shape[0]:
        for k in range(n):
            for j in range(k):
                x[i] = math.sin(x[i]) + 0.1 * j


def chain(x, n):
    i = gpu.grid(1)
    if i < x.shape[0]:
        for _ in range(2, n):
            x[i] = math.exp(math.sin(x[i])) * x[i] ** 2 * 0.3


FUNCTIONS = {
    # How many values are kept: 8 bytes per number, 1 per decision.
    rectangle: 8 * 2 * 7 * 4,
    upper: 8 * 28,
    lower: 8 * 21,
    band: 8 * 2 * sum(max(0, 4 - (i - 2)) for i in range(7)),
    steep: 8 * 2 * (1 + 3 + 5 + 7 + 9),
    steps: 8 * 2 * 4 * 2,
    branches: (8 + 8 + 1) * 4 * 3,
    three_deep: 8 * 3 * 2 * 3 * 6,
}
KERNELS = {relax: 8 * 8 * 21, chain: 8 * 8 * 5}
GRID, BLOCK = 2, 4


def inputs(size: int = 7) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.5, 1.3, size)


def check(run: Run, reverse: Run, n: int) -> None:
    """The cotangents against central differences."""
    x, seed = inputs(), np.random.default_rng(2).normal(size=7)
    primal, cotangents = x.copy(), seed.copy()
    reverse(primal, cotangents, n)
    for k in range(len(x)):
        up, down = x.copy(), x.copy()
        up[k] += 1e-6
        down[k] -= 1e-6
        run(up, n)
        run(down, n)
        assert cotangents[k] == pytest.approx(seed @ (up - down) / 2e-6, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_allocates_what_explain_says(function, monkeypatch) -> None:
    f = ad.jit(function)
    with counted(monkeypatch) as sizes:
        df = ad.reverse(f, ad.Duplicated, ad.Const)
        df(inputs(), np.ones(7), 7)
        assert sum(sizes) == FUNCTIONS[function]
        for n in (-2, 0, 1, 2, 5, 7):
            check(f, df, n)
    assert ad.explain(df, (inputs(), np.ones(7), 7)).bytes == FUNCTIONS[function]
    assert isinstance(ad.explain(df).bytes, str)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_allocates_what_explain_says(kernel, monkeypatch) -> None:
    k = ad.kernel(kernel)
    with counted(monkeypatch) as sizes:
        dk = ad.reverse(k, ad.Duplicated, ad.Const)[GRID, BLOCK]
        dk(inputs(), np.ones(7), 7)
        assert sum(sizes) == KERNELS[kernel]
        for n in (-2, 0, 1, 2, 5, 7):
            check(k[GRID, BLOCK], dk, n)
    assert ad.explain(dk, (inputs(), np.ones(7), 7)).bytes == KERNELS[kernel]
    without_grid = ad.explain(dk.kernel, (inputs(), np.ones(7), 7)).bytes
    assert isinstance(without_grid, str)
    assert "threads" in without_grid


def test_what_depends_on_the_thread_has_no_number() -> None:
    k = ad.kernel(grid_stride)
    dk = ad.reverse(k, ad.Duplicated, ad.Const)[1, 3]
    check(k[1, 3], dk, 7)
    assert ad.explain(dk, (inputs(), np.ones(7), 7)).bytes == "grows with iterations"


def elementwise(x, y):
    i = gpu.grid(1)
    if i < x.shape[0]:
        y[i] = math.exp(math.sin(x[i])) * x[i] ** 2


def test_nothing_is_kept_of_what_can_be_computed_again(monkeypatch) -> None:
    x = inputs()
    with counted(monkeypatch) as sizes:
        dk = ad.reverse(ad.kernel(elementwise), ad.Duplicated, ad.Duplicated)[GRID, BLOCK]
        dx = np.zeros(7)
        dk(x, dx, np.zeros(7), np.ones(7))
    assert sizes == []
    np.testing.assert_allclose(dx, np.exp(np.sin(x)) * (np.cos(x) * x**2 + 2 * x), rtol=1e-13)
    found = ad.explain(dk, (x, dx, x.copy(), dx.copy()))
    assert found.bytes == 0
    assert {entry.kind for entry in found.entries} == {"recomputed", "live"}
    (addition,) = [a for a in found.accumulations if a.array == "x"]
    assert addition.atomic


@ad.kernel
def heat_step(old, new, k):
    i = gpu.grid(1)
    if 0 < i and i < old.shape[0] - 1:
        new[i] = old[i] + k * (old[i - 1] - 2 * old[i] + old[i + 1])


def heat_by_launches(u, v, k, n):
    for _ in range(n):
        heat_step[2, 4](u, v, k)
        heat_step[2, 4](v, u, k)


def heat_by_loops(u, v, k, n):
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1])
        for i in range(1, u.shape[0] - 1):
            u[i] = v[i] + k * (v[i - 1] - 2 * v[i] + v[i + 1])


@pytest.mark.parametrize("function", [heat_by_launches, heat_by_loops])
def test_steps_linear_in_their_state_keep_nothing(function, monkeypatch) -> None:
    kinds = ad.Duplicated, ad.Duplicated, ad.Const, ad.Const
    with counted(monkeypatch) as sizes:
        df = ad.reverse(ad.jit(function), *kinds)
        u, du, dv = inputs(), np.eye(7)[3], np.zeros(7)
        df(u, du, np.zeros(7), dv, 0.2, 5)
    assert sizes == []
    assert ad.explain(df, (u, du, u.copy(), dv, 0.2, 5)).bytes == 0
    ends = []
    for e in np.eye(7):
        a, b = e.copy(), np.zeros(7)
        function.__globals__["heat_by_loops"](a, b, 0.2, 5)
        ends.append(a[3])
    np.testing.assert_allclose(du, ends, rtol=1e-13, atol=1e-15)


def outer_value(x, y, n):
    for i in range(n):
        scale = math.exp(x[i])
        x[i] = 0.0
        for j in range(n):
            y[j] = y[j] + scale * math.sin(scale)


def test_a_value_of_the_outer_loop_is_enough(monkeypatch) -> None:
    with counted(monkeypatch) as sizes:
        df = ad.reverse(ad.jit(outer_value), ad.Duplicated, ad.Duplicated, ad.Const)
        x, dx = inputs(), np.zeros(7)
        df(x, dx, np.zeros(7), np.ones(7), 7)
    assert sizes == [8 * 7]
    scale = np.exp(inputs())
    expected = 7 * scale * (np.sin(scale) + scale * np.cos(scale))
    np.testing.assert_allclose(dx, expected, rtol=1e-12)


def written_before(x, y, n):
    for i in range(n):
        y[i] = x[i] * x[i]
    for i in range(n):
        x[i] = y[i] * math.sin(y[i])


def test_a_load_is_repeated_from_what_was_written_only_before_it(monkeypatch) -> None:
    f = ad.jit(written_before)
    with counted(monkeypatch) as sizes:
        df = ad.reverse(f, ad.Duplicated, ad.Duplicated, ad.Const)
        x, dx = inputs(), np.ones(7)
        df(x, dx, np.zeros(7), np.zeros(7), 7)
    assert sizes == [8 * 7]  # the x[i] of the first loop; y[i] is loaded again
    y = inputs() ** 2
    expected = (np.sin(y) + y * np.cos(y)) * 2 * inputs()
    np.testing.assert_allclose(dx, expected, rtol=1e-12)


def lengths(x, n):
    total = 0.0
    for i in range(n):
        total += abs(math.sin(x[i]))
    return total


def test_what_a_rule_compares_is_kept() -> None:
    df = ad.reverse(ad.jit(lengths), ad.Duplicated, ad.Const)
    found = ad.explain(df, (inputs(), np.ones(7), 7, 1.0))
    kept = [entry for entry in found.entries if entry.kind == "kept" and entry.bytes]
    assert "compared, so its last bit matters" in {entry.reason for entry in kept}
    x, dx = inputs(), np.zeros(7)
    df(x, dx, 7, 1.0)
    np.testing.assert_allclose(dx, np.cos(x), rtol=1e-12)


def newton(x):
    s = x
    while abs(s * s - x) > 1e-9:
        s = 0.5 * (s + x / s)
    return s


def test_an_entry_says_where_it_is_and_what_it_is() -> None:
    df = ad.reverse(ad.jit(newton), ad.Active)
    found = ad.explain(df, (2.0, 1.0))
    (s,) = [entry for entry in found.entries if entry.name == "s" and entry.kind == "kept"]
    assert s.file == __file__
    assert s.source.startswith("while abs(s * s - x) > 1e-9")
    assert s.bytes == "grows with iterations"
    assert s.function == "newton"
    assert found.bytes == "grows with iterations"
    assert f"{s.file}:{s.line}" in str(found)
    assert df(2.0, 1.0)[1] == pytest.approx(0.5 / math.sqrt(2), rel=1e-6)


def test_forward_mode_keeps_nothing() -> None:
    df = ad.forward(ad.jit(newton), ad.Dual)
    found = ad.explain(df, (2.0, 1.0))
    assert (found.bytes, found.entries) == (0, ())


def test_types_are_enough() -> None:
    df = ad.reverse(ad.jit(rectangle), ad.Duplicated, ad.Const)
    found = ad.explain(df, (t.Array(t.FLOAT64, 1), t.Array(t.FLOAT64, 1), t.INT64))
    assert isinstance(found, Explanation)
    assert found.bytes == "8 * n * 4 + 8 * n * 4"


@pytest.mark.parametrize("what", [newton, ad.jit(newton)])
def test_what_is_no_derivative_is_refused(what) -> None:
    with pytest.raises(ArgumentTypeError, match=r"explain\(reverse\("):
        ad.explain(what, (2.0,))


def test_the_command_prints_the_table(tmp_path, capsys) -> None:
    path = tmp_path / "source.py"
    path.write_text(
        "import math\ndef f(x, n):\n    for i in range(n):\n        x[i] = x[i] * x[i]\n"
    )
    options = ["--args", "f64[::1], i64", "--activity", "duplicated,const"]
    assert main(["explain", f"{path}:f", *options]) == 0
    assert re.search(r"source.py:4 +x\[…\] +kept +8 \* n ", capsys.readouterr().out)
    assert main(["explain", f"{path}:f", *options, "--mode", "primal"]) == 1
    assert "explain is about derivatives" in capsys.readouterr().err


def windows(x, y, n):
    p, total = 0, 0.0
    for i in range(n):
        w = x[p:]
        y[i] = math.sin(w[1]) * w[2] * w[1]
        total += y[i] * math.exp(w[0])
        p = (p * 2 + 1) % 4
    return total


def test_a_view_is_made_again_from_a_kept_offset() -> None:
    f = ad.jit(windows)
    df = ad.reverse(f, ad.Duplicated, ad.Duplicated, ad.Const)
    x, dx = inputs(), np.zeros(7)
    df(x, dx, np.zeros(7), np.zeros(7), 6, 1.0)
    for k, e in enumerate(np.eye(7) * 1e-6):
        difference = f(x + e, np.zeros(7), 6) - f(x - e, np.zeros(7), 6)
        assert dx[k] == pytest.approx(difference / 2e-6, rel=1e-6, abs=1e-8)
    assert ad.explain(df, (x, dx, np.zeros(7), np.zeros(7), 6, 1.0)).bytes == 8 * 6
