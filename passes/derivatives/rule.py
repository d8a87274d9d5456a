"""Rules: what one op contributes to a derivative, in either direction."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.builder import Builder
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.passes.derivatives import vector_space
from mlirad.passes.derivatives.formula import (
    Apply,
    Constant,
    Emitter,
    Formula,
    Operand,
    Result,
    Where,
    compared,
    lift,
    uses,
)
from mlirad.passes.derivatives.functions import DIV, Site

Shadow = SSAValue | None
"""A tangent or cotangent; `None` is a structural zero, for which no IR exists."""


class Rule(Protocol):
    """The derivative of an op with one result that computes numbers."""

    def uses(self, op: Operation, active: Sequence[bool] | None = None) -> tuple[SSAValue, ...]:
        """
        The operands and results of `op` whose primal values `pullback` reads, each once.

        `active` says of each operand whether its cotangent is wanted; by default all are.
        """
        ...

    def pushforward(
        self,
        op: Operation,
        tangents: Sequence[Shadow],
        builder: Builder,
        *,
        strong_zero: bool = False,
    ) -> Shadow:
        """
        Tangent of the result, from one tangent per operand.

        Reads the operands and results of `op` itself, which must be in scope at `builder`.
        """
        ...

    def pullback(
        self,
        op: Operation,
        cotangent: Shadow,
        operands: Sequence[SSAValue | None],
        result: SSAValue | None,
        builder: Builder,
        *,
        active: Sequence[bool] | None = None,
        strong_zero: bool = False,
    ) -> tuple[Shadow, ...]:
        """
        One cotangent contribution per operand; None for operands that are not active.

        `operands` and `result` are primal values as they are known at `builder`; those that
        `uses(op, active)` does not name may be None.
        """
        ...


RuleTable = Mapping[type[Operation], Rule]


@dataclass(frozen=True)
class ScalarRule:
    """
    One partial d(result)/d(operand) per operand of a single-result scalar op.

    A partial of `None` says the operand never carries a derivative (an integer). A partial of
    0 says it does, and contributes nothing.
    """

    partials: tuple[Formula | None, ...]

    def uses(self, op: Operation, active: Sequence[bool] | None = None) -> tuple[SSAValue, ...]:
        return self.read(uses, op, active)

    def compares(self, op: Operation, active: Sequence[bool] | None = None) -> tuple[SSAValue, ...]:
        """Those of `uses` that decide something: their last bit matters."""
        return self.read(compared, op, active)

    def read(
        self,
        how: Callable[[Formula], Iterator[Operand | Result]],
        op: Operation,
        active: Sequence[bool] | None,
    ) -> tuple[SSAValue, ...]:
        flags = active or [True] * len(self.partials)
        wanted = [p for p, flag in zip(self.partials, flags, strict=True) if p and flag]
        found = dict.fromkeys(value for partial in wanted for value in how(partial))
        return tuple(
            op.operands[value.index] if isinstance(value, Operand) else op.results[0]
            for value in found
        )

    def pushforward(
        self,
        op: Operation,
        tangents: Sequence[Shadow],
        builder: Builder,
        *,
        strong_zero: bool = False,
    ) -> Shadow:
        """The sum over operands of partial * tangent."""
        scaling = Scaling(op, op.operands, op.results[0], builder, strong_zero)
        total: Shadow = None
        for partial, tangent in zip(self.partials, tangents, strict=True):
            term = scaling.scale(partial, tangent)
            total = add(total, term, builder, op.location, flags_of(op))
        return total

    def pullback(
        self,
        op: Operation,
        cotangent: Shadow,
        operands: Sequence[SSAValue | None],
        result: SSAValue | None,
        builder: Builder,
        *,
        active: Sequence[bool] | None = None,
        strong_zero: bool = False,
    ) -> tuple[Shadow, ...]:
        """partial * cotangent of each operand."""
        scaling = Scaling(op, operands, result, builder, strong_zero)
        flags = active or [True] * len(self.partials)
        return tuple(
            scaling.scale(partial, cotangent if flag else None)
            for partial, flag in zip(self.partials, flags, strict=True)
        )


@dataclass(frozen=True)
class LinearRule:
    """
    An op with one active operand that is its own pushforward.

    `push` builds it on a tangent; `transpose` builds its transpose on a cotangent, giving a
    value of the type of the operand. Neither reads a primal value.
    """

    push: Callable[[Operation, SSAValue, Builder], SSAValue]
    transpose: Callable[[Operation, SSAValue, Builder], SSAValue]

    def uses(self, op: Operation, active: Sequence[bool] | None = None) -> tuple[SSAValue, ...]:
        return ()

    def pushforward(
        self,
        op: Operation,
        tangents: Sequence[Shadow],
        builder: Builder,
        *,
        strong_zero: bool = False,
    ) -> Shadow:
        (tangent,) = tangents
        return None if tangent is None else self.push(op, tangent, builder)

    def pullback(
        self,
        op: Operation,
        cotangent: Shadow,
        operands: Sequence[SSAValue | None],
        result: SSAValue | None,
        builder: Builder,
        *,
        active: Sequence[bool] | None = None,
        strong_zero: bool = False,
    ) -> tuple[Shadow, ...]:
        if cotangent is None or (active is not None and not active[0]):
            return (None,)
        return (self.transpose(op, cotangent, builder),)


class InactiveRule:
    """The derivative of an op that has none by decision: shadows end here."""

    def uses(self, op: Operation, active: Sequence[bool] | None = None) -> tuple[SSAValue, ...]:
        return ()

    def pushforward(
        self,
        op: Operation,
        tangents: Sequence[Shadow],
        builder: Builder,
        *,
        strong_zero: bool = False,
    ) -> Shadow:
        return None

    def pullback(
        self,
        op: Operation,
        cotangent: Shadow,
        operands: Sequence[SSAValue | None],
        result: SSAValue | None,
        builder: Builder,
        *,
        active: Sequence[bool] | None = None,
        strong_zero: bool = False,
    ) -> tuple[Shadow, ...]:
        return (None,) * len(op.operands)


INACTIVE = InactiveRule()


def rule(*partials: Formula | float | None) -> ScalarRule:
    """A scalar rule with one partial per operand."""
    return ScalarRule(tuple(None if p is None else lift(p) for p in partials))


def flags_of(op: Operation) -> FastMathFlagsAttr:
    """The fast-math flags of an op, which derived ops share; none if it has no flags."""
    flags = op.properties.get("fastmath")
    return flags if isinstance(flags, FastMathFlagsAttr) else vector_space.EXACT


class Scaling:
    """Builds products of partials of one op and shadows."""

    def __init__(
        self,
        op: Operation,
        operands: Sequence[SSAValue | None],
        result: SSAValue | None,
        builder: Builder,
        strong_zero: bool,
    ):
        self.site = Site(builder, op.location, op.results[0].type, flags_of(op))
        self.emitter = Emitter(operands, result, self.site)
        self.strong_zero = strong_zero

    def scale(self, partial: Formula | None, shadow: Shadow) -> Shadow:
        """
        partial * shadow, without a product where the partial is 0, 1, -1 or 1 / something.

        A partial that chooses between such numbers chooses between shadows instead, so that
        an infinite shadow cannot make a NaN of the zero on the other side.
        """
        builder, location, type, fastmath = self.site
        match partial, shadow:
            case (None, _) | (_, None) | (Constant(0.0), _):
                return None
            case Constant(1.0), _:
                return shadow
            case Constant(-1.0), _:
                return vector_space.negate(shadow, builder, location, fastmath)
            case Where(condition, chosen, otherwise), _ if is_unit(chosen) or is_unit(otherwise):
                sides = self.scale(chosen, shadow), self.scale(otherwise, shadow)
                if sides == (None, None):
                    return None
                a, b = (instantiate(side, type, builder, location) for side in sides)
                holds = self.emitter.compare(condition)
                return vector_space.choose(holds, a, b, builder, location)
            case Apply(function, (Constant(1.0), divisor)), _ if function is DIV:
                factor = self.emitter.emit(divisor)
                product = vector_space.divide(shadow, factor, builder, location, fastmath)
            case _:
                factor = self.emitter.emit(partial)
                product = vector_space.scale(factor, shadow, builder, location, fastmath)
        if not self.strong_zero:
            return product
        return vector_space.annihilate(product, shadow, builder, location)


def is_unit(formula: Formula) -> bool:
    """Whether scaling by `formula` takes no product."""
    return isinstance(formula, Constant) and formula.value in (0.0, 1.0, -1.0)


def add(
    a: Shadow,
    b: Shadow,
    builder: Builder,
    location: LocationAttr,
    fastmath: FastMathFlagsAttr = vector_space.EXACT,
) -> Shadow:
    """a + b, without an op if one of them is a structural zero."""
    if a is None or b is None:
        return a if b is None else b
    return vector_space.add(a, b, builder, location, fastmath)


def instantiate(
    shadow: Shadow, type: Attribute, builder: Builder, location: LocationAttr
) -> SSAValue:
    """Turns a structural zero of a shadow type into a real one, where a value is needed."""
    if shadow is not None:
        return shadow
    return vector_space.zero(type, builder, location)
