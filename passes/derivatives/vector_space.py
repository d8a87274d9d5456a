"""
What a shadow's type must be able to do: zero, addition, negation, scaling, choice.

Shadows of `f32` and `f64` have the type of their primal. Whoever adds a kind of shadow
(complex numbers, several tangents at once) extends this file; rules only call it.
"""

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, LocationAttr
from xdsl.ir import Attribute, SSAValue

EXACT = FastMathFlagsAttr("none")


def is_differentiable(type: Attribute) -> bool:
    """Whether a scalar of this type can carry a derivative."""
    return isinstance(type, (Float32Type, Float64Type))


def shadow_type(type: Attribute) -> Attribute:
    """The type of the tangents and cotangents of values of a differentiable scalar type."""
    assert is_differentiable(type), f"{type} carries no derivative"
    return type


def constant(value: float, type: Attribute, builder: Builder, location: LocationAttr) -> SSAValue:
    """A number of a differentiable scalar type."""
    assert isinstance(type, (Float32Type, Float64Type))
    properties = {"value": FloatAttr(value, type)}
    op = arith.ConstantOp.create(result_types=[type], properties=properties, location=location)
    return builder.insert(op).result


def zero(type: Attribute, builder: Builder, location: LocationAttr) -> SSAValue:
    """The neutral element of `add`."""
    return constant(0.0, type, builder, location)


def add(
    a: SSAValue,
    b: SSAValue,
    builder: Builder,
    location: LocationAttr,
    fastmath: FastMathFlagsAttr = EXACT,
) -> SSAValue:
    """a + b"""
    return binary(arith.AddfOp, a, b, builder, location, fastmath)


def scale(
    factor: SSAValue,
    shadow: SSAValue,
    builder: Builder,
    location: LocationAttr,
    fastmath: FastMathFlagsAttr = EXACT,
) -> SSAValue:
    """factor * shadow, for a primal `factor`."""
    return binary(arith.MulfOp, factor, shadow, builder, location, fastmath)


def divide(
    shadow: SSAValue,
    divisor: SSAValue,
    builder: Builder,
    location: LocationAttr,
    fastmath: FastMathFlagsAttr = EXACT,
) -> SSAValue:
    """shadow / divisor, for a primal `divisor`."""
    return binary(arith.DivfOp, shadow, divisor, builder, location, fastmath)


def negate(
    shadow: SSAValue,
    builder: Builder,
    location: LocationAttr,
    fastmath: FastMathFlagsAttr = EXACT,
) -> SSAValue:
    """-shadow"""
    op = arith.NegfOp.create(
        operands=[shadow],
        result_types=[shadow.type],
        properties={"fastmath": fastmath},
        location=location,
    )
    return builder.insert(op).result


def choose(
    condition: SSAValue,
    a: SSAValue,
    b: SSAValue,
    builder: Builder,
    location: LocationAttr,
) -> SSAValue:
    """`a` where the `i1` condition holds, else `b`."""
    op = arith.SelectOp.create(operands=[condition, a, b], result_types=[a.type], location=location)
    return builder.insert(op).result


def annihilate(
    product: SSAValue, shadow: SSAValue, builder: Builder, location: LocationAttr
) -> SSAValue:
    """`product`, but 0 where `shadow` is 0: makes the zero of a shadow a strong one."""
    nothing = zero(shadow.type, builder, location)
    is_zero = arith.CmpfOp(shadow, nothing, "oeq")
    is_zero.location = location
    return choose(builder.insert(is_zero).result, nothing, product, builder, location)


def binary(
    op_class: type[arith.FloatingPointLikeBinaryOperation],
    a: SSAValue,
    b: SSAValue,
    builder: Builder,
    location: LocationAttr,
    fastmath: FastMathFlagsAttr,
) -> SSAValue:
    op = op_class.create(
        operands=[a, b],
        result_types=[a.type],
        properties={"fastmath": fastmath},
        location=location,
    )
    return builder.insert(op).result
