"""
The functions of complex numbers, in the language that kernels are written in.

They are numba's formulas, which are CPython's and numpy's, so that values agree; they are
compiled and differentiated like a user's functions. Where numba treats a part as a constant or
a special case loses a derivative, the formula here keeps it. A parameter whose default is a float
is a constant that has the type of the parts. `complex_functions` says which Python function each
one is.
"""

from __future__ import annotations

import math

import numpy as np

NAN, INF = math.nan, math.inf
LOG2_E, LOG10_E, LOG_E2 = 1.0 / math.log(2.0), 1.0 / math.log(10.0), math.log(2.0)
LN_10 = math.log(10.0)
DEGREES = 180.0 / math.pi
LARGEST_SQRT = 1.7976931348623157e308 / (1.0 + math.sqrt(2.0))


def stop_gradient(x: float) -> float:
    """The compiler knows it by its name: `x`, held fixed."""
    return x


# Parts


def real(z: complex) -> float:
    return z.real


def imag(z: complex) -> float:
    return z.imag


def conjugate(z: complex) -> complex:
    return z.conjugate()


def magnitude(z: complex) -> float:
    return math.hypot(z.real, z.imag)


def phase(z: complex) -> float:
    return math.atan2(z.imag, z.real)


def angle(z: complex, deg: bool = False) -> float:
    turned = np.float64(np.arctan2(z.imag, z.real))
    if deg:
        return turned * DEGREES
    return turned


def polar(z: complex) -> tuple[float, float]:
    return math.hypot(z.real, z.imag), math.atan2(z.imag, z.real)


def rect(r: float, phi: float) -> complex:
    if math.isfinite(phi) and math.isfinite(r):
        return complex(math.cos(phi) * r, math.sin(phi) * r)
    if not math.isfinite(phi):
        if r == 0:
            return complex(abs(r))
        if math.isinf(r):
            return complex(r, phi)
    x = math.cos(phi)
    y = math.sin(phi)
    return complex(
        x / r if x == 0.0 and math.isinf(r) else x * r,
        y / r if y == 0.0 and math.isinf(r) else y * r,
    )


def isnan(z: complex) -> bool:
    return math.isnan(z.real) or math.isnan(z.imag)


def isinf(z: complex) -> bool:
    return math.isinf(z.real) or math.isinf(z.imag)


def isfinite(z: complex) -> bool:
    return math.isfinite(z.real) and math.isfinite(z.imag)


def isreal(z: complex) -> bool:
    return z.imag == 0


def iscomplex(z: complex) -> bool:
    return z.imag != 0


def sign(z: complex) -> complex:
    size = math.hypot(z.real, z.imag)
    if size == 0:
        return 0 * z
    return z / size


def rint(z: complex) -> complex:
    return complex(np.rint(z.real), np.rint(z.imag))


# Powers, exponentials, logarithms


def square(z: complex) -> complex:
    return z * z


def reciprocal(z: complex) -> complex:
    if z.real == 0 and z.imag == 0:
        return complex(NAN * z.real, NAN * z.imag)  # nor is there a derivative
    return 1 / z


def power(a: complex, b: complex) -> complex:
    size = math.hypot(a.real, a.imag)
    if size == 0:
        if b.imag == 0 and b.real > 0:
            # As powers of the parts, zero has the derivatives of z ** b.
            return complex(math.pow(a.real + 0.0, b.real), math.pow(a.imag + 0.0, b.real))
        if b.imag == 0 and b.real == 0:
            return complex(math.pow(a.real, b.real), 0.0)
        return complex(NAN * a.real, NAN * a.imag)
    turned = math.atan2(a.imag, a.real)
    grown = math.pow(size, b.real) * math.exp(-turned * b.imag)
    around = turned * b.real + b.imag * math.log(size)
    return complex(grown * math.cos(around), grown * math.sin(around))


def variable_power(a: complex, b: complex) -> complex:
    polar_form = power(a, b)
    if b.real == 2 and b.imag == 0:
        # The value is that of the product, the derivative that of the power.
        more = a * a - polar_form
        return polar_form + complex(stop_gradient(more.real), stop_gradient(more.imag))
    return polar_form


def exp(z: complex) -> complex:
    x = z.real
    y = z.imag
    if math.isfinite(x) or (x < 0.0 and math.isfinite(y)):
        r = math.exp(x)
        return complex(r * math.cos(y), r * math.sin(y))
    if math.isnan(x):
        if y != 0.0:
            return complex(x, x)
        return complex(x, y)
    if x < 0.0:
        return complex(0.0, 0.0)
    if not math.isfinite(y):
        return complex(x, NAN)
    c = math.cos(y)
    s = math.sin(y)
    return complex(c * x if c != 0.0 else c, s * x if s != 0.0 else s)


def exp2(z: complex, scale: float = LOG_E2) -> complex:
    return exp(complex(scale * z.real, scale * z.imag))


def expm1(z: complex) -> complex:
    r = math.exp(z.real)
    return complex(r * math.cos(z.imag) - 1.0, r * math.sin(z.imag))


def log(z: complex) -> complex:
    return complex(math.log(math.hypot(z.real, z.imag)), math.atan2(z.imag, z.real))


def log_to_base(z: complex, base: complex) -> complex:
    return log(z) / log(base)


def log2(z: complex, scale: float = LOG2_E) -> complex:
    w = log(z)
    return complex(scale * w.real, scale * w.imag)


def log10(z: complex, scale: float = LOG10_E) -> complex:
    w = log(z)
    return complex(scale * w.real, scale * w.imag)


def cmath_log10(z: complex) -> complex:
    w = log(z)
    return complex(w.real / LN_10, w.imag / LN_10)


def log1p(z: complex, one: float = 1.0) -> complex:
    one_more = z.real + one
    return complex(math.log(math.hypot(one_more, z.imag)), math.atan2(z.imag, one_more))


def sqrt(z: complex) -> complex:
    a = z.real
    b = z.imag
    if math.isfinite(a) and math.isfinite(b) and (a != 0.0 or b != 0.0):
        scale = 1.0
        if abs(a) >= LARGEST_SQRT or abs(b) >= LARGEST_SQRT:
            a = a * 0.25
            b = b * 0.25
            scale = 2.0
        size = math.hypot(a, b)
        if a >= 0:
            t = math.sqrt((a + size) * 0.5)
            return complex(t * scale, b / (2 * t))
        t = math.sqrt((-a + size) * 0.5)
        # abs(b), but with a derivative at zero: which side of the cut it is on, its sign says.
        size = b * math.copysign(1.0, b)
        return complex(size / (2 * t) * scale, math.copysign(t, b))
    if a == 0.0 and b == 0.0:
        t = math.sqrt(abs(b) + a + b)  # zero, with an infinite derivative
        return complex(t, math.copysign(t, b))
    if math.isinf(b):
        return complex(abs(b), b)
    if math.isnan(a):
        return complex(a, a)
    if math.isinf(a):
        if a < 0.0:
            return complex(abs(b - b), math.copysign(a, b))
        return complex(a, math.copysign(b - b, b))
    return complex(b, b)
