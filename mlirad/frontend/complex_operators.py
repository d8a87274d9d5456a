"""
Python's operators on complex numbers, with numba's types and values.

A complex number is a pair of floats; beside another number both become complex numbers of one
type. Everything here is straight-line code, so that loops over complex numbers stay simple.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from mlirad.frontend import casts
from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.operands import ComplexValue, Number
from mlirad.frontend.types import BOOL, Complex, Scalar, Type

OPERATORS = ("Add", "Sub", "Mult", "Div", "Pow")
"""What complex numbers take part in; powers are a function, see `complex_formulas`."""


def common_type(a: Type, b: Type, in_a_variable: bool = False) -> Complex | None:
    """
    The complex type of a result with these operands, at least one of which is complex.

    `in_a_variable` asks for that of a variable that holds either.
    """
    if not isinstance(a, Scalar | Complex) or not isinstance(b, Scalar | Complex):
        return None
    narrow = casts.UNIFIED if in_a_variable else casts.ARITHMETIC
    parts = [t.part if isinstance(t, Complex) else t for t in (a, b)]
    return Complex(2 * casts.float_of(parts[0], parts[1], narrow).bits)


def convert(value: Number, to: Complex, builder: SourceBuilder) -> ComplexValue:
    """`value` as a complex number of type `to`."""
    if isinstance(value, ComplexValue):
        if value.type == to:
            return value
        real = casts.convert(value.real, to.part, builder)
        return ComplexValue(real, casts.convert(value.imag, to.part, builder))
    zero = Value(casts.number(0.0, to.part, builder), to.part, 0.0)
    return ComplexValue(casts.convert(value, to.part, builder), zero)


def constant(number: complex, type_: Complex, builder: SourceBuilder) -> ComplexValue:
    """A complex number known while compiling."""
    parts = [
        Value(casts.number(part, type_.part, builder), type_.part, part)
        for part in (number.real, number.imag)
    ]
    return ComplexValue(parts[0], parts[1], number)


class Floats:
    """Arithmetic on floats of one type, for formulas."""

    def __init__(self, type_: Scalar, builder: SourceBuilder):
        self.type, self.builder = type_, builder

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.insert(arith.AddfOp(a, b)).results[0]

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.insert(arith.SubfOp(a, b)).results[0]

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.insert(arith.MulfOp(a, b)).results[0]

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.insert(arith.DivfOp(a, b)).results[0]

    def neg(self, a: SSAValue) -> SSAValue:
        return self.builder.insert(arith.NegfOp(a)).results[0]

    def size(self, a: SSAValue) -> SSAValue:
        return self.builder.insert(math.AbsFOp(a)).results[0]

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.insert(arith.SelectOp(condition, a, b)).result

    def holds(self, a: SSAValue, predicate: str, b: SSAValue) -> SSAValue:
        return self.builder.insert(arith.CmpfOp(a, b, predicate)).result

    def zero(self) -> SSAValue:
        return casts.number(0.0, self.type, self.builder)

    def pair(self, real: SSAValue, imag: SSAValue) -> ComplexValue:
        return ComplexValue(Value(real, self.type), Value(imag, self.type))


Formula = Callable[[Floats, ComplexValue, ComplexValue], ComplexValue]


def add(f: Floats, z: ComplexValue, w: ComplexValue) -> ComplexValue:
    return f.pair(f.add(z.real.ssa, w.real.ssa), f.add(z.imag.ssa, w.imag.ssa))


def subtract(f: Floats, z: ComplexValue, w: ComplexValue) -> ComplexValue:
    return f.pair(f.sub(z.real.ssa, w.real.ssa), f.sub(z.imag.ssa, w.imag.ssa))


def multiply(f: Floats, z: ComplexValue, w: ComplexValue) -> ComplexValue:
    a, b, c, d = z.real.ssa, z.imag.ssa, w.real.ssa, w.imag.ssa
    real = f.sub(f.mul(a, c), f.mul(b, d))
    return f.pair(real, f.add(f.mul(a, d), f.mul(b, c)))


def divide(f: Floats, z: ComplexValue, w: ComplexValue) -> ComplexValue:
    """
    Smith's method, as CPython and numba do it: both sides are divided by the larger part of `w`.

    The operands are chosen before they are divided, so that no way which is not taken divides
    by zero. Division by zero gives infinities or NaN, as numpy has it.
    """
    a, b, c, d = z.real.ssa, z.imag.ssa, w.real.ssa, w.imag.ssa
    upright = f.holds(f.size(c), "oge", f.size(d))
    large, small = f.select(upright, c, d), f.select(upright, d, c)
    first, second = f.select(upright, a, b), f.select(upright, b, a)
    by_zero = f.holds(large, "oeq", f.zero())
    ratio = f.select(by_zero, f.zero(), f.div(small, large))
    below = f.add(large, f.mul(small, ratio))
    real = f.div(f.add(first, f.mul(second, ratio)), below)
    imag = f.div(f.sub(second, f.mul(first, ratio)), below)
    return f.pair(real, f.select(upright, imag, f.neg(imag)))


FORMULAS: dict[str, Formula] = {
    "Add": add,
    "Sub": subtract,
    "Mult": multiply,
    "Div": divide,
}


def binary(op: str, left: Number, right: Number, builder: SourceBuilder) -> ComplexValue:
    """`left op right` for an operator of `FORMULAS`; one operand is complex."""
    type_ = common_type(left.type, right.type)
    assert type_ is not None
    floats = Floats(type_.part, builder)
    return FORMULAS[op](floats, convert(left, type_, builder), convert(right, type_, builder))


def unary(op: str, z: ComplexValue, builder: SourceBuilder) -> ComplexValue | Value:
    """`op z` for `-`, `+` and `not`."""
    if op == "UAdd":
        return z
    if op == "Not":
        true = casts.number(True, BOOL, builder)
        return Value(builder.insert(arith.XOrIOp(truth(z, builder), true)).results[0], BOOL)
    floats = Floats(z.type.part, builder)
    return floats.pair(floats.neg(z.real.ssa), floats.neg(z.imag.ssa))


def truth(z: ComplexValue, builder: SourceBuilder) -> SSAValue:
    """Whether `z` is not zero, as an `i1`."""
    real, imag = (casts.is_nonzero(part, builder) for part in (z.real, z.imag))
    return builder.insert(arith.OrIOp(real, imag)).results[0]


def equal(op: str, left: Number, right: Number, builder: SourceBuilder) -> Value:
    """`left == right` or, for the operator `NotEq`, `left != right`."""
    type_ = common_type(left.type, right.type)
    assert type_ is not None
    z, w = convert(left, type_, builder), convert(right, type_, builder)
    floats = Floats(type_.part, builder)
    predicate, join = ("oeq", arith.AndIOp) if op == "Eq" else ("une", arith.OrIOp)
    real = floats.holds(z.real.ssa, predicate, w.real.ssa)
    imag = floats.holds(z.imag.ssa, predicate, w.imag.ssa)
    return Value(builder.insert(join(real, imag)).results[0], BOOL)
