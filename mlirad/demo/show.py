"""What `mlirad demo` does: fits everything, prints a table, writes a picture."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from mlirad.demo import datasets
from mlirad.demo.fit import Fit, Regression, fit
from mlirad.demo.models import MODELS
from mlirad.demo.square import Gradient, gradients

ENOUGH = 4
"""Digits of the worst parameter that make a fit a success."""


def show(picture: Path, console: Console | None = None) -> int:
    """Runs the demo; returns 0 if every fit agrees with the certified parameters."""
    console = console or Console()
    began = time.perf_counter()
    console.print(
        "27 nonlinear regression problems of NIST, each from two starting points. The model is a "
        "Python kernel, its Jacobian that kernel in forward mode, the gradient of the sum of "
        "squares that kernel in reverse mode."
    )
    regressions, fits = fit_all(console)
    console.print(table(regressions, fits))
    console.print(
        "digits: at the worst parameter, of 11; ms: compiling included; gradient: of the sum of "
        "squares where the fit ended, relative to its terms\n"
    )
    good = sum(f.digits >= ENOUGH for f in fits)
    console.print(
        f"{good} of {len(fits)} fits agree with the certified parameters to at least {ENOUGH} "
        f"digits; average {np.mean([f.digits for f in fits]):.2f} digits, "
        f"{time.perf_counter() - began:.1f} s",
        soft_wrap=True,
    )
    from mlirad.demo.picture import draw  # matplotlib is slow to import

    draw(regressions, fits, picture)
    console.print(f"data and fits: {picture}", soft_wrap=True)
    console.print("\nA kernel that overwrites its argument; x = [2, 2], dx = [0, 1], reverse mode:")
    console.print(squares_table(gradients()))
    return 0 if good == len(fits) else 1


def fit_all(console: Console) -> tuple[list[Regression], list[Fit]]:
    """All problems from both starting points, with a progress bar."""
    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn())
    regressions: list[Regression] = []
    fits: list[Fit] = []
    # A trial step may leave the domain of a model; the solver rejects it.
    with Progress(*columns, console=console, transient=True) as bar, np.errstate(all="ignore"):
        task = bar.add_task("", total=2 * len(MODELS))
        for name, model in MODELS.items():
            regressions.append(Regression(model, datasets.load(name)))
            for start in (1, 2):
                bar.update(task, description=name)
                fits.append(fit(regressions[-1], start))
                bar.advance(task)
    return regressions, fits


def table(regressions: list[Regression], fits: list[Fit]) -> Table:
    shown = Table("problem", "start")
    for title in ("digits", "evaluations", "ms", "gradient"):
        shown.add_column(title, justify="right")
    by_name = {r.problem.name: r for r in regressions}
    for found in fits:
        shown.add_row(
            found.problem if found.start == 1 else "",
            str(found.start),
            f"{found.digits:.1f}",
            str(found.evaluations),
            f"{1e3 * found.seconds:.0f}",
            f"{relative_gradient(by_name[found.problem], found):.0e}",
        )
    return shown


def relative_gradient(regression: Regression, found: Fit) -> float:
    """How far the reverse-mode gradient is from zero, at the worst parameter."""
    b = found.parameters
    size = np.abs(regression.problem.y) + np.abs(regression.predict(b))
    terms = 2 * np.abs(regression.jacobian(b)).T @ size
    return float(np.max(np.abs(regression.gradient(b)) / terms))


def squares_table(squares: list[Gradient]) -> Table:
    shown = Table(escape("x[i] = x[i] * x[i]"), "x after", "dx after")
    for found in squares:
        shown.add_row(escape(found.title), escape(str(found.x)), escape(str(found.dx)))
    return shown
