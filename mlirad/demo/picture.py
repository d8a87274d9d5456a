"""All data sets and their fits in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from matplotlib.figure import Figure

from mlirad.demo.datasets import Floats
from mlirad.demo.fit import Fit, Regression


def draw(regressions: Sequence[Regression], fits: Sequence[Fit], path: Path) -> None:
    """Writes one panel per problem to `path`: the data, and the fit from each starting point."""
    figure = cast("Any", Figure(figsize=(18, 13), layout="constrained"))  # its types are partial
    panels = list(figure.subplots(5, 6).flat)
    for regression, axes in zip(regressions, panels, strict=False):
        draw_problem(axes, regression, [f for f in fits if f.problem == regression.problem.name])
    for axes in panels[len(regressions) :]:
        axes.axis("off")
    figure.suptitle("NIST StRD nonlinear regression: data, and fits from both starting points")
    figure.savefig(path, dpi=110)


def draw_problem(axes: Any, regression: Regression, fits: Sequence[Fit]) -> None:
    problem = regression.problem
    axes.set_title(problem.name, fontsize=9)
    axes.tick_params(labelsize=6)
    if problem.x.ndim == 1:
        at, x = problem.x, np.linspace(float(problem.x.min()), float(problem.x.max()), 300)
        along = x
    else:  # two predictors: the number of the observation is the axis
        at, x = np.arange(problem.y.size, dtype=np.float64), problem.x
        along = at
    axes.plot(at, problem.y, ".", color="0.6", markersize=4)
    for found, style in zip(fits, ("-", "--"), strict=True):
        predicted: Floats = regression.predict(found.parameters, x)
        axes.plot(along, predicted, style, linewidth=1.2)
