"""
Dual numbers for running Python programs under the interpreter: the oracle of the random tests.

Comparisons look at the value alone, and refuse to decide between values that are close: there a
rounding error may turn the program another way. Nothing here is shared with the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable

MARGIN = 1e-7


class Kink(Exception):
    """The program decides something that its rounding errors may decide otherwise."""


def keep_off(distance: float) -> None:
    if abs(distance) < MARGIN:
        raise Kink


class Dual:
    """`value + tangent * eps` with `eps**2 == 0`."""

    def __init__(self, value: float, tangent: float = 0.0):
        self.value, self.tangent = float(value), float(tangent)

    def __add__(self, other):
        other = lift(other)
        return Dual(self.value + other.value, self.tangent + other.tangent)

    def __sub__(self, other):
        other = lift(other)
        return Dual(self.value - other.value, self.tangent - other.tangent)

    def __mul__(self, other):
        other = lift(other)
        return Dual(
            self.value * other.value, self.tangent * other.value + self.value * other.tangent
        )

    def __truediv__(self, other):
        other = lift(other)
        quotient = self.value / other.value
        return Dual(quotient, (self.tangent - quotient * other.tangent) / other.value)

    def __pow__(self, exponent: int):
        return Dual(self.value**exponent, exponent * self.value ** (exponent - 1) * self.tangent)

    def __mod__(self, other: float):
        result = self.value % other
        keep_off(result)
        keep_off(result - other)
        return Dual(result, self.tangent)

    def __radd__(self, other):
        return lift(other) + self

    def __rsub__(self, other):
        return lift(other) - self

    def __rmul__(self, other):
        return lift(other) * self

    def __rtruediv__(self, other):
        return lift(other) / self

    def __neg__(self):
        return Dual(-self.value, -self.tangent)

    def __abs__(self):
        keep_off(self.value)
        return self if self.value >= 0 else -self

    def __int__(self):
        keep_off(self.value - round(self.value) if round(self.value) else 1.0)
        return int(self.value)

    def beyond(self, other: Dual | float) -> float:
        difference = self.value - lift(other).value
        keep_off(difference)
        return difference

    def __lt__(self, other):
        return self.beyond(other) < 0

    def __le__(self, other):
        return self.beyond(other) <= 0

    def __gt__(self, other):
        return self.beyond(other) > 0

    def __ge__(self, other):
        return self.beyond(other) >= 0


def lift(x: Dual | float) -> Dual:
    return x if isinstance(x, Dual) else Dual(x)


def function(
    value: Callable[[float], float], slope: Callable[[float], float]
) -> Callable[[Dual | float], Dual]:
    def apply(x: Dual | float) -> Dual:
        x = lift(x)
        return Dual(value(x.value), slope(x.value) * x.tangent)

    return apply


class DualMath:
    """Stands in for the module `math` while a program runs on dual numbers."""

    sin = staticmethod(function(math.sin, math.cos))
    cos = staticmethod(function(math.cos, lambda x: -math.sin(x)))
    tanh = staticmethod(function(math.tanh, lambda x: 1 / math.cosh(x) ** 2))
    exp = staticmethod(function(math.exp, math.exp))
    sqrt = staticmethod(function(math.sqrt, lambda x: 0.5 / math.sqrt(x)))
    log = staticmethod(function(math.log, lambda x: 1 / x))
    atan = staticmethod(function(math.atan, lambda x: 1 / (1 + x * x)))

    @staticmethod
    def hypot(x: Dual | float, y: Dual | float) -> Dual:
        x, y = lift(x), lift(y)
        length = math.hypot(x.value, y.value)
        return Dual(length, (x.value * x.tangent + y.value * y.tangent) / length)

    @staticmethod
    def atan2(y: Dual | float, x: Dual | float) -> Dual:
        y, x = lift(y), lift(x)
        square = x.value * x.value + y.value * y.value
        slope = (x.value * y.tangent - y.value * x.tangent) / square
        return Dual(math.atan2(y.value, x.value), slope)

    @staticmethod
    def pow(x: Dual | float, y: Dual | float) -> Dual:
        return DualMath.exp(lift(y) * DualMath.log(x))
