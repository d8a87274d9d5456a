"""
The scalar functions of `math`, numpy and the builtins that kernels may call.

Each has the result type and the value that numba gives it. `find` looks one up by the Python
object, so that it does not matter under which name a program imported it.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from functools import cache, partial, reduce

from xdsl.dialects import arith
from xdsl.dialects import math as ops

from mlirad.frontend import powers, rounding
from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.casts import convert, float_of
from mlirad.frontend.function_kinds import (
    Binary,
    Cast,
    Extremum,
    Integral,
    Magnitude,
    Predicate,
    Remainder,
    ScalarFunction,
    Select,
    Sign,
    Unary,
    Whole,
    libm,
    math_type,
    numpy_arithmetic_type,
    numpy_type,
    power_type,
)
from mlirad.frontend.operators import binary, binary_type
from mlirad.frontend.types import BOOL, FLOAT64, INT64, UINT64, Scalar, Tuple, Type

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

    def type_of(self, types: Sequence[Scalar]) -> Scalar:
        # numba's signatures are not those of the operators where signs differ.
        kinds = {t.kind for t in types}
        if kinds == {"i", "u"} and UINT64 in types:
            return FLOAT64
        type_ = UINT64 if kinds == {"b", "u"} else binary_type("Mod", types[0], types[1])
        assert type_ is not None, f"divmod of {types[0]} and {types[1]}"
        return type_

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return Tuple((self.type_of(types),) * 2) if len(types) == 2 else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> tuple[Value, ...]:
        type_ = self.type_of([value.type for value in values])
        a, b = (convert(value, type_, builder) for value in values)
        return binary("FloorDiv", a, b, builder), binary("Mod", a, b, builder)


class Power(Binary):
    """`np.power`: like `**`, with the types of numpy."""

    def __init__(self):
        super().__init__(ops.PowFOp, numpy_arithmetic_type)

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = self.typing([value.type for value in values])
        base, exponent = values
        if type_.kind == "f" and isinstance(exponent.constant, int):
            return powers.power(base, exponent, type_, builder)
        if type_.kind == "f":
            return super().emit(values, builder)
        # An unsigned exponent must not look negative; the low bits of the power are the same.
        own = INT64 if type_.kind == "u" else type_
        operands = [convert(value, own, builder).ssa for value in values]
        result = Value(builder.insert(ops.IPowIOp(*operands)).results[0], own)
        return convert(result, type_, builder)


class LogOf(ScalarFunction):
    """`math.log(x)` and, as Python computes it, `math.log(x, base)`."""

    def result(self, types: Sequence[Scalar], constants: Sequence[object]) -> Type | None:
        return math_type(types) if len(types) in (1, 2) else None

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        logs = [Unary(ops.LogOp).emit([value], builder) for value in values]
        return logs[0] if len(logs) == 1 else binary("Div", logs[0], logs[1], builder)


class Square(Unary):
    """`x * x`, of the type of `x`."""

    def __init__(self):
        super().__init__(ops.PowFOp, numpy_arithmetic_type)

    def emit(self, values: Sequence[Value], builder: SourceBuilder) -> Value:
        type_ = self.typing([values[0].type])
        x = convert(values[0], type_, builder).ssa
        multiply = arith.MulfOp if type_.kind == "f" else arith.MuliOp
        return Value(builder.insert(multiply(x, x)).results[0], type_)


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
    named["log"] = LogOf()
    named["pow"] = Binary(ops.PowFOp, power_type)
    named["copysign"] = Binary(ops.CopySignOp, partial(reduce, float_of))
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
        named[name] = Unary(build, numpy_type)
    for name, build in BINARY.items():
        named[name] = Binary(build, numpy_type)
    named |= {new: named[old] for new, old in NUMPY_NAMES.items()}
    named |= {name: Whole(build) for name, build in rounding.TO_WHOLE.items()}
    named |= {name: Predicate(name) for name in ("isnan", "isinf", "isfinite")}
    for name in ("degrees", "rad2deg"):
        named[name] = rounding.Scaled(180.0 / math.pi, numpy_type)
    for name in ("radians", "deg2rad"):
        named[name] = rounding.Scaled(math.pi / 180.0, numpy_type)
    named |= {
        "rint": Unary(ops.RoundEvenOp, numpy_type),
        "abs": Magnitude(),
        "absolute": Magnitude(),
        "maximum": Extremum("Gt", arith.MaximumfOp),
        "minimum": Extremum("Lt", arith.MinimumfOp),
        "fmax": Extremum("Gt", arith.MaxnumfOp),
        "fmin": Extremum("Lt", arith.MinnumfOp),
        "sign": Sign(),
        "square": Square(),
        "power": Power(),
        "pow": Power(),
        "fmod": Remainder(),
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
