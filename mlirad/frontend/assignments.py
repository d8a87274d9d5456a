"""Simple statements: expressions, and assignments to variables, elements, windows and fields."""

from __future__ import annotations

import ast

from mlirad.frontend.builder import Value
from mlirad.frontend.calls import Calls
from mlirad.frontend.operands import ArrayRef, ComplexValue, Compound, Operand, TupleValue, spell


class Assignments(Calls):
    """Lowers the statements that hold no others."""

    def ignore(self, node: ast.stmt) -> None:
        pass

    def evaluate(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    def assign(self, node: ast.Assign) -> None:
        operand = self.expression(node.value)
        for target in node.targets:
            self.assign_to(target, operand, node)

    def annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign_to(node.target, self.expression(node.value), node)

    def assign_to(self, target: ast.expr, operand: Operand, node: ast.stmt) -> None:
        match target:
            case ast.Name(id=name):
                self.locate(node)
                self.bind(name, operand)
            case ast.Subscript() | ast.Attribute():
                place = self.target(target, node)
                self.locate(node)
                self.write(place, operand, node)
            case ast.Tuple(elts=targets):
                for starred in (t for t in targets if isinstance(t, ast.Starred)):
                    raise self.refused(starred)
                if not isinstance(operand, TupleValue) or operand.is_object:
                    what = f"{spell(operand)} cannot be unpacked"
                    raise self.typing_error(node, what, "only tuples can be")
                if len(targets) != len(operand.elements):
                    what = f"{len(operand.elements)} values for {len(targets)} names"
                    raise self.typing_error(node, what)
                for inner, element in zip(targets, operand.elements, strict=True):
                    self.assign_to(inner, element, node)
            case _:
                raise self.refused(target)

    def augmented(self, node: ast.AugAssign) -> None:
        def combine(old: Value, new: Value) -> Value:
            return self.as_value(self.operate(node.op, old, new, node), node)

        match node.target:
            case ast.Name(id=name) as target:
                left = self.expression(ast.copy_location(ast.Name(name, ast.Load()), target))
                if isinstance(left, ArrayRef):
                    self.update(left, self.expression(node.value), node, combine)
                    return
                self.refuse_whole(left, node)
                left = left if isinstance(left, ComplexValue) else self.as_value(left, target)
                self.bind(name, self.operate(node.op, left, self.number_of(node.value), node))
            case ast.Subscript() | ast.Attribute() as target:
                place = self.target(target, node)
                self.locate(node)
                if isinstance(place, ArrayRef):
                    self.update(place, self.expression(node.value), node, combine)
                    return
                self.refuse_whole(place, node)
                old = self.read(place)
                old = old if isinstance(old, ComplexValue) else self.as_value(old, target)
                new = self.operate(node.op, old, self.number_of(node.value), node)
                self.locate(node)
                self.write(place, new, node)

    def refuse_whole(self, operand: Operand, node: ast.AugAssign) -> None:
        if isinstance(operand, Compound) and operand.rest:
            what = f"'{ast.unparse(node)}' on {spell(operand)} is not compiled"
            raise self.unsupported(node, what, "write a 'for' loop over its elements")
