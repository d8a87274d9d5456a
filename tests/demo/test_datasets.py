"""The NIST files, read."""

import numpy as np
import pytest

from mlirad.demo import datasets
from mlirad.demo.models import MODELS


def test_every_data_set_has_a_model():
    assert list(MODELS) == datasets.names()
    assert len(MODELS) == 27


def test_a_file_is_read_as_its_header_says():
    problem = datasets.load("Misra1a")
    assert problem.y.shape == problem.x.shape == (14,)
    assert (problem.y[0], problem.x[0], problem.y[-1], problem.x[-1]) == (10.07, 77.6, 81.78, 760.0)
    np.testing.assert_array_equal(problem.starts, [[500, 0.0001], [250, 0.0005]])
    np.testing.assert_array_equal(problem.certified, [238.94212918, 5.5015643181e-04])


def test_nelson_has_two_predictors_and_models_a_logarithm():
    problem = datasets.load("Nelson")
    assert problem.x.shape == (128, 2)
    assert problem.y[0] == np.log(15.0)


@pytest.mark.parametrize("name", datasets.names())
def test_residuals_at_the_certified_parameters_are_the_certified_ones(name):
    """The header also certifies the sum of squares, which checks data and formula at once."""
    from importlib.resources import files

    from tests.demo.formulas import FORMULAS

    text = (files("mlirad") / "data" / "nist" / f"{name}.dat").read_text(encoding="ascii")
    (line,) = (x for x in text.splitlines() if x.startswith("Residual Sum of Squares:"))
    problem = datasets.load(name)
    residuals = FORMULAS[name](problem.certified, problem.x) - problem.y
    # Lanczos1 fits to rounding: its certified sum is that of 11 certified digits, 1e-25
    assert residuals @ residuals == pytest.approx(float(line.split(":")[1]), rel=1e-6, abs=1e-19)


def test_a_file_without_a_section_is_refused():
    with pytest.raises(ValueError, match="no section 'Starting Values'"):
        datasets.parse("nothing", "Data (lines 1 to 2)")
