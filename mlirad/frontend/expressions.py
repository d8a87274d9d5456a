"""Expressions: names, literals, operators, conditions, tuples, subscripts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad.frontend import operators
from mlirad.frontend.body import Unresolved, unify
from mlirad.frontend.builder import Value
from mlirad.frontend.choice import Choice, carried_types
from mlirad.frontend.literals import fold
from mlirad.frontend.operands import (
    ArrayRef,
    ComplexValue,
    Compound,
    Number,
    Operand,
    RangeValue,
    Static,
    TupleValue,
    flatten,
    rebuild,
    spell,
    type_of,
)
from mlirad.frontend.scope import Undefined, attribute, look_up
from mlirad.frontend.selections import Selections
from mlirad.frontend.types import BOOL, NoneType, Type

GROWING = {"Add", "Mult", "FloorDiv", "Mod", "BitAnd", "BitOr", "RShift"}
"""Operators whose result is not negative if no operand is, as long as nothing overflows."""

SMALL = 2**31
"""Positions, sizes and loop counters cannot overflow with constants below this; hashes can."""

SYMBOLS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
    "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>", "MatMult": "@",
    "USub": "-", "UAdd": "+", "Invert": "~", "Not": "not", "Eq": "==", "NotEq": "!=",
    "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=",
}  # fmt: skip


def is_simple(node: ast.expr) -> bool:
    """Whether `node` may be computed even where Python would not: it reads no memory."""
    risky = (ast.Subscript, ast.Call, ast.BoolOp, ast.IfExp)
    return not any(isinstance(n, risky) for n in ast.walk(node))


def is_atom(node: ast.expr) -> bool:
    """A name or literal: choosing between two of them hides no arithmetic."""
    return isinstance(node, (ast.Name, ast.Constant))


class Expressions(Selections):
    """Evaluates expressions, left to right, each operand exactly when Python would."""

    def expression(self, node: ast.expr) -> Operand:
        method = EXPRESSIONS.get(type(node))
        if method is None:
            raise self.refused(node)
        self.locate(node)
        return method(self, node)

    # Names and literals

    def materialise(self, static: Static, node: ast.AST) -> Operand:
        """Numbers and tuples of numbers from outside become constants."""
        found = static.object
        if static.path is not None:
            return self.gpu_value(static, node)
        if isinstance(found, (complex, np.complexfloating)):
            return self.complex_constant(cast("complex", found))
        if isinstance(found, (bool, int, float, np.number, np.bool_)):
            return self.number(found, node)
        if isinstance(found, tuple):
            items = cast("Sequence[object]", found)
            values = tuple(self.materialise(Static(i), node) for i in items)
            kind: type = type(cast("object", found))
            names = tuple(getattr(kind, "_fields", ()))
            return TupleValue(values, names, kind if names else None)
        return static

    def name(self, node: ast.Name) -> Operand:
        if node.id in self.env:
            return self.env[node.id]
        if node.id in self.locals:
            if node.id in self.unknown:
                raise Unresolved(node.id, node)
            if node.id.startswith("$"):
                return self.constant(False)
            what = f"'{node.id}' is used before it is assigned"
            raise self.typing_error(node, what, f"assign '{node.id}' first")
        try:
            return self.materialise(look_up(self.source.function, node.id), node)
        except Undefined:
            what = f"'{node.id}' is not defined"
            raise self.typing_error(node, what, "define or import it") from None

    def number(self, number: Any, node: ast.AST) -> Value:
        """A number known while compiling."""
        try:
            return self.constant(number)
        except OverflowError as error:
            raise self.typing_error(node, str(error), "write a float, as in 1e30") from None

    def literal(self, node: ast.Constant) -> Operand:
        if node.value is None:
            return Static(None)
        if isinstance(node.value, (bool, int, float)):
            return self.number(node.value, node)
        if isinstance(node.value, complex):
            return self.complex_constant(node.value)
        if isinstance(node.value, (str, bytes)):
            raise self.unsupported(
                node, "strings are not compiled", "move them out of the function"
            )
        raise self.refused(node)

    def tuple(self, node: ast.Tuple) -> Operand:
        return TupleValue(tuple(self.expression(item) for item in node.elts))

    def attribute(self, node: ast.Attribute) -> Operand:
        base = self.expression(node.value)
        self.locate(node)
        if isinstance(base, ArrayRef):
            return self.array_attribute(base, node.attr, node)
        if isinstance(base, RangeValue) and node.attr in ("start", "stop", "step"):
            return getattr(base, node.attr)
        if isinstance(base, Compound):
            return self.compound_attribute(base, node.attr, node)
        if isinstance(base, TupleValue) and node.attr in base.names:
            return base.elements[base.names.index(node.attr)]
        if isinstance(base, (Value, ComplexValue)) and node.attr in ("real", "imag"):
            return self.real_or_imag(base, node.attr)
        if not isinstance(base, Static):
            names = base.names if isinstance(base, TupleValue) else ()
            way_out = f"its fields are {', '.join(names)}" if names else ""
            what = f"{spell(base)} has no attribute '{node.attr}'"
            raise self.typing_error(node, what, way_out)
        try:
            found = attribute(base, node.attr)
        except Undefined:
            what = f"{spell(base)} has no attribute '{node.attr}'"
            raise self.typing_error(node, what, "is it spelled right?") from None
        if found.path is not None:
            return self.gpu_value(found, node)
        return self.materialise(found, node)

    def gpu_value(self, found: Static, node: ast.AST) -> Operand:
        """A name of the GPU language that is a number (`threadIdx.x`), else itself."""
        raise NotImplementedError

    def subscript(self, node: ast.Subscript) -> Operand:
        base = self.expression(node.value)
        if isinstance(base, TupleValue):
            return self.tuple_element(base, node)
        if isinstance(base, Compound):
            return self.read(self.compound_item(base, node))
        return self.item(self.must_be_array(base, node), node)

    # Operators

    def binary(self, node: ast.BinOp) -> Operand:
        if (number := fold(node)) is not None:
            self.locate(node)
            return self.number(number, node)
        left = self.number_of(node.left)
        right = self.number_of(node.right)
        return self.operate(node.op, left, right, node)

    def operate(self, op: ast.operator, left: Number, right: Number, node: ast.AST) -> Number:
        self.locate(node)
        name = type(op).__name__
        if isinstance(left, ComplexValue) or isinstance(right, ComplexValue):
            return self.complex_binary(name, SYMBOLS.get(name, name), left, right, node)
        if operators.binary_type(name, left.type, right.type) is None:
            symbol = SYMBOLS.get(name, name)
            raise self.typing_error(node, f"'{symbol}' cannot take {left.type} and {right.type}")
        result = operators.binary(name, left, right, self.builder)
        if name in GROWING and result.type.kind == "i":
            if all(self.is_nonnegative(v) and (v.constant or 0) < SMALL for v in (left, right)):
                self.nonnegative.add(result.ssa)
        return result

    def unary(self, node: ast.UnaryOp) -> Operand:
        if (number := fold(node)) is not None:
            self.locate(node)
            return self.number(number, node)
        value = self.number_of(node.operand)
        self.locate(node)
        name = type(node.op).__name__
        if isinstance(value, ComplexValue):
            return self.complex_unary(name, SYMBOLS[name], value, node)
        if operators.unary_type(name, value.type) is None:
            raise self.typing_error(node, f"'{SYMBOLS[name]}' cannot take {value.type}")
        return operators.unary(name, value, self.builder)

    def compare(self, node: ast.Compare) -> Operand:
        left = self.expression(node.left)
        return self.comparisons(left, list(zip(node.ops, node.comparators, strict=True)), node)

    def comparisons(
        self, left: Operand, rest: list[tuple[ast.cmpop, ast.expr]], node: ast.Compare
    ) -> Value:
        """A chain of comparisons; later ones are computed only if the earlier ones hold."""
        (op, comparator), *rest = rest
        right = self.expression(comparator)
        first = self.compare_pair(op, left, right, node)
        if not rest:
            return first
        return self.both(
            first, lambda: self.comparisons(right, rest, node), all(is_simple(e) for _, e in rest)
        )

    def compare_pair(self, op: ast.cmpop, left: Operand, right: Operand, node: ast.AST) -> Value:
        self.locate(node)
        if isinstance(op, (ast.Is, ast.IsNot)):
            sides = (left, right)
            if any(isinstance(s, Static) and s.object is None for s in sides):
                same = all(isinstance(s, Static) and s.object is None for s in sides)
                return self.constant(same == isinstance(op, ast.Is))
            raise self.unsupported(node, "'is' compares with None only", "use '=='")
        if isinstance(op, (ast.In, ast.NotIn)):
            raise self.unsupported(node, "'in' is not compiled", "compare with each element")
        name = type(op).__name__
        if isinstance(left, ComplexValue) or isinstance(right, ComplexValue):
            return self.complex_compare(name, SYMBOLS[name], left, right, node)
        a, b = self.as_value(left, node), self.as_value(right, node)
        if operators.compare_type(name, a.type, b.type) is None:
            raise self.typing_error(node, f"'{SYMBOLS[name]}' cannot compare {a.type} and {b.type}")
        return operators.compare(name, a, b, self.builder)

    def both(self, first: Value, second: Callable[[], Value], eager: bool) -> Value:
        """`first and second()` for bools."""
        if eager:
            return Value(self.op(arith.AndIOp(first.ssa, second().ssa)), BOOL)
        result = self.choose(first.ssa, second, lambda: self.constant(False))
        assert isinstance(result, Value)
        return result

    def bool_op(self, node: ast.BoolOp) -> Operand:
        """`and`, `or`: gives one of the operands, as Python does, converted to one type."""
        return self.bool_chain(node.values, isinstance(node.op, ast.And), node)

    def bool_chain(self, nodes: Sequence[ast.expr], is_and: bool, node: ast.BoolOp) -> Number:
        first = self.number_of(nodes[0])
        if len(nodes) == 1:
            return first
        rest = nodes[1:]
        self.locate(node)
        if isinstance(first, Value) and first.type == BOOL and all(is_simple(n) for n in rest):
            start = self.snapshot()
            second = self.bool_chain(rest, is_and, node)
            if isinstance(second, Value) and second.type == BOOL:
                op = arith.AndIOp if is_and else arith.OrIOp
                return Value(self.op(op(first.ssa, second.ssa)), BOOL)
            self.undo(start)
        truth = self.truth_of(first)

        def second_operand() -> Operand:
            return self.bool_chain(rest, is_and, node)

        def first_operand() -> Operand:
            return first

        branches = (second_operand, first_operand) if is_and else (first_operand, second_operand)
        chosen = self.choose(truth, *branches, node=node)
        return chosen if isinstance(chosen, ComplexValue) else self.as_value(chosen, node)

    def snapshot(self) -> Operation | None:
        """The last op of the current block."""
        return self.builder.builder.insertion_point.block.last_op

    def undo(self, last: Operation | None) -> None:
        """Removes the ops of the current block after `last`, but not what others may share."""
        block = self.builder.builder.insertion_point.block
        op = block.last_op
        while op is not None and op is not last:
            before = op.prev_op
            if not isinstance(op, (arith.ConstantOp, memref.DimOp)):
                block.erase_op(op)
            op = before

    def conditional(self, node: ast.IfExp) -> Operand:
        if (known := self.known_truth(node.test)) is not None:
            return self.expression(node.body if known else node.orelse)
        condition = self.truth(node.test)
        if is_atom(node.body) and is_atom(node.orelse):
            a, b = self.expression(node.body), self.expression(node.orelse)
            if isinstance(a, Value) and isinstance(b, Value):
                return self.select(condition, a, b, node)
        return self.choose(
            condition,
            lambda: self.expression(node.body),
            lambda: self.expression(node.orelse),
            node=node,
        )

    def known_truth(self, test: ast.expr) -> bool | None:
        """The truth of a test that reads no local variable and is known while compiling."""
        reads = [n.id for n in ast.walk(test) if isinstance(n, ast.Name)]
        if any(self.arguments.get(n) is not None for n in reads):
            return None
        if any(n in self.locals and not self.is_static(n) for n in reads):
            return None
        if any(isinstance(n, ast.Call) for n in ast.walk(test)):
            return None
        start = self.snapshot()
        operand = self.expression(test)
        self.undo(start)
        if isinstance(operand, Value) and operand.constant is not None:
            return bool(operand.constant)
        if isinstance(operand, Static) and operand.object is None:
            return False
        return None

    def is_static(self, name: str) -> bool:
        return isinstance(self.env.get(name), Static)

    def choose(
        self,
        condition: SSAValue,
        then: Callable[[], Operand],
        orelse: Callable[[], Operand],
        node: ast.AST | None = None,
    ) -> Operand:
        """An `scf.if` that evaluates one of the two and gives it, converted to one type."""
        blocks = Block(), Block()
        operands: list[Operand] = []
        location = self.builder.location
        for block, branch in zip(blocks, (then, orelse), strict=True):
            with self.inside(block):
                operands.append(branch())
            self.builder.location = location
        a, b = operands
        where = node or ast.Pass()
        type_ = self.common_type(a, b, where)
        for block, operand in zip(blocks, operands, strict=True):
            with self.inside(block):
                if isinstance(type_, Choice) and isinstance(operand, ArrayRef):
                    values = self.numbers(operand, type_)
                else:
                    assert not isinstance(type_, Choice)
                    values = flatten(self.coerce(operand, type_, where))
                self.builder.insert(scf.YieldOp(*values))
        op = scf.IfOp(condition, carried_types([type_]), Region(blocks[0]), Region(blocks[1]))
        self.builder.insert(op)
        if isinstance(type_, Choice):
            return self.chosen(type_, op.results)
        return rebuild(type_, iter(op.results))

    def common_type(self, a: Operand, b: Operand, node: ast.AST) -> Type | Choice:
        if isinstance(a, ArrayRef) and isinstance(b, ArrayRef):
            both = [self.choice_of(array, "a value", self.here(), node) for array in (a, b)]
            return self.joined(both, "a value", node)
        left, right = type_of(a), type_of(b)
        arrays = (ArrayRef, Compound)
        if left is None or right is None or isinstance(a, arrays) or isinstance(b, arrays):
            what = f"a condition cannot choose between {spell(a)} and {spell(b)}"
            raise self.unsupported(node, what, "use an 'if' statement around the whole use")
        type_ = unify(left, right)
        if type_ is None or isinstance(type_, NoneType):
            raise self.typing_error(node, f"one value is {left}, the other {right}")
        return type_

    def call(self, node: ast.Call) -> Operand:
        raise NotImplementedError


EXPRESSIONS: dict[type[ast.expr], Callable[[Expressions, Any], Operand]] = {
    ast.Name: lambda body, node: body.name(node),
    ast.Constant: lambda body, node: body.literal(node),
    ast.Tuple: lambda body, node: body.tuple(node),
    ast.Attribute: lambda body, node: body.attribute(node),
    ast.Subscript: lambda body, node: body.subscript(node),
    ast.BinOp: lambda body, node: body.binary(node),
    ast.UnaryOp: lambda body, node: body.unary(node),
    ast.Compare: lambda body, node: body.compare(node),
    ast.BoolOp: lambda body, node: body.bool_op(node),
    ast.IfExp: lambda body, node: body.conditional(node),
    ast.Call: lambda body, node: body.call(node),
}
"""Methods are looked up on the object, so that subclasses may replace them."""
