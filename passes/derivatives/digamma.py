"""The digamma function (the derivative of log gamma) as a formula, for lack of one in libm."""

from math import pi

from xdsl.ir import SSAValue

from mlirad.passes.derivatives import functions as f
from mlirad.passes.derivatives.formula import (
    Emitter,
    Formula,
    Operand,
    apply,
    evaluate,
    where,
)

SHIFT = 8
"""The asymptotic series is used from here on; its first left-out term is below 1e-14 there."""

COEFFICIENTS = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""B(2k) / 2k, of 1 / z**(2k)."""


def series() -> Formula:
    """Reflection to the right half, recurrence up by `SHIFT`, asymptotic series."""
    x = Operand(0)
    positive = where(x < 0.5, 1 - x, x)
    z = positive + SHIFT
    square = 1 / (z * z)
    tail: Formula = square * COEFFICIENTS[-1]
    for coefficient in reversed(COEFFICIENTS[:-1]):
        tail = square * (coefficient + tail)
    above = apply(f.LOG, z) - 0.5 / z - tail
    for k in range(SHIFT):
        above = above - 1 / (positive + k)
    from_whole = x - apply(f.ROUND, x)  # tan(pi x) has period 1; this keeps its precision
    return where(x < 0.5, above - pi / apply(f.TAN, pi * from_whole), above)


SERIES = series()


def compute(x: float) -> float:
    return evaluate(SERIES, (x,), 0.0)


def build(site: f.Site, x: SSAValue) -> SSAValue:
    return Emitter((x,), None, site).emit(SERIES)


DIGAMMA = f.Function("digamma({})", f.CALL, compute, build)
