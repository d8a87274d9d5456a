"""All data sets and their fits in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from matplotlib.figure import Figure

from mlirad.demo.datasets import Floats, Problem
from mlirad.demo.fit import Fit, Regression

DATA, FIRST, SECOND = "0.62", "tab:blue", "tab:orange"


def draw(regressions: Sequence[Regression], fits: Sequence[Fit], path: Path) -> None:
    """Writes one panel per problem to `path`: data, starting points and where the fits ended."""
    figure = cast("Any", Figure(figsize=(18, 13.5), layout="constrained"))  # its types are partial
    panels = list(figure.subplots(5, 6).flat)
    for regression, axes in zip(regressions, panels, strict=False):
        draw_problem(axes, regression, [f for f in fits if f.problem == regression.problem.name])
    spare = panels[len(regressions) :]
    for axes in spare:
        axes.axis("off")
    if spare:
        spare[0].legend(*panels[0].get_legend_handles_labels(), loc="center left", frameon=False)
    figure.suptitle("NIST StRD nonlinear regression: data, and fits from both starting points")
    figure.savefig(path, dpi=110)


def draw_problem(axes: Any, regression: Regression, fits: Sequence[Fit]) -> None:
    problem = regression.problem
    digits = min(f.digits for f in fits)
    axes.set_title(f"{problem.name}   {digits:.1f} digits", fontsize=9)
    axes.tick_params(labelsize=6)
    axes.spines[["top", "right"]].set_visible(False)
    along, curves = curves_of(problem)
    axes.plot(along, problem.y, "o", color=DATA, markersize=2.5, label="data")
    axes.margins(y=0.08)
    axes.set_ylim(axes.get_ylim())  # the data decide: a starting point may be far off
    for number, (at, x) in enumerate(curves):
        for found, color, style in zip(fits, (FIRST, SECOND), ("-", "--"), strict=True):
            label = f"start {found.start}" if number == 0 else None
            with np.errstate(all="ignore"):
                began = regression.predict(problem.starts[found.start - 1], x)
            axes.plot(at, began, ":", color=color, linewidth=0.9, label=label)
            ended = regression.predict(found.parameters, x)
            label = label and f"fit from {label}"
            axes.plot(at, ended, style, color=color, linewidth=1.3, label=label)


def curves_of(problem: Problem) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    """
    Where the observations are along the axis, and the predictors of each curve through them.

    One predictor: one dense curve. Two: one curve per value of the second, along the first.
    """
    if problem.x.ndim == 1:
        x = np.linspace(float(problem.x.min()), float(problem.x.max()), 300)
        return problem.x, [(x, x)]
    along, other = problem.x.T
    first = np.linspace(float(along.min()), float(along.max()), 100)
    return along, [(first, np.stack([first, np.full(100, v)], 1)) for v in np.unique(other)]
