"""
Trigonometric and hyperbolic functions of complex numbers, and their inverses.

Formulas like those of `complex_formulas`, which see.
"""

from __future__ import annotations

import math

from mlirad.frontend.complex_formulas import NAN, log, sqrt

LN_4, HALF_PI = math.log(4.0), math.pi / 2.0
LARGE = 3.4028234663852886e38 / 4.0
LARGE_ROOT = math.sqrt(LARGE)
SMALL_ROOT = math.sqrt(1.1754943508222875e-38)
FLAT = 20.0
"""From here on `tanh` is 1, and what is missing to 1 is more exact by itself."""


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
