"""
Closed-form local partials, as data.

A `Formula` is written once in a rule table and read four ways: `emit` builds IR, `evaluate`
computes a number, `uses` names the primal values it reads (so the residual analysis need not
run the transformation), `render` prints it for the docs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from mlirad.passes.derivatives import functions, vector_space


class Formula:
    """A number made of an op's operands and result; arithmetic builds bigger ones."""

    def __add__(self, other: Formula | float) -> Formula:
        return Apply(functions.ADD, (self, lift(other)))

    def __radd__(self, other: float) -> Formula:
        return Apply(functions.ADD, (lift(other), self))

    def __sub__(self, other: Formula | float) -> Formula:
        return Apply(functions.SUB, (self, lift(other)))

    def __rsub__(self, other: float) -> Formula:
        return Apply(functions.SUB, (lift(other), self))

    def __mul__(self, other: Formula | float) -> Formula:
        return Apply(functions.MUL, (self, lift(other)))

    def __rmul__(self, other: float) -> Formula:
        return Apply(functions.MUL, (lift(other), self))

    def __truediv__(self, other: Formula | float) -> Formula:
        return Apply(functions.DIV, (self, lift(other)))

    def __rtruediv__(self, other: float) -> Formula:
        return Apply(functions.DIV, (lift(other), self))

    def __neg__(self) -> Formula:
        return Apply(functions.NEG, (self,))

    def __gt__(self, other: Formula | float) -> Comparison:
        return Comparison("ogt", self, lift(other))

    def __ge__(self, other: Formula | float) -> Comparison:
        return Comparison("oge", self, lift(other))

    def __lt__(self, other: Formula | float) -> Comparison:
        return Comparison("olt", self, lift(other))

    def __le__(self, other: Formula | float) -> Comparison:
        return Comparison("ole", self, lift(other))

    def equals(self, other: Formula | float) -> Comparison:
        """`self == other` as a condition; `==` itself compares formulas, not numbers."""
        return Comparison("oeq", self, lift(other))


@dataclass(frozen=True, slots=True)
class Operand(Formula):
    """The op's operand number `index`, as a primal value."""

    index: int


@dataclass(frozen=True, slots=True)
class Result(Formula):
    """The op's single result, as a primal value."""


@dataclass(frozen=True, slots=True)
class Constant(Formula):
    """A number, given the type of the op's result."""

    value: float


@dataclass(frozen=True, slots=True)
class Apply(Formula):
    """`function` applied to `args`."""

    function: functions.Function
    args: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Where(Formula):
    """`chosen` where the condition holds, else `otherwise`; the other one cannot leak."""

    condition: Comparison
    chosen: Formula
    otherwise: Formula


class Comparison(NamedTuple):
    """A condition: one of the ordered predicates of `arith.cmpf`, false where a side is NaN."""

    predicate: str
    left: Formula
    right: Formula


class Predicate(NamedTuple):
    text: str
    compute: Callable[[float, float], bool]


PREDICATES = {
    "oeq": Predicate("==", operator.eq),
    "ogt": Predicate(">", operator.gt),
    "oge": Predicate(">=", operator.ge),
    "olt": Predicate("<", operator.lt),
    "ole": Predicate("<=", operator.le),
}


def lift(x: Formula | float) -> Formula:
    return x if isinstance(x, Formula) else Constant(float(x))


def where(condition: Comparison, chosen: Formula | float, otherwise: Formula | float) -> Formula:
    return Where(condition, lift(chosen), lift(otherwise))


def apply(function: functions.Function, *args: Formula | float) -> Formula:
    return Apply(function, tuple(map(lift, args)))


def uses(formula: Formula) -> Iterator[Operand | Result]:
    """Yields the primal values `formula` reads, each as often as it reads it."""
    match formula:
        case Operand() | Result():
            yield formula
        case Apply(_, args):
            for arg in args:
                yield from uses(arg)
        case Where((_, left, right), chosen, otherwise):
            for part in (left, right, chosen, otherwise):
                yield from uses(part)
        case _:
            assert isinstance(formula, Constant)


