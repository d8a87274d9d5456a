"""
Derivative rules of `math`.

Where either would do, a partial reads the result rather than the operand: the result is more
often at hand in the reverse sweep. Where a partial needs care at a point, the argument is replaced
there, not the value: then nothing infinite is left in it for a second derivative to trip over.
"""

from math import log as ln
from math import pi, sqrt

from xdsl.dialects import math

from mlirad.passes.derivatives import functions as f
from mlirad.passes.derivatives.formula import Formula, Operand, Result, apply, where
from mlirad.passes.derivatives.rule import RuleTable, ScalarRule, rule

X, Y, OUT = Operand(0), Operand(1), Result()

STEP = rule(0)
"""Piecewise constant: the derivative is 0, also at the jumps."""

BIG = 1e10
"""Beyond it 1 + x**2 is x**2 in all our types; below its square fits in all of them."""


def atan2_rule() -> ScalarRule:
    """x / (x**2 + y**2) and -y / (x**2 + y**2), by a ratio below 1 so that nothing overflows."""
    y, x = X, Y
    is_flat = apply(f.ABS, x) >= apply(f.ABS, y)
    larger, smaller = where(is_flat, x, y), where(is_flat, y, x)
    ratio = smaller / larger
    of_larger = 1 / (larger * (1 + ratio * ratio))
    of_smaller = ratio * of_larger
    return rule(where(is_flat, of_larger, of_smaller), -where(is_flat, of_smaller, of_larger))


def powf_rule() -> ScalarRule:
    """0 in x where y is 0, also at x = 0; in y, 0 at x = 0 < y and NaN for negative x."""
    in_x = Y * apply(f.POW, where(Y.equals(0), 1, X), Y - 1)
    in_y = apply(f.LOG, where(X.equals(0), 1, X)) * OUT
    return rule(in_x, in_y)


def fpowi_rule() -> ScalarRule:
    """Also 0 where the exponent is 0. The exponent less one wraps at the least integer."""
    exponent = apply(f.TO_FLOAT, Y)
    base = where(exponent.equals(0), 1, X)
    return rule(exponent * apply(f.INTEGER_POWER, base, apply(f.PREDECESSOR, Y)), None)


def sign(x: Formula) -> Formula:
    """1 or -1, by the sign bit."""
    return apply(f.COPYSIGN, 1, x)


def root(x: Formula) -> Formula:
    return apply(f.SQRT, x)


MATH_RULES: RuleTable = {
    math.AbsFOp: rule(where(X < 0, -1, where(X.equals(0), 0, 1))),
    math.AcosOp: rule(-1 / root((1 - X) * (1 + X))),
    math.AcoshOp: rule(1 / (root(X - 1) * root(X + 1))),
    math.AsinOp: rule(1 / root((1 - X) * (1 + X))),
    math.AsinhOp: rule(1 / where(apply(f.ABS, X) > BIG, apply(f.ABS, X), root(X * X + 1))),
    math.AtanOp: rule(1 / (1 + X * X)),
    math.Atan2Op: atan2_rule(),
    math.AtanhOp: rule(1 / ((1 - X) * (1 + X))),
    math.CbrtOp: rule(1 / (3 * OUT * OUT)),
    math.CeilOp: STEP,
    math.CopySignOp: rule(where(sign(X).equals(sign(Y)), 1, -1), 0),
    math.CosOp: rule(-apply(f.SIN, X)),
    math.CoshOp: rule(apply(f.SINH, X)),
    math.ErfOp: rule(2 / sqrt(pi) * apply(f.EXP, -(X * X))),
    math.ExpOp: rule(OUT),
    math.Exp2Op: rule(ln(2) * OUT),
    math.ExpM1Op: rule(OUT + 1),
    math.FloorOp: STEP,
    math.FmaOp: rule(Y, X, 1),
    math.FPowIOp: fpowi_rule(),
    math.LogOp: rule(1 / X),
    math.Log10Op: rule(1 / ln(10) / X),
    math.Log1pOp: rule(1 / (1 + X)),
    math.Log2Op: rule(1 / ln(2) / X),
    math.PowFOp: powf_rule(),
    math.RoundOp: STEP,
    math.RoundEvenOp: STEP,
    math.RsqrtOp: rule(-0.5 * OUT * OUT * OUT),
    math.SinOp: rule(apply(f.COS, X)),
    math.SinhOp: rule(apply(f.COSH, X)),
    math.SqrtOp: rule(0.5 / OUT),
    math.TanOp: rule(1 + OUT * OUT),
    math.TanhOp: rule((1 - OUT) * (1 + OUT)),
    math.TruncOp: STEP,
}
