"""
Derivative rules of functions of libm that have no op, by symbol.

A call has such a rule only if it refers to a declaration marked `mlirad.pure`.
"""

from collections.abc import Mapping
from math import log as ln
from math import pi, sqrt

from mlirad.passes.derivatives import functions as f
from mlirad.passes.derivatives.digamma import DIGAMMA
from mlirad.passes.derivatives.formula import Operand, Result, apply, where
from mlirad.passes.derivatives.rule import Rule, rule

X, Y, OUT = Operand(0), Operand(1), Result()
LENGTH = where(OUT.equals(0), 1, OUT)  # of a hypotenuse, without 0 / 0 at the origin


def in_both_precisions(rules: Mapping[str, Rule]) -> Mapping[str, Rule]:
    """The rules for `f64` and, with names that end in f, for `f32`."""
    return {**rules, **{f"{name}f": known for name, known in rules.items()}}


# The quotients of fmod and remainder are whole numbers; rounding removes the error of `/`.
LIBM_RULES: Mapping[str, Rule] = in_both_precisions(
    {
        "cbrt": rule(1 / (3 * OUT * OUT)),
        "erfc": rule(-2 / sqrt(pi) * apply(f.EXP, -(X * X))),
        "exp10": rule(ln(10) * OUT),
        "fdim": rule(where(X > Y, 1, 0), where(X > Y, -1, 0)),
        "fmod": rule(1, -apply(f.ROUND, (X - OUT) / Y)),
        "hypot": rule(X / LENGTH, Y / LENGTH),
        "ldexp": rule(apply(f.EXP2, apply(f.TO_FLOAT, Y)), None),
        "lgamma": rule(apply(DIGAMMA, X)),
        "remainder": rule(1, -apply(f.ROUND, (X - OUT) / Y)),
        "tgamma": rule(OUT * apply(DIGAMMA, X)),
    }
)