def compared(formula: Formula) -> Iterator[Operand | Result]:
    """Yields the primal values that decide which way `formula` goes."""
    match formula:
        case Apply(_, args):
            for arg in args:
                yield from compared(arg)
        case Where((_, left, right), chosen, otherwise):
            for side in (left, right):
                yield from uses(side)
            for side in (chosen, otherwise):
                yield from compared(side)
        case _:
            return


def evaluate(formula: Formula, operands: Sequence[float], result: float) -> float:
    """The number `formula` stands for, with the semantics of IEEE 754."""
    match formula:
        case Operand(index):
            return operands[index]
        case Result():
            return result
        case Constant(value):
            return value
        case Apply(function, args):
            return function.compute(*(evaluate(a, operands, result) for a in args))
        case Where((predicate, left, right), chosen, otherwise):
            sides = (evaluate(side, operands, result) for side in (left, right))
            holds = PREDICATES[predicate].compute(*sides)
            return evaluate(chosen if holds else otherwise, operands, result)
        case _:
            raise AssertionError(f"not a formula: {formula}")


class Emitter:
    """
    Builds formulas over one set of primal values, shared parts once.

    `operands` and `result` may be None where no formula uses them.
    """

    def __init__(
        self,
        operands: Sequence[SSAValue | None],
        result: SSAValue | None,
        site: functions.Site,
    ):
        self.operands, self.result, self.site = operands, result, site
        self.built: dict[int, SSAValue] = {}

    def emit(self, formula: Formula) -> SSAValue:
        """Builds `formula` at the insertion point of the site."""
        match formula:
            case Operand(index):
                value = self.operands[index]
                assert value is not None, f"operand {index} was not asked for in `uses`"
                return value
            case Result():
                assert self.result is not None, "the result was not asked for in `uses`"
                return self.result
            case _:
                if id(formula) not in self.built:
                    self.built[id(formula)] = self.build(formula)
                return self.built[id(formula)]

    def build(self, formula: Formula) -> SSAValue:
        builder, location, type, _ = self.site
        match formula:
            case Constant(value):
                return vector_space.constant(value, type, builder, location)
            case Apply(function, args):
                return function.build(self.site, *map(self.emit, args))
            case Where(condition, chosen, otherwise):
                holds = self.compare(condition)
                sides = self.emit(chosen), self.emit(otherwise)
                return vector_space.choose(holds, *sides, builder, location)
            case _:
                raise AssertionError(f"not a formula: {formula}")

    def compare(self, condition: Comparison) -> SSAValue:
        """Builds a condition, an `i1`."""
        left, right = self.emit(condition.left), self.emit(condition.right)
        op = arith.CmpfOp(left, right, condition.predicate, self.site.fastmath)
        op.location = self.site.location
        return self.site.builder.insert(op).result


def render(formula: Formula, binding: int = 0) -> str:
    """`formula` as text over x, y, z and out; in parentheses if it binds less than `binding`."""
    match formula:
        case Operand(index):
            return "xyz"[index]
        case Result():
            return "out"
        case Constant(value):
            return f"{value:.6g}"
        case Apply(function, args):
            own = function.precedence
            first, rest = (0, 0) if own == functions.CALL else (own, own + 1)
            bindings = [first] + [rest] * (len(args) - 1)
            text = function.text.format(*map(render, args, bindings))
            return f"({text})" if own < binding else text
        case Where((predicate, left, right), chosen, otherwise):
            condition = f"{render(left)} {PREDICATES[predicate].text} {render(right)}"
            text = f"{render(chosen)} if {condition} else {render(otherwise)}"
            return f"({text})" if binding else text
        case _:
            raise AssertionError(f"not a formula: {formula}")
