"""Runs straight-line IR on Python floats; shares no code with the rules or the back ends."""

import math
from collections.abc import Callable, Sequence

import mpmath
import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

Number = float | int


def mp(name: str) -> Callable[[float], float]:
    """A function of mpmath on floats, with limits where mpmath raises and NaN off the reals."""

    def compute(x: float) -> float:
        value = getattr(mpmath, name)(x)
        return float(value) if isinstance(value, mpmath.mpf) else math.nan

    return compute


def ieee(compute: Callable[[np.float64, np.float64], np.float64]) -> Callable[..., float]:
    return lambda a, b: float(compute(np.float64(a), np.float64(b)))


SEMANTICS: dict[str, Callable[..., Number]] = {
    "arith.addf": ieee(np.add),
    "arith.subf": ieee(np.subtract),
    "arith.mulf": ieee(np.multiply),
    "arith.divf": ieee(np.divide),
    "arith.negf": lambda a: -a,
    "arith.select": lambda c, a, b: a if c else b,
    "arith.sitofp": float,
    "arith.subi": lambda a, b: a - b,
    "math.absf": abs,
    "math.copysign": math.copysign,
    "math.cos": mp("cos"),
    "math.cosh": mp("cosh"),
    "math.exp": mp("exp"),
    "math.exp2": lambda a: float(np.exp2(a)),
    "math.fpowi": lambda a, n: float(np.power(np.float64(a), np.float64(n))),
    "math.log": lambda a: float(np.log(np.float64(a))),
    "math.powf": ieee(np.power),
    "math.roundeven": lambda a: float(np.rint(a)),
    "math.sin": mp("sin"),
    "math.sinh": mp("sinh"),
    "math.sqrt": lambda a: float(np.sqrt(np.float64(a))),
    "math.tan": mp("tan"),
}
COMPARE = {1: "equal", 2: "greater", 3: "greater_equal", 4: "less", 5: "less_equal"}


def compute(op: Operation, args: Sequence[Number]) -> Number:
    match op:
        case arith.ConstantOp(value=FloatAttr() | IntegerAttr() as value):
            return value.value.data
        case arith.CmpfOp():
            return bool(getattr(np, COMPARE[op.predicate.value.data])(*args))
        case arith.ExtFOp() | arith.TruncFOp():
            narrow = isinstance(op.results[0].type, Float32Type)
            return float(np.float32(args[0])) if narrow else args[0]
        case _:
            return SEMANTICS[op.name](*args)


def run(ops: Sequence[Operation], values: dict[SSAValue, Number]) -> None:
    """Adds the results of `ops` to `values`, which holds everything they read from outside."""
    with np.errstate(all="ignore"):
        for op in ops:
            values[op.results[0]] = compute(op, [values[o] for o in op.operands])
