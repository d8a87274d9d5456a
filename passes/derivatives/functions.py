"""The functions that formulas are made of: how to print, compute and build each one."""

from __future__ import annotations

import math as pymath
from collections.abc import Callable
from typing import NamedTuple, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue


class Site(NamedTuple):
    """Where ops are built, and what they have in common."""

    builder: Builder
    location: LocationAttr
    type: Attribute
    """The type of the numbers computed."""
    fastmath: FastMathFlagsAttr


class Function(NamedTuple):
    """
    A function that formulas may apply.

    Args:
        text: a template with one `{}` per argument.
        precedence: how tightly `text` binds: 1 sums, 2 products, 3 signs, 4 calls.
        compute: the function on Python floats, total as in IEEE 754.
        build: builds it from values in scope at the site.
    """

    text: str
    precedence: int
    compute: Callable[..., float]
    build: Callable[..., SSAValue]


SUM, PRODUCT, SIGN, CALL = 1, 2, 3, 4


def single_op(op_class: type[Operation]) -> Callable[..., SSAValue]:
    """Builds one op that has `fastmath` and a result of the site's type."""

    def build(site: Site, *args: SSAValue) -> SSAValue:
        op = op_class.create(
            operands=args,
            result_types=[site.type],
            properties={"fastmath": site.fastmath},
            location=site.location,
        )
        return site.builder.insert(op).results[0]

    return build


def call(name: str, compute: Callable[..., float], op_class: type[Operation]) -> Function:
    arity = 2 if op_class in (math.PowFOp, math.CopySignOp) else 1
    text = f"{name}({', '.join(['{}'] * arity)})"
    return Function(text, CALL, total(compute), single_op(op_class))


def total(compute: Callable[..., float]) -> Callable[..., float]:
    """`compute` with the results of IEEE 754 where Python raises."""

    def computed(*args: float) -> float:
        try:
            return compute(*args)
        except ValueError:
            return pymath.nan
        except OverflowError:
            return pymath.inf

    return computed


def divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or pymath.isnan(a):
        return pymath.nan
    return pymath.copysign(pymath.inf, a) * pymath.copysign(1, b)


def power(a: float, b: float) -> float:
    if a == 0 and b < 0:
        odd = b % 2 == 1
        return pymath.copysign(pymath.inf, a) if odd else pymath.inf
    return pymath.pow(a, b)


def logarithm(a: float) -> float:
    return pymath.log(a) if a != 0 else -pymath.inf


def nearest(a: float) -> float:
    return float(round(a)) if pymath.isfinite(a) else a


def predecessor(n: float) -> float:
    return n - 1


def build_to_float(site: Site, integer: SSAValue) -> SSAValue:
    op = arith.SIToFPOp.create(operands=[integer], result_types=[site.type], location=site.location)
    return site.builder.insert(op).results[0]


def build_predecessor(site: Site, integer: SSAValue) -> SSAValue:
    one = arith.ConstantOp(IntegerAttr(1, cast(IntegerType, integer.type)))
    one.location = site.location
    op = arith.SubiOp(integer, site.builder.insert(one).result)
    op.location = site.location
    return site.builder.insert(op).result


ADD = Function("{} + {}", SUM, float.__add__, single_op(arith.AddfOp))
SUB = Function("{} - {}", SUM, float.__sub__, single_op(arith.SubfOp))
MUL = Function("{} * {}", PRODUCT, float.__mul__, single_op(arith.MulfOp))
DIV = Function("{} / {}", PRODUCT, divide, single_op(arith.DivfOp))
NEG = Function("-{}", SIGN, float.__neg__, single_op(arith.NegfOp))
ABS = call("abs", float.__abs__, math.AbsFOp)
COPYSIGN = call("copysign", pymath.copysign, math.CopySignOp)
COS = call("cos", pymath.cos, math.CosOp)
COSH = call("cosh", pymath.cosh, math.CoshOp)
EXP = call("exp", pymath.exp, math.ExpOp)
LOG = call("log", logarithm, math.LogOp)
POW = call("pow", power, math.PowFOp)
ROUND = call("round", nearest, math.RoundEvenOp)
SIN = call("sin", pymath.sin, math.SinOp)
SINH = call("sinh", pymath.sinh, math.SinhOp)
SQRT = call("sqrt", pymath.sqrt, math.SqrtOp)
TAN = call("tan", pymath.tan, math.TanOp)
EXP2 = call("exp2", pymath.exp2, math.Exp2Op)

TO_FLOAT = Function("{}", CALL, float, build_to_float)
"""An integer operand as a number."""
PREDECESSOR = Function("{} - 1", SUM, predecessor, build_predecessor)
"""An integer operand less one, wrapping."""
INTEGER_POWER = Function("pow({}, {})", CALL, total(power), single_op(math.FPowIOp))
"""A number to an integer power."""
