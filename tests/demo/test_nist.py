"""Derivatives of the 27 models against complex step of formulas that share nothing with them."""

import numpy as np
import pytest

from mlirad.demo import datasets
from mlirad.demo.fit import Regression, agreement, fit
from mlirad.demo.models import MODELS
from tests.demo.formulas import FORMULAS, complex_step_jacobian

NAMES = list(MODELS)


@pytest.fixture(scope="module", params=NAMES)
def regression(request):
    return Regression(MODELS[request.param], datasets.load(request.param))


@pytest.fixture(params=["start 1", "start 2", "solution"])
def b(request, regression):
    problem = regression.problem
    points = {"start 1": problem.starts[0], "start 2": problem.starts[1]}
    return points.get(request.param, problem.certified)


def test_model_is_the_formula(regression, b):
    expected = FORMULAS[regression.problem.name](b, regression.problem.x)
    np.testing.assert_allclose(regression.predict(b), expected, rtol=1e-12)


def test_forward_jacobian_is_that_of_complex_step(regression, b):
    expected = complex_step_jacobian(FORMULAS[regression.problem.name], b, regression.problem.x)
    error = np.linalg.norm(regression.jacobian(b) - expected, axis=0)
    assert np.all(error <= 1e-12 * np.linalg.norm(expected, axis=0))


def test_reverse_gradient_is_that_of_complex_step(regression, b):
    problem, formula = regression.problem, FORMULAS[regression.problem.name]
    jacobian, f = complex_step_jacobian(formula, b, problem.x), formula(b, problem.x)
    error = np.abs(regression.gradient(b) - 2 * jacobian.T @ (f - problem.y))
    # relative to its terms: the gradient itself vanishes at the solution
    assert np.all(error <= 1e-12 * 2 * np.abs(jacobian).T @ (np.abs(problem.y) + np.abs(f)))


def test_arguments_are_left_as_they_were(regression, b):
    before = [b.copy(), regression.problem.x.copy(), regression.problem.y.copy()]
    regression.jacobian(b)
    regression.gradient(b)
    for now, then in zip((b, regression.problem.x, regression.problem.y), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_all_fits_find_the_certified_parameters():
    with np.errstate(all="ignore"):
        fits = [
            fit(Regression(model, datasets.load(name)), start)
            for name, model in MODELS.items()
            for start in (1, 2)
        ]
    assert {f"{f.problem} {f.start}": f.digits for f in fits if f.digits < 4} == {}
    assert len(fits) == 54
    assert np.mean([f.digits for f in fits]) >= 9.2


def test_agreement_is_that_of_the_worst_parameter():
    assert agreement(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 11
    assert agreement(np.array([1.0, 2.0002]), np.array([1.0, 2.0])) == pytest.approx(4)
    assert agreement(np.array([1.0, 9.0]), np.array([1.0, 2.0])) == 0
