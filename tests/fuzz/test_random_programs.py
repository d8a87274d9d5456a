"""Random programs against the interpreter; `python -m tests.fuzz` runs many more."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.check import checked
from tests.fuzz.dual import Dual, DualMath

NUMBERS = st.floats(-2, 2)
FUNCTIONS = {
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "exp": math.exp,
    "atan": math.atan,
}


@pytest.mark.parametrize("seed", range(16))
def test_both_modes_agree_with_the_interpreter(seed: int, tmp_path: Path) -> None:
    checked(seed, tmp_path)


@settings(max_examples=16, deadline=None, derandomize=True)
@given(seed=st.integers(100, 1_000_000))
def test_both_modes_agree_on_any_program(seed: int, tmp_path_factory: pytest.TempPathFactory):
    checked(seed, tmp_path_factory.mktemp("program"))


@given(x=NUMBERS, y=NUMBERS, dx=NUMBERS, dy=NUMBERS)
@settings(max_examples=30, derandomize=True)
def test_the_oracle_agrees_with_complex_step(x: float, y: float, dx: float, dy: float) -> None:
    step = 1e-30
    a, b = Dual(x, dx), Dual(y, dy)
    p, q = complex(x, step * dx), complex(y, step * dy)

    def formula(u, v):
        return ((u * v - v) / (u * u + 3.0) + 1.5 * u - (2.0 - v)) ** 3

    assert formula(a, b).value == pytest.approx(formula(p, q).real)
    assert formula(a, b).tangent == pytest.approx(formula(p, q).imag / step, rel=1e-9, abs=1e-12)


@given(x=NUMBERS)
@settings(max_examples=20, derandomize=True)
def test_functions_of_the_oracle_agree_with_differences(x: float) -> None:
    h = 1e-6
    for name, function in FUNCTIONS.items():
        slope = getattr(DualMath, name)(Dual(x, 1.0)).tangent
        assert slope == pytest.approx(
            (function(x + h) - function(x - h)) / (2 * h), rel=1e-5, abs=1e-7
        )


@given(x=st.floats(0.5, 2), y=st.floats(0.5, 2), dx=NUMBERS, dy=NUMBERS)
@settings(max_examples=20, derandomize=True)
def test_functions_of_two_numbers_agree_with_differences(
    x: float, y: float, dx: float, dy: float
) -> None:
    h = 1e-6
    for name in ("hypot", "atan2", "pow"):
        function = getattr(math, name)
        slope = getattr(DualMath, name)(Dual(x, dx), Dual(y, dy)).tangent
        change = function(x + h * dx, y + h * dy) - function(x - h * dx, y - h * dy)
        assert slope == pytest.approx(change / (2 * h), rel=1e-5, abs=1e-7)
    change = math.log(x + h * dx) - math.log(x - h * dx)
    assert DualMath.log(Dual(x, dx)).tangent == pytest.approx(change / (2 * h), rel=1e-5, abs=1e-7)
