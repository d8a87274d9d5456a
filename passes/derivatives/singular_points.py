"""
Where a partial has no single right value, and the value it has here.

Equal to JAX's unless the reason says otherwise. The tests hold the rules to this table, and the
reference page prints it.
"""

from collections.abc import Sequence
from math import inf, nan
from typing import NamedTuple


class SingularPoint(NamedTuple):
    """The partials of `op` (an op name or a libm symbol) at `operands`."""

    op: str
    operands: tuple[float, ...]
    partials: tuple[float | None, ...]
    reason: str


TIE = "a tie goes to the first operand, as in numpy.where (JAX: half to each)"
ONE_SIDED = "the one-sided slope"
JUMP = "0 also at a jump"

SINGULAR_POINTS: Sequence[SingularPoint] = (
    SingularPoint("arith.maximumf", (2.0, 2.0), (1, 0), TIE),
    SingularPoint("arith.minimumf", (2.0, 2.0), (1, 0), TIE),
    SingularPoint("arith.maxnumf", (2.0, 2.0), (1, 0), TIE),
    SingularPoint("arith.minnumf", (2.0, 2.0), (1, 0), TIE),
    SingularPoint("arith.maxnumf", (nan, 2.0), (0, 1), "NaN is skipped"),
    SingularPoint("arith.minnumf", (2.0, nan), (1, 0), "NaN is skipped"),
    SingularPoint("math.absf", (0.0,), (0,), "between -1 and 1"),
    SingularPoint("math.absf", (-0.0,), (0,), "between -1 and 1"),
    SingularPoint("math.sqrt", (0.0,), (inf,), ONE_SIDED),
    SingularPoint("math.rsqrt", (0.0,), (-inf,), ONE_SIDED),
    SingularPoint("math.cbrt", (0.0,), (inf,), "the slope"),
    SingularPoint("math.log", (0.0,), (inf,), ONE_SIDED),
    SingularPoint("math.log2", (0.0,), (inf,), ONE_SIDED),
    SingularPoint("math.log10", (0.0,), (inf,), ONE_SIDED),
    SingularPoint("math.log1p", (-1.0,), (inf,), ONE_SIDED),
    SingularPoint("math.asin", (1.0,), (inf,), ONE_SIDED),
    SingularPoint("math.asin", (-1.0,), (inf,), ONE_SIDED),
    SingularPoint("math.acos", (1.0,), (-inf,), ONE_SIDED),
    SingularPoint("math.acos", (-1.0,), (-inf,), ONE_SIDED),
    SingularPoint("math.acosh", (1.0,), (inf,), ONE_SIDED),
    SingularPoint("math.acosh", (-2.0,), (nan,), "outside the domain (JAX: a number)"),
    SingularPoint("math.atanh", (1.0,), (inf,), ONE_SIDED),
    SingularPoint("math.atanh", (-1.0,), (inf,), ONE_SIDED),
    SingularPoint("math.asinh", (1e200,), (1e-200,), "no overflow (JAX: 0)"),
    SingularPoint("math.atan2", (0.0, 0.0), (nan, nan), "no limit exists"),
    SingularPoint("math.atan2", (1e200, 0.0), (0, -1e-200), "no overflow (JAX: 0)"),
    SingularPoint("math.copysign", (0.0, -1.0), (-1, 0), "by the sign bits"),
    SingularPoint("math.copysign", (-0.0, -0.0), (1, 0), "by the sign bits"),
    SingularPoint("math.powf", (0.0, 0.0), (0, 0), "0 in x because x**0 is 1; in y as JAX"),
    SingularPoint("math.powf", (0.0, 1.0), (1, 0), "the limit"),
    SingularPoint("math.powf", (0.0, 2.0), (0, 0), "the limit"),
    SingularPoint("math.powf", (0.0, 0.5), (inf, 0), ONE_SIDED),
    SingularPoint("math.powf", (0.0, -1.0), (-inf, nan), "no limit exists in y"),
    SingularPoint("math.powf", (-2.0, 2.0), (-4, nan), "real only at whole y"),
    SingularPoint("math.fpowi", (0.0, 0), (0, None), "x**0 is 1"),
    SingularPoint("math.fpowi", (0.0, 1), (1, None), "the slope"),
    SingularPoint("math.fpowi", (0.0, -1), (-inf, None), ONE_SIDED),
    SingularPoint("math.ceil", (2.0,), (0,), JUMP),
    SingularPoint("math.floor", (2.0,), (0,), JUMP),
    SingularPoint("math.round", (2.5,), (0,), JUMP),
    SingularPoint("math.roundeven", (2.5,), (0,), JUMP),
    SingularPoint("math.trunc", (2.0,), (0,), JUMP),
    SingularPoint("cbrt", (0.0,), (inf,), "the slope"),
    SingularPoint("fdim", (2.0, 2.0), (0, 0), "a tie is on the flat side"),
    SingularPoint("fmod", (4.0, 2.0), (1, -2), "the side of the larger x"),
    SingularPoint("hypot", (0.0, 0.0), (0, 0), "between -1 and 1"),
    SingularPoint("lgamma", (0.0,), (-inf,), "a pole (JAX: NaN)"),
)
