"""
The scalar functions of `math`, numpy and the builtins that kernels may call.

Each has the result type and the value that numba gives it. `find` looks one up by the Python
object, so that it does not matter under which name a program imported it.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from functools import cache

from xdsl.dialects import arith
from xdsl.dialects import math as ops

from mlirad.frontend import rounding
from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.casts import convert
from mlirad.frontend.function_kinds import (
    Binary,
    Cast,
    Extremum,
    Integral,
    Magnitude,
    Predicate,
    ScalarFunction,
    Select,
    Sign,
    Unary,
    libm,
)
from mlirad.frontend.operators import binary, binary_type
from mlirad.frontend.types import BOOL, FLOAT64, INT64, Scalar, Tuple, Type

UNARY = {
    "sin": ops.SinOp,
    "cos": ops.CosOp,
    "tan": ops.TanOp,
    "asin": ops.AsinOp,
    "acos": ops.AcosOp,
    "atan": ops.AtanOp,
    "sinh": ops.SinhOp,
    "cosh": ops.CoshOp,
    "tanh": ops.TanhOp,
    "asinh": ops.AsinhOp,
    "acosh": ops.AcoshOp,
    "atanh": ops.AtanhOp,
    "exp": ops.ExpOp,
    "exp2": ops.Exp2Op,
    "expm1": ops.ExpM1Op,
    "log": ops.LogOp,
    "log2": ops.Log2Op,
    "log10": ops.Log10Op,
    "log1p": ops.Log1pOp,
    "sqrt": ops.SqrtOp,
    "cbrt": ops.CbrtOp,
    "fabs": ops.AbsFOp,
    "erf": ops.ErfOp,
    "erfc": libm("erfc"),
    "gamma": libm("tgamma"),
    "lgamma": libm("lgamma"),
}
"""By the name in `math`; numpy has most of them, some under the names below."""

BINARY = {
    "pow": ops.PowFOp,
    "atan2": ops.Atan2Op,
    "copysign": ops.CopySignOp,
    "hypot": libm("hypot"),
    "fmod": libm("fmod"),
}

NUMPY_NAMES = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arctan2": "atan2",
}


class Operator(ScalarFunction):
    """An operator of Python under the name of a function."""

    def __init__(self, op: str):
        self.op = op

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return binary_type(self.op, types[0], types[1]) if len(types) == 2 else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        a, b = values
        return binary(self.op, a, b, builder)


class DivMod(ScalarFunction):
    """`divmod(a, b)`: the pair of `a // b` and `a % b`."""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        type_ = binary_type("Mod", types[0], types[1]) if len(types) == 2 else None
        return None if type_ is None else Tuple((type_, type_))

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> tuple[Value, ...]:
        a, b = values
        return binary("FloorDiv", a, b, builder), binary("Mod", a, b, builder)


class Square(ScalarFunction):
    """`x * x`"""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return binary_type("Mult", types[0], types[0]) if len(types) == 1 else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        return binary("Mult", values[0], values[0], builder)


class ToFloat(ScalarFunction):
    """`float(x)`: a float32 stays one, as in numba."""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        if len(types) != 1 or types[0] == BOOL:
            return None
        return types[0] if types[0].kind == "f" else FLOAT64

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = values[0].type
        return convert(values[0], type_ if type_.kind == "f" else FLOAT64, builder)


class ToInt(ScalarFunction):
    """`int(x)`: truncates; an int keeps its type, as in numba."""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        if len(types) != 1:
            return None
        return types[0] if types[0].kind in "iu" else INT64

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = values[0].type
        return convert(values[0], type_ if type_.kind in "iu" else INT64, builder)


@cache
def builtin_functions() -> dict[object, ScalarFunction]:
    return {
        builtins.abs: Magnitude(),
        builtins.min: Extremum("Lt"),
        builtins.max: Extremum("Gt"),
        builtins.round: rounding.Round(),
        builtins.pow: Operator("Pow"),
        builtins.divmod: DivMod(),
        builtins.int: ToInt(),
        builtins.float: ToFloat(),
        builtins.bool: Cast(BOOL),
    }


@cache
def math_functions() -> dict[object, ScalarFunction]:
    named: dict[str, ScalarFunction] = {name: Unary(build) for name, build in UNARY.items()}
    named |= {name: Binary(build) for name, build in BINARY.items()}
    named |= {name: Integral(build) for name, build in rounding.TO_WHOLE.items()}
    named |= {name: Predicate(name) for name in ("isnan", "isinf", "isfinite")}
    named["degrees"] = rounding.Scaled(180.0 / math.pi)
    named["radians"] = rounding.Scaled(math.pi / 180.0)
    return {getattr(math, name): function for name, function in named.items()}


@cache
def numpy_functions() -> dict[object, ScalarFunction]:
    import numpy as np

    named: dict[str, ScalarFunction] = {}
    for name, build in UNARY.items():
        named[name] = Unary(build, wide=True)
    for name, build in BINARY.items():
        named[name] = Binary(build, wide=True)
    named |= {new: named[old] for new, old in NUMPY_NAMES.items()}
    named |= {name: Unary(build, wide=True) for name, build in rounding.TO_WHOLE.items()}
    named |= {name: Predicate(name) for name in ("isnan", "isinf", "isfinite")}
    for name in ("degrees", "rad2deg"):
        named[name] = rounding.Scaled(180.0 / math.pi, wide=True)
    for name in ("radians", "deg2rad"):
        named[name] = rounding.Scaled(math.pi / 180.0, wide=True)
    named |= {
        "rint": Unary(ops.RoundEvenOp, wide=True),
        "abs": Magnitude(),
        "absolute": Magnitude(),
        "maximum": Extremum("Gt", arith.MaximumfOp),
        "minimum": Extremum("Lt", arith.MinimumfOp),
        "fmax": Extremum("Gt", arith.MaxnumfOp),
        "fmin": Extremum("Lt", arith.MinnumfOp),
        "sign": Sign(),
        "square": Square(),
        "power": Operator("Pow"),
        "where": Select(),
        "bool_": Cast(BOOL),
    }
    for kind, name, widths in (
        ("i", "int", (8, 16, 32, 64)),
        ("u", "uint", (8, 16, 32, 64)),
        ("f", "float", (32, 64)),
    ):
        named |= {f"{name}{bits}": Cast(Scalar(kind, bits)) for bits in widths}  # pyright: ignore[reportArgumentType]
    return {getattr(np, name): f for name, f in named.items() if hasattr(np, name)}


TABLES: tuple[Callable[[], dict[object, ScalarFunction]], ...] = (
    builtin_functions,
    math_functions,
    numpy_functions,
)


def find(python_object: object) -> ScalarFunction | None:
    """The scalar function that a Python object is; None if it is none that kernels know."""
    for table in TABLES:
        try:
            found = table().get(python_object)
        except TypeError:  # unhashable: no function
            return None
        if found is not None:
            return found
    return None
