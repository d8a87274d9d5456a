"""The NIST models in numpy, typed off the data files, not off the kernels; for complex `b` too."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import arctan, cos, exp, pi, sin

Formula = Callable[[Any, Any], Any]


def gauss(b, x):
    return (
        b[0] * exp(-b[1] * x)
        + b[2] * exp(-((x - b[3]) ** 2) / b[4] ** 2)
        + b[5] * exp(-((x - b[6]) ** 2) / b[7] ** 2)
    )


def enso(b, x):
    return (
        b[0]
        + b[1] * cos(2 * pi * x / 12)
        + b[2] * sin(2 * pi * x / 12)
        + b[4] * cos(2 * pi * x / b[3])
        + b[5] * sin(2 * pi * x / b[3])
        + b[7] * cos(2 * pi * x / b[6])
        + b[8] * sin(2 * pi * x / b[6])
    )


def cubic(b, x):
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (
        1 + b[4] * x + b[5] * x**2 + b[6] * x**3
    )


def lanczos(b, x):
    return b[0] * exp(-b[1] * x) + b[2] * exp(-b[3] * x) + b[4] * exp(-b[5] * x)


def chwirut(b, x):
    return exp(-b[0] * x) / (b[1] + b[2] * x)


def saturation(b, x):
    return b[0] * (1 - exp(-b[1] * x))


FORMULAS: dict[str, Formula] = {
    "Bennett5": lambda b, x: b[0] * (b[1] + x) ** (-1 / b[2]),
    "BoxBOD": saturation,
    "Chwirut1": chwirut,
    "Chwirut2": chwirut,
    "DanWood": lambda b, x: b[0] * x ** b[1],
    "ENSO": enso,
    "Eckerle4": lambda b, x: b[0] / b[1] * exp(-0.5 * ((x - b[2]) / b[1]) ** 2),
    "Gauss1": gauss,
    "Gauss2": gauss,
    "Gauss3": gauss,
    "Hahn1": cubic,
    "Kirby2": lambda b, x: (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2),
    "Lanczos1": lanczos,
    "Lanczos2": lanczos,
    "Lanczos3": lanczos,
    "MGH09": lambda b, x: b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3]),
    "MGH10": lambda b, x: b[0] * exp(b[1] / (x + b[2])),
    "MGH17": lambda b, x: b[0] + b[1] * exp(-x * b[3]) + b[2] * exp(-x * b[4]),
    "Misra1a": saturation,
    "Misra1b": lambda b, x: b[0] * (1 - (1 + b[1] * x / 2) ** (-2.0)),
    "Misra1c": lambda b, x: b[0] * (1 - (1 + 2 * b[1] * x) ** (-0.5)),
    "Misra1d": lambda b, x: b[0] * b[1] * x * (1 + b[1] * x) ** (-1.0),
    "Nelson": lambda b, x: b[0] - b[1] * x[:, 0] * exp(-b[2] * x[:, 1]),
    "Rat42": lambda b, x: b[0] / (1 + exp(b[1] - b[2] * x)),
    "Rat43": lambda b, x: b[0] / (1 + exp(b[1] - b[2] * x)) ** (1 / b[3]),
    "Roszman1": lambda b, x: b[0] - b[1] * x - arctan(b[2] / (x - b[3])) / pi,
    "Thurber": cubic,
}


def complex_step_jacobian(formula: Formula, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """d formula / d b without rounding from differences; shape (n, p)."""
    step = 1e-30
    columns = [formula(b + 1j * step * unit, x).imag / step for unit in np.eye(b.size)]
    return np.stack(columns, axis=1)
