"""Each partial against mpmath and central differences, at random and at singular points."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect

from mlirad.passes.derivatives.formula import evaluate
from mlirad.passes.derivatives.libm import LIBM_RULES
from mlirad.passes.derivatives.render_table import render_page
from mlirad.passes.derivatives.rule import INACTIVE, ScalarRule, rule
from mlirad.passes.derivatives.singular_points import SINGULAR_POINTS, SingularPoint
from mlirad.passes.derivatives.table import SCALAR_RULES
from tests.derivatives.primals import PRIMALS, Primal

BY_NAME = {op.name: known for op, known in SCALAR_RULES.items()} | dict(LIBM_RULES)
SCALAR = {name: known for name, known in BY_NAME.items() if isinstance(known, ScalarRule)}


def primal_value(primal: Primal, point: tuple[float, ...]) -> float:
    """The result at a point, as the op would compute it."""
    return float(primal.compute(*(x if isinstance(x, int) else mpmath.mpf(x) for x in point)))


def check_partials(known: ScalarRule, primal: Primal, point: tuple[float, ...]) -> None:
    result = primal_value(primal, point)
    for index, partial in enumerate(known.partials):
        if partial is None:
            continue

        def along(x: mpmath.mpf, index: int = index) -> mpmath.mpf:
            args = [n if isinstance(n, int) else mpmath.mpf(n) for n in point]
            args[index] = mpmath.mpf(x)
            return primal.compute(*args)

        got = evaluate(partial, point, result)
        with mpmath.workdps(40):
            exact = float(mpmath.diff(along, point[index]))
        assert got == pytest.approx(exact, rel=2e-13, abs=2e-13), (index, point)
        step = 1e-5
        slope = float(along(point[index] + step) - along(point[index] - step)) / (2 * step)
        assert got == pytest.approx(slope, rel=1e-5, abs=1e-5), (index, point)


def points(primal: Primal) -> st.SearchStrategy[tuple[float, ...]]:
    def one(low: float, high: float) -> st.SearchStrategy[float]:
        return st.integers(low, high) if isinstance(low, int) else st.floats(low, high)

    return st.tuples(*(one(*interval) for interval in primal.domain))


@pytest.mark.parametrize("name", PRIMALS)
def test_partials_at_random_points(name: str):
    @settings(max_examples=15, deadline=None, derandomize=True, database=None)
    @given(points(PRIMALS[name]))
    def check(point: tuple[float, ...]) -> None:
        check_partials(SCALAR[name], PRIMALS[name], point)

    check()


def test_every_rule_is_checked():
    in_f64 = {name for name in SCALAR if f"{name}f" in SCALAR or "." in name}
    assert in_f64 == set(PRIMALS)
    assert all(SCALAR[f"{name}f"] == SCALAR[name] for name in in_f64 if "." not in name)


def test_a_wrong_partial_is_caught():
    with pytest.raises(AssertionError):
        check_partials(rule(1, 1), PRIMALS["arith.subf"], (1.5, 2.5))


def result_at(singular: SingularPoint) -> float:
    """The result there; mpmath raises at poles and has no signed zeros or NaN order."""
    if singular.op in ("arith.maxnumf", "arith.minnumf"):
        return 2.0
    if singular.op == "math.rsqrt":
        return math.inf
    if singular.op == "math.powf" and singular.operands == (0.0, -1.0):
        return math.inf
    try:
        return primal_value(PRIMALS[singular.op], singular.operands)
    except (ValueError, ZeroDivisionError, TypeError):
        return math.nan


@pytest.mark.parametrize("singular", SINGULAR_POINTS, ids=lambda p: f"{p.op}{p.operands}")
def test_singular_points(singular: SingularPoint):
    result = result_at(singular)
    for partial, expected in zip(SCALAR[singular.op].partials, singular.partials, strict=True):
        if partial is None:
            assert expected is None
            continue
        got = evaluate(partial, singular.operands, result)
        assert got == pytest.approx(expected, rel=1e-12, abs=0, nan_ok=True)


REFUSED = {arith.BitcastOp}


INTEGER_OPS = set(
    "absi addi addui_extended andi ceildivsi ceildivui cmpi ctlz ctpop cttz divsi divui extsi "
    "extui floordivsi index_cast index_castui ipowi maxsi maxui minsi minui muli mulsi_extended "
    "mului_extended ori remsi remui shli shrsi shrui subi trunci xori".split()
)


def test_every_float_op_has_a_rule_or_is_refused():
    ops = [*arith.Arith.operations, *math_dialect.Math.operations]
    floats = {op for op in ops if op.name.split(".")[1] not in INTEGER_OPS}
    assert floats - set(SCALAR_RULES) == REFUSED
    assert SCALAR_RULES[arith.CmpfOp] is INACTIVE


@pytest.mark.parametrize("x", [-7.3, -2.5, -0.4, 0.01, 0.5, 1.4616321449683623, 8.0, 1e6])
def test_digamma(x: float):
    (partial,) = SCALAR["lgamma"].partials
    assert partial is not None
    got = evaluate(partial, (x,), 0.0)
    assert got == pytest.approx(float(mpmath.digamma(x)), rel=2e-13, abs=2e-14)


def test_reference_page_is_current(request: pytest.FixtureRequest):
    page = request.config.rootpath / "docs" / "reference" / "rules.md"
    assert page.read_text() == render_page(), (
        "run: python -m mlirad.passes.derivatives.render_table > docs/reference/rules.md"
    )
