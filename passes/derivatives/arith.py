"""
Derivative rules of `arith`.

Integer ops are absent on purpose: activity analysis proves them inactive, and an op that is
active and absent is an error (`NoRuleError`). `arith.bitcast` is absent because no derivative
survives a look at the bits of a number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from mlirad.passes.derivatives import vector_space
from mlirad.passes.derivatives.formula import Operand, Result, where
from mlirad.passes.derivatives.rule import (
    INACTIVE,
    LinearRule,
    RuleTable,
    Shadow,
    instantiate,
    rule,
)

X, Y, OUT = Operand(0), Operand(1), Result()


@dataclass(frozen=True)
class SelectRule:
    """The shadow goes the way of the chosen operand."""

    def uses(self, op: Operation, active: Sequence[bool] | None = None) -> tuple[SSAValue, ...]:
        return (op.operands[0],)

    def pushforward(
        self,
        op: Operation,
        tangents: Sequence[Shadow],
        builder: Builder,
        *,
        strong_zero: bool = False,
    ) -> Shadow:
        _, first, second = tangents
        return choose(op.operands[0], first, second, op, builder)

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
        condition = operands[0]
        assert condition is not None
        _, first, second = active or (False, True, True)
        return (
            None,
            choose(condition, cotangent, None, op, builder) if first else None,
            choose(condition, None, cotangent, op, builder) if second else None,
        )


def choose(condition: SSAValue, a: Shadow, b: Shadow, op: Operation, builder: Builder) -> Shadow:
    """`a` where the condition holds, else `b`."""
    if a is b:
        return a
    type, location = op.results[0].type, op.location
    first, second = (instantiate(side, type, builder, location) for side in (a, b))
    return vector_space.choose(condition, first, second, builder, location)


def build_cast(
    op_class: type[arith.ExtFOp] | type[arith.TruncFOp],
    value: SSAValue,
    like: SSAValue,
    op: Operation,
    builder: Builder,
) -> SSAValue:
    cast = op_class.create(operands=[value], result_types=[like.type], location=op.location)
    return builder.insert(cast).results[0]


WIDEN = LinearRule(
    lambda op, t, builder: build_cast(arith.ExtFOp, t, op.results[0], op, builder),
    lambda op, ct, builder: build_cast(arith.TruncFOp, ct, op.operands[0], op, builder),
)
NARROW = LinearRule(
    lambda op, t, builder: build_cast(arith.TruncFOp, t, op.results[0], op, builder),
    lambda op, ct, builder: build_cast(arith.ExtFOp, ct, op.operands[0], op, builder),
)

# Ties go to the first operand, as in numpy.where(x >= y, x, y). The `num` forms compare with
# the result, because they skip a NaN.
ARITH_RULES: RuleTable = {
    arith.ConstantOp: INACTIVE,
    arith.AddfOp: rule(1, 1),
    arith.SubfOp: rule(1, -1),
    arith.MulfOp: rule(Y, X),
    arith.DivfOp: rule(1 / Y, -OUT / Y),
    arith.NegfOp: rule(-1),
    arith.MaximumfOp: rule(where(X >= Y, 1, 0), where(X >= Y, 0, 1)),
    arith.MinimumfOp: rule(where(X <= Y, 1, 0), where(X <= Y, 0, 1)),
    arith.MaxnumfOp: rule(where(X.equals(OUT), 1, 0), where(X.equals(OUT), 0, 1)),
    arith.MinnumfOp: rule(where(X.equals(OUT), 1, 0), where(X.equals(OUT), 0, 1)),
    arith.SelectOp: SelectRule(),
    arith.ExtFOp: WIDEN,
    arith.TruncFOp: NARROW,
    arith.CmpfOp: INACTIVE,
    arith.SIToFPOp: INACTIVE,
    arith.UIToFPOp: INACTIVE,
    arith.FPToSIOp: INACTIVE,
    arith.FPToUIOp: INACTIVE,
}
