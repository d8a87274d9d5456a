"""
The functions of complex numbers that kernels may call, by the Python object.

Each is a formula of `complex_formulas` or `complex_trigonometry`, compiled like any other function.
"""

from __future__ import annotations

import builtins
import cmath
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Literal

from mlirad.frontend import complex_formulas, complex_trigonometry

Result = Literal["as computed", "as the argument", "as the part"]


@dataclass(frozen=True, slots=True)
class ComplexFunction:
    """
    A function of complex numbers.

    Attributes:
        name: of the formula that is compiled.
        result: whether the result has the type of the argument, or of its part, whatever the
            formula computes in.
        lifts: whether real arguments become complex numbers, as for all of `cmath`; otherwise
            they mean another function.
        as_they_are: whether real arguments are taken too, as they are.
    """

    name: str
    result: Result = "as the argument"
    lifts: bool = False
    as_they_are: bool = False

    @property
    def formula(self) -> FunctionType:
        return getattr(complex_trigonometry, self.name, None) or getattr(
            complex_formulas, self.name
        )


CMATH = "exp log sqrt sin cos tan sinh cosh asin acos atan asinh atanh isnan isinf isfinite".split()
"""Functions of `cmath` whose result has the type of the argument."""

NUMPY = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sqrt": "sqrt", "square": "square", "sin": "sin",
    "cos": "cos", "tan": "tan", "sinh": "numpy_sinh", "cosh": "numpy_cosh",
    "tanh": "numpy_tanh",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh",
    "arccosh": "numpy_acosh", "arctanh": "atanh", "reciprocal": "reciprocal", "sign": "sign",
    "rint": "rint",
}  # fmt: skip
"""numpy's names, and those of the formulas."""

QUESTIONS = ("isnan", "isinf", "isfinite")


@cache
def table() -> dict[object, ComplexFunction]:
    import numpy as np

    found: dict[object, ComplexFunction] = {
        builtins.abs: ComplexFunction("magnitude", "as the part"),
        cmath.phase: ComplexFunction("phase", "as the part", lifts=True),
        cmath.polar: ComplexFunction("polar", "as computed", lifts=True),
        cmath.rect: ComplexFunction("rect", "as computed", as_they_are=True),
        cmath.log10: ComplexFunction("cmath_log10", "as computed", lifts=True),
        cmath.acosh: ComplexFunction("acosh", "as computed", lifts=True),
        cmath.tanh: ComplexFunction("tanh", "as computed", lifts=True),
        np.abs: ComplexFunction("magnitude", "as the part"),
        np.angle: ComplexFunction("angle", "as computed", as_they_are=True),
        np.real: ComplexFunction("real", "as computed", as_they_are=True),
        np.imag: ComplexFunction("imag", "as computed", as_they_are=True),
        np.conj: ComplexFunction("conjugate", "as computed", as_they_are=True),
        np.isreal: ComplexFunction("isreal", "as computed", as_they_are=True),
        np.iscomplex: ComplexFunction("iscomplex", "as computed", as_they_are=True),
    }
    for name in CMATH:
        kind: Result = "as computed" if name in QUESTIONS else "as the argument"
        found[getattr(cmath, name)] = ComplexFunction(name, kind, lifts=True)
    for name, formula in NUMPY.items():
        found[getattr(np, name)] = ComplexFunction(formula)
    for name in QUESTIONS:
        found[getattr(np, name)] = ComplexFunction(name, "as computed")
    return found


def find(python_object: object) -> ComplexFunction | None:
    """The function of complex numbers that a Python object is; None for any other."""
    try:
        return table().get(python_object)
    except TypeError:  # unhashable: no function
        return None
