"""The NIST StRD nonlinear regression problems, read from the files that NIST distributes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """
    One data set, its two starting points and its certified answer.

    Shapes: `y` (n,), `x` (n,) or (n, predictors), `starts` (2, p), `certified` (p,).
    """

    name: str
    y: Floats
    x: Floats
    starts: Floats
    certified: Floats


def names() -> list[str]:
    """The names of all problems, in alphabetical order."""
    folder = files("mlirad") / "data" / "nist"
    return sorted(f.name.removesuffix(".dat") for f in folder.iterdir() if f.name.endswith(".dat"))


def load(name: str) -> Problem:
    """Reads one problem. The response of `Nelson` is modelled, and returned, as its logarithm."""
    text = (files("mlirad") / "data" / "nist" / f"{name}.dat").read_text(encoding="ascii")
    return parse(name, text)


def parse(name: str, text: str) -> Problem:
    lines = text.splitlines()
    # A row of the first section is `b1 = start, start, certified, deviation`.
    parameters = numbers([line.partition("=")[2] for line in section(lines, "Starting Values")])
    data = numbers(section(lines, "Data"))
    y = np.log(data[:, 0]) if name == "Nelson" else data[:, 0].copy()
    x = data[:, 1].copy() if data.shape[1] == 2 else data[:, 1:].copy()
    return Problem(name, y, x, parameters[:, :2].T.copy(), parameters[:, 2].copy())


def section(lines: list[str], title: str) -> list[str]:
    """The lines that the header names in `title   (lines 41 to 42)`."""
    pattern = re.compile(rf"{title}\s+\(lines (\d+) to +(\d+)\)", re.IGNORECASE)
    for line in lines:
        if found := pattern.search(line):
            first, last = int(found[1]), int(found[2])
            return lines[first - 1 : last]
    raise ValueError(f"the file has no section '{title}'")


def numbers(rows: list[str]) -> Floats:
    return np.array([[float(word) for word in row.split()] for row in rows])
