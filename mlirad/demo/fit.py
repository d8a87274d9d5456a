"""Least-squares fits whose Jacobian is the forward-mode derivative of a kernel."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import optimize

import mlirad as ad
from mlirad.demo.datasets import Floats, Problem
from mlirad.demo.models import Model

BLOCK = 64
LEAST_SQUARES = cast("Any", optimize).least_squares  # scipy has no types
# One method and one set of options for all problems; nothing here knows the certified values.
OPTIONS: dict[str, Any] = {
    "method": "trf",
    "x_scale": "jac",
    "xtol": 1e-15,
    # The sum of squares stands still before the parameters do: with 1e-15 here the 54 fits keep
    # 9.14 to 9.29 digits on average, without it 9.27 to 9.39, depending on the processor.
    "ftol": None,
    "gtol": 1e-15,
    "max_nfev": 20_000,
}


class Regression:
    """A model kernel and the data it is fitted to."""

    def __init__(self, model: Model, problem: Problem):
        self.problem = problem
        self.grid = -(-problem.y.size // BLOCK)
        self.model = ad.kernel(model)
        self.tangent = ad.forward(self.model, ad.Dual, ad.Const, ad.Dual)
        self.cotangent = ad.reverse(self.model, ad.Duplicated, ad.Const, ad.Duplicated)

    def predict(self, b: Floats, x: Floats | None = None) -> Floats:
        """The model at the observations, or at other predictors `x`; shape (n,)."""
        x = self.problem.x if x is None else x
        f = np.empty(len(x))
        self.model[-(-len(x) // BLOCK), BLOCK](b, x, f)
        return f

    def residuals(self, b: Floats) -> Floats:
        return self.predict(b) - self.problem.y

    def jacobian(self, b: Floats) -> Floats:
        """d model / d b by forward mode, one launch per parameter; shape (n, p)."""
        columns = np.zeros((b.size, self.problem.y.size))
        f = np.empty(self.problem.y.size)
        for db, column in zip(np.eye(b.size), columns, strict=True):
            self.tangent[self.grid, BLOCK](b, db, self.problem.x, f, column)
        return columns.T

    def gradient(self, b: Floats) -> Floats:
        """d (sum of squared residuals) / d b by reverse mode, one launch; shape (p,)."""
        f = np.empty(self.problem.y.size)
        seed = 2 * self.residuals(b)
        b_ct = np.zeros(b.size)
        self.cotangent[self.grid, BLOCK](b, b_ct, self.problem.x, f, seed)
        return b_ct


@dataclass(frozen=True)
class Fit:
    """Where a fit from starting point `start` (1 or 2) ended, and what it took."""

    problem: str
    start: int
    parameters: Floats
    digits: float
    evaluations: int
    seconds: float


def fit(regression: Regression, start: int) -> Fit:
    """Fits from one of the two starting points of the problem (1 or 2)."""
    began = time.perf_counter()
    problem = regression.problem
    found = LEAST_SQUARES(
        regression.residuals, problem.starts[start - 1], regression.jacobian, **OPTIONS
    )
    parameters: Floats = found.x
    return Fit(
        problem=problem.name,
        start=start,
        parameters=parameters,
        digits=agreement(parameters, problem.certified),
        evaluations=int(found.nfev),
        seconds=time.perf_counter() - began,
    )


def agreement(parameters: Floats, certified: Floats) -> float:
    """How many digits agree, at the worst parameter; at most the 11 that are certified."""
    error = np.max(np.abs(parameters - certified) / np.abs(certified))
    return 11.0 if error == 0 else float(np.clip(-np.log10(error), 0, 11))
