"""What each op with a scalar rule computes, by mpmath, and where its partials are compared."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import mpmath as mp

Interval = tuple[float, float]


class Primal(NamedTuple):
    """A function and, per operand, where it is smooth; bounds of type int mean an integer."""

    compute: Callable[..., mp.mpf]
    domain: Sequence[Interval]


ALL, POSITIVE, UNIT = (-3.0, 3.0), (0.1, 5.0), (-0.95, 0.95)
ONE, LEFT, RIGHT = (0.1, 0.9), (-3.0, -0.5), (0.5, 3.0)


def fmod(x: mp.mpf, y: mp.mpf) -> mp.mpf:
    return x - y * mp.mpf(int(x / y))


PRIMALS: dict[str, Primal] = {
    "arith.addf": Primal(lambda x, y: x + y, (ALL, ALL)),
    "arith.subf": Primal(lambda x, y: x - y, (ALL, ALL)),
    "arith.mulf": Primal(lambda x, y: x * y, (ALL, ALL)),
    "arith.divf": Primal(lambda x, y: x / y, (ALL, RIGHT)),
    "arith.negf": Primal(lambda x: -x, (ALL,)),
    "arith.maximumf": Primal(max, (ALL, (4.0, 5.0))),
    "arith.minimumf": Primal(min, (ALL, (4.0, 5.0))),
    "arith.maxnumf": Primal(max, ((4.0, 5.0), ALL)),
    "arith.minnumf": Primal(min, ((4.0, 5.0), ALL)),
    "math.absf": Primal(abs, (LEFT,)),
    "math.acos": Primal(mp.acos, (UNIT,)),
    "math.acosh": Primal(mp.acosh, ((1.1, 9.0),)),
    "math.asin": Primal(mp.asin, (UNIT,)),
    "math.asinh": Primal(mp.asinh, (ALL,)),
    "math.atan": Primal(mp.atan, (ALL,)),
    "math.atan2": Primal(mp.atan2, (RIGHT, ALL)),
    "math.atanh": Primal(mp.atanh, (UNIT,)),
    "math.cbrt": Primal(lambda x: mp.sign(x) * mp.cbrt(abs(x)), (LEFT,)),
    "math.ceil": Primal(mp.ceil, (ONE,)),
    "math.copysign": Primal(lambda x, y: abs(x) * mp.sign(y), (LEFT, RIGHT)),
    "math.cos": Primal(mp.cos, (ALL,)),
    "math.cosh": Primal(mp.cosh, (ALL,)),
    "math.erf": Primal(mp.erf, (ALL,)),
    "math.exp": Primal(mp.exp, (ALL,)),
    "math.exp2": Primal(lambda x: mp.mpf(2) ** x, (ALL,)),
    "math.expm1": Primal(mp.expm1, (ALL,)),
    "math.floor": Primal(mp.floor, (ONE,)),
    "math.fma": Primal(lambda x, y, z: x * y + z, (ALL, ALL, ALL)),
    "math.fpowi": Primal(lambda x, n: x**n, (LEFT, (-4, 4))),
    "math.log": Primal(mp.log, (POSITIVE,)),
    "math.log10": Primal(mp.log10, (POSITIVE,)),
    "math.log1p": Primal(mp.log1p, (POSITIVE,)),
    "math.log2": Primal(lambda x: mp.log(x, 2), (POSITIVE,)),
    "math.powf": Primal(lambda x, y: x**y, (POSITIVE, ALL)),
    "math.round": Primal(mp.nint, ((0.6, 1.4),)),
    "math.roundeven": Primal(mp.nint, ((0.6, 1.4),)),
    "math.rsqrt": Primal(lambda x: 1 / mp.sqrt(x), (POSITIVE,)),
    "math.sin": Primal(mp.sin, (ALL,)),
    "math.sinh": Primal(mp.sinh, (ALL,)),
    "math.sqrt": Primal(mp.sqrt, (POSITIVE,)),
    "math.tan": Primal(mp.tan, (UNIT,)),
    "math.tanh": Primal(mp.tanh, (ALL,)),
    "math.trunc": Primal(lambda x: mp.mpf(int(x)), (ONE,)),
    "cbrt": Primal(mp.cbrt, (POSITIVE,)),
    "erfc": Primal(mp.erfc, (ALL,)),
    "exp10": Primal(lambda x: mp.mpf(10) ** x, (ALL,)),
    "fdim": Primal(lambda x, y: max(x - y, mp.mpf(0)), ((4.0, 5.0), ALL)),
    "fmod": Primal(fmod, ((4.1, 4.9), (1.7, 1.95))),
    "hypot": Primal(mp.hypot, (LEFT, ALL)),
    "ldexp": Primal(lambda x, n: x * mp.mpf(2) ** n, (ALL, (-4, 4))),
    "lgamma": Primal(lambda x: mp.log(abs(mp.gamma(x))), ((0.2, 40.0),)),
    "remainder": Primal(lambda x, y: x - y * mp.nint(x / y), ((4.1, 4.4), (1.7, 1.95))),
    "tgamma": Primal(mp.gamma, ((-1.9, -1.1),)),
}
