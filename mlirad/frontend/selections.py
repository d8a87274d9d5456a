"""One of several values that all have been computed: conditions on atoms, tuples by position."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from mlirad.frontend import casts
from mlirad.frontend.body import unify
from mlirad.frontend.builder import Value
from mlirad.frontend.compounds import Compounds
from mlirad.frontend.operands import ArrayRef, ComplexValue, Operand, TupleValue, spell
from mlirad.frontend.types import Scalar

EQUAL = 0


class Selections(Compounds):
    """Selects values, arrays, and tuples of them."""

    def select(self, condition: SSAValue, a: Value, b: Value, node: ast.AST) -> Value:
        type_ = unify(a.type, b.type)
        if not isinstance(type_, Scalar):
            raise self.typing_error(node, f"one value is {a.type}, the other {b.type}")
        self.locate(node)
        left = casts.convert(a, type_, self.builder).ssa
        right = casts.convert(b, type_, self.builder).ssa
        return Value(self.op(arith.SelectOp(condition, left, right)), type_)

    def pick(self, condition: SSAValue, a: Operand, b: Operand, node: ast.AST) -> Operand:
        """`a` if the condition holds, else `b`, both evaluated."""
        if isinstance(a, ArrayRef) and isinstance(b, ArrayRef):
            return self.pick_array(condition, a, b, node)
        if isinstance(a, TupleValue) and isinstance(b, TupleValue):
            if len(a.elements) == len(b.elements):
                pairs = zip(a.elements, b.elements, strict=True)
                return replace(
                    a, elements=tuple([self.pick(condition, x, y, node) for x, y in pairs])
                )
        if isinstance(a, Value) and isinstance(b, Value) and a.type == b.type:
            return self.select(condition, a, b, node)
        if isinstance(a, ComplexValue) and isinstance(b, ComplexValue) and a.type == b.type:
            return self.either(condition, a, b)
        what = f"a tuple with {spell(a)} and {spell(b)} in it has no single element type"
        raise self.typing_error(node, what, "use its elements one by one")

    def one_of(self, elements: Sequence[Operand], position: SSAValue, node: ast.AST) -> Operand:
        """The element of a tuple at a position known at run time: all have one type."""
        chosen = elements[0]
        for number, element in enumerate(elements[1:], 1):
            here = self.op(arith.CmpiOp(position, self.index_constant(number), EQUAL))
            chosen = self.pick(here, element, chosen, node)
        return chosen
