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
LN_4, HALF_PI = math.log(4.0), math.pi / 2.0
LOG2_E, LOG10_E, LOG_E2 = 1.0 / math.log(2.0), 1.0 / math.log(10.0), math.log(2.0)
LN_10 = math.log(10.0)
DEGREES = 180.0 / math.pi
LARGE = 3.4028234663852886e38 / 4.0
LARGE_ROOT = math.sqrt(LARGE)
SMALL_ROOT = math.sqrt(1.1754943508222875e-38)
LARGEST_SQRT = 1.7976931348623157e308 / (1.0 + math.sqrt(2.0))
FLAT = 20.0
"""From here on `tanh` is 1, and what is missing to 1 is more exact by itself."""


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


# Trigonometric and hyperbolic functions


def turn(z: complex) -> complex:
    """`z * 1j`, exactly."""
    return complex(-z.imag, z.real)


def turn_back(z: complex) -> complex:
    """`z * -1j`, exactly."""
    return complex(z.imag, -z.real)


def cosh(z: complex) -> complex:
    x = z.real
    y = z.imag
    if math.isinf(x):
        if math.isnan(y) or y == 0.0:
            return complex(abs(x), -y if x < 0.0 else y)
        size = math.copysign(x, math.sin(y))
        return complex(math.copysign(x, math.cos(y)), -size if x < 0.0 else size)
    return complex(math.cos(y) * math.cosh(x), math.sin(y) * math.sinh(x))


def sinh(z: complex) -> complex:
    x = z.real
    y = z.imag
    if math.isinf(x):
        if math.isnan(y):
            return complex(x, y)
        c = math.cos(y)
        s = math.sin(y)
        return complex(c * x if c != 0.0 else c, s * abs(x) if s != 0.0 else s)
    return complex(math.cos(y) * math.sinh(x), math.sin(y) * math.cosh(x))


def tanh(z: complex) -> complex:
    x = z.real
    y = z.imag
    if math.isinf(x):
        side = math.copysign(1.0, x)
        if math.isinf(y):
            return complex(side, 0.0)
        return complex(side, math.copysign(0.0, math.sin(2.0 * y)))
    if abs(x) > FLAT:
        missing = 2.0 * math.exp(-2.0 * abs(x))
        return complex(
            math.copysign(1.0, x) * (1.0 - missing * math.cos(2.0 * y)),
            missing * math.sin(2.0 * y),
        )
    tx = math.tanh(x)
    ty = math.tan(y)
    cx = 1.0 / math.cosh(x)
    txty = tx * ty
    denom = 1.0 + txty * txty
    return complex(tx * (1.0 + ty * ty) / denom, ((ty / denom) * cx) * cx)


def numpy_cosh(z: complex) -> complex:
    x = z.real
    y = z.imag
    return complex(math.cos(y) * math.cosh(x), math.sin(y) * math.sinh(x))


def numpy_sinh(z: complex) -> complex:
    x = z.real
    y = z.imag
    return complex(math.cos(y) * math.sinh(x), math.sin(y) * math.cosh(x))


def numpy_tanh(z: complex, one: float = 1.0) -> complex:
    x = z.real
    if abs(x) > FLAT:
        return tanh(z)
    s = math.sin(z.imag)
    c = math.cos(z.imag)
    grown_s = math.sinh(x)
    grown_c = math.cosh(x)
    a = c * grown_s
    b = s * grown_c
    p = c * grown_c
    q = s * grown_s
    scale = one / (p * p + q * q)
    return complex((a * p + b * q) * scale, (b * p - a * q) * scale)


def cos(z: complex) -> complex:
    return cosh(turn(z))


def sin(z: complex) -> complex:
    return turn_back(sinh(turn(z)))


def tan(z: complex) -> complex:
    return turn_back(tanh(turn(z)))


# Their inverses


def acos(z: complex) -> complex:
    if abs(z.real) > LARGE or abs(z.imag) > LARGE:
        size = math.log(math.hypot(z.real * 0.5, z.imag * 0.5)) + LN_4
        return complex(math.atan2(abs(z.imag), z.real), math.copysign(size, -z.imag))
    s1 = sqrt(complex(1.0 - z.real, -z.imag))
    s2 = sqrt(complex(1.0 + z.real, z.imag))
    return complex(
        2.0 * math.atan2(s1.real, s2.real), math.asinh(s2.real * s1.imag - s2.imag * s1.real)
    )


def acosh(z: complex) -> complex:
    if abs(z.real) > LARGE or abs(z.imag) > LARGE:
        size = math.log(math.hypot(z.real * 0.5, z.imag * 0.5)) + LN_4
        return complex(size, math.atan2(z.imag, z.real))
    s1 = sqrt(complex(z.real - 1.0, z.imag))
    s2 = sqrt(complex(z.real + 1.0, z.imag))
    return complex(
        math.asinh(s1.real * s2.real + s1.imag * s2.imag), 2.0 * math.atan2(s1.imag, s2.real)
    )


def numpy_acosh(z: complex) -> complex:
    return log(z + sqrt(z + 1) * sqrt(z - 1))


def asinh(z: complex) -> complex:
    if abs(z.real) > LARGE or abs(z.imag) > LARGE:
        size = math.log(math.hypot(z.real * 0.5, z.imag * 0.5)) + LN_4
        return complex(math.copysign(size, z.real), math.atan2(z.imag, abs(z.real)))
    s1 = sqrt(complex(1.0 + z.imag, -z.real))
    s2 = sqrt(complex(1.0 - z.imag, z.real))
    return complex(
        math.asinh(s1.real * s2.imag - s2.real * s1.imag),
        math.atan2(z.imag, s1.real * s2.real - s1.imag * s2.imag),
    )


def asin(z: complex) -> complex:
    return turn_back(asinh(turn(z)))


def atanh(z: complex) -> complex:
    if z.real < 0.0:
        return -right_atanh(-z)
    return right_atanh(z)


def right_atanh(z: complex) -> complex:
    """For a real part that is not negative."""
    x = z.real
    y = z.imag
    size = abs(y)
    if math.isnan(x) or x > LARGE_ROOT or size > LARGE_ROOT:
        around = -math.copysign(HALF_PI, -y)
        if math.isnan(y):
            around = NAN
        if math.isinf(y):
            return complex(math.copysign(0.0, x), around)
        if math.isinf(x):
            return complex(0.0, around)
        if math.isnan(x):
            return complex(x, around)
        h = math.hypot(x * 0.5, y * 0.5)
        return complex(x / 4.0 / h / h, around - y / 4.0 / h / h)
    if x == 1.0 and size < SMALL_ROOT:
        if size == 0.0:
            return complex(math.log(2.0 / size), y)
        above = math.log(math.hypot(1.0 + x, y)) - math.log(math.hypot(1.0 - x, y))
        return complex(0.5 * above, -math.atan2(-2.0 * y, (1.0 - x) * (1.0 + x)) * 0.5)
    left = 1 - x
    squared = y * y
    return complex(
        math.log1p(4.0 * x / (left * left + squared)) * 0.25,
        -math.atan2(-2.0 * y, left * (1 + x) - squared) * 0.5,
    )


def atan(z: complex) -> complex:
    r = atanh(turn(z))
    if math.isinf(z.real) and math.isnan(z.imag):
        return complex(r.imag, r.real)
    return turn_back(r)
