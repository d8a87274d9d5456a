"""Statements: assignments and structured control flow."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from mlirad.frontend import operators
from mlirad.frontend.body import INDEX, Unresolved
from mlirad.frontend.builder import Value
from mlirad.frontend.calls import Calls
from mlirad.frontend.ir_types import flatten_types
from mlirad.frontend.liveness import Liveness, ordered_assignments
from mlirad.frontend.operands import (
    ArrayRef,
    Operand,
    Static,
    TupleValue,
    flatten,
    rebuild,
    spell,
    type_of,
)
from mlirad.frontend.ranges import Range, Ranges
from mlirad.frontend.structure import StoppableFor
from mlirad.frontend.types import BOOL, Type


def is_fixed(operand: Operand | None) -> bool:
    """Whether an operand is no number: an array, or a Python object."""
    if isinstance(operand, TupleValue):
        return any(is_fixed(element) for element in operand.elements)
    return isinstance(operand, (ArrayRef, Static))


class Statements(Ranges, Calls):
    """Lowers the statements of a restructured body."""

    liveness: Liveness

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        method = STATEMENTS.get(type(node))
        if method is None:
            raise self.refused(node)
        self.locate(node)
        try:
            method(self, node)
        except Unresolved as missing:
            # The rest of this walk finds the type; the next walk lowers the statement.
            for name in ordered_assignments([node]):
                self.unknown.setdefault(name, missing.node)
            self.unknown.setdefault(missing.name, missing.node)
            self.incomplete = missing

    # Simple statements

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
            case ast.Subscript():
                array, indices = self.element(target)
                self.locate(node)
                self.store(array, indices, operand, node)
            case ast.Tuple(elts=targets):
                if not isinstance(operand, TupleValue):
                    what = f"{spell(operand)} cannot be unpacked"
                    raise self.typing_error(node, what, "only tuples can be")
                if len(targets) != len(operand.elements):
                    what = f"{len(operand.elements)} values for {len(targets)} names"
                    raise self.typing_error(node, what)
                for inner, element in zip(targets, operand.elements, strict=True):
                    self.assign_to(inner, element, node)
            case ast.Attribute():
                what = f"'{ast.unparse(target)}' cannot be assigned"
                raise self.unsupported(node, what, "use a variable or an array element")
            case _:
                raise self.refused(target)

    def augmented(self, node: ast.AugAssign) -> None:
        match node.target:
            case ast.Name(id=name) as target:
                read = ast.copy_location(ast.Name(name, ast.Load()), target)
                left = self.value(read)
                self.bind(name, self.operate(node.op, left, self.value(node.value), node))
            case ast.Subscript() as target:
                array, indices = self.element(target)
                self.locate(node)
                old = self.load(array, indices)
                new = self.operate(node.op, old, self.value(node.value), node)
                self.locate(node)
                self.store(array, indices, new, node)
            case target:
                raise self.refused(target)

    # Control flow

    def merged(
        self, names: Sequence[str], branches: Sequence[dict[str, Operand]], node: ast.If
    ) -> dict[str, Type]:
        """
        The variables among `names` that become results of an `if`, and their types.

        Arrays and objects are not values that a branch could choose: they must agree.
        """
        results: dict[str, Type] = {}
        for name in names:
            found = [env[name] for env in branches if name in env]
            types = [t for t in map(type_of, found) if t is not None]
            if any(is_fixed(operand) for operand in found):
                if any(operand != found[0] for operand in found):
                    if len(types) == 2 and types[0] != types[1]:
                        self.unified(name, types[0], types[1], node)
                    what = f"'{name}' is a different array or object depending on a condition"
                    way_out = "use each under its own name, inside the branch"
                    raise self.unsupported(node, what, way_out)
                self.env[name] = found[0]
            elif len(types) == 2:
                results[name] = self.unified(name, types[0], types[1], node)
            elif types:
                results[name] = types[0]
        return results

    def outgoing(
        self, env: dict[str, Operand], types: dict[str, Type], node: ast.stmt
    ) -> list[SSAValue]:
        """The values of variables at the end of a region; 0 where one was never assigned."""
        self.locate(node)
        values: list[SSAValue] = []
        for name, type_ in types.items():
            operand = env.get(name)
            operand = self.zero(type_) if operand is None else self.coerce(operand, type_, node)
            values += flatten(operand)
        return values

    def incoming(self, types: dict[str, Type], values: Sequence[SSAValue]) -> None:
        """Binds variables to the results or arguments of a region op."""
        remaining = iter(values)
        for name, type_ in types.items():
            self.bind(name, rebuild(type_, remaining))

    def branch(self, node: ast.If) -> None:
        if (known := self.known_truth(node.test)) is not None:
            self.block(node.body if known else node.orelse)
            return
        condition = self.condition(node.test)
        live = self.liveness.after[node]
        names = [n for n in ordered_assignments([node]) if n in live]
        blocks = Block(), Block()
        envs: list[dict[str, Operand]] = []
        for block, body in zip(blocks, (node.body, node.orelse), strict=True):
            with self.inside(block):
                self.block(body)
                envs.append(self.env)
        results = self.merged(names, envs, node)
        for block, env in zip(blocks, envs, strict=True):
            with self.inside(block):
                self.builder.insert(scf.YieldOp(*self.outgoing(env, results, node)))
        orelse = Region(blocks[1]) if node.orelse or results else Region()
        types = flatten_types(list(results.values()))
        op = scf.IfOp(condition, types, Region(blocks[0]), orelse)
        self.builder.insert(op)
        self.incoming(results, op.results)

    def condition(self, test: ast.expr) -> SSAValue:
        """The truth of `test`; False while it cannot be evaluated in this walk."""
        try:
            return self.truth(test)
        except Unresolved as missing:
            self.incomplete = missing
            return self.constant(False).ssa

    def carried(self, node: ast.For | ast.While, at_head: Sequence[str]) -> dict[str, Type]:
        """
        The variables a loop passes from one iteration to the next, and on, with their types.

        A variable is one value in all iterations, so its type is known only after the body.
        """
        head, after = self.liveness.head[node], self.liveness.after[node]
        types: dict[str, Type] = {}
        for name in ordered_assignments([node]):
            if name not in after and (name not in head or name in at_head):
                continue
            operand, known = self.env.get(name), self.types.get((node, name))
            if operand is not None and is_fixed(operand):
                continue
            start = type_of(operand) if operand is not None else None
            if start is not None:
                known = start if known is None else self.unified(name, known, start, node)
            if known is not None:
                types[name] = self.types[node, name] = known
            else:
                # Its type comes from the body: the next walk carries it.
                self.unknown.setdefault(name, node)
                self.incomplete = self.incomplete or Unresolved(name, node)
        return types

    def end_iteration(
        self, node: ast.For | ast.While, before: dict[str, Operand], types: dict[str, Type]
    ) -> list[SSAValue]:
        """The carried variables at the end of the body; widens their types if it must."""
        for name in ordered_assignments([node]):
            old, new = before.get(name), self.env.get(name)
            end = None if new is None else type_of(new)
            if old is not None and is_fixed(old) and new != old:
                if end != type_of(old):
                    what = f"the type of '{name}' changes from {spell(old)} to {end} in a loop"
                    raise self.typing_error(node, what, "use one name per type")
                what = f"'{name}' becomes another array or object in a loop"
                raise self.unsupported(node, what, "use one name per array; swap arrays outside")
            if name in types and end is not None:
                wide = self.unified(name, types[name], end, node)
                self.widened |= wide != types[name]
                self.types[node, name] = wide
            elif end is not None and not is_fixed(new):
                self.types.setdefault((node, name), end)
        return self.outgoing(self.env, types, node)

    def for_loop(self, node: ast.For) -> None:
        try:
            counted = self.range(node)
        except Unresolved as missing:
            self.incomplete = missing
            counted = self.no_range()
        targets = ordered_assignments([ast.For(node.target, node.iter, [], [])])
        types = self.carried(node, targets)
        initial = self.outgoing(self.env, types, node)
        if isinstance(node, StoppableFor):
            self.stoppable(node, counted, types, initial)
            return
        block = Block(arg_types=[INDEX, *flatten_types(list(types.values()))])
        before = self.env
        zero, one = self.index_constant(0), self.index_constant(1)
        with self.inside(block):
            self.incoming(types, block.args[1:])
            self.iteration(node, counted, block.args[0])
            self.builder.insert(scf.YieldOp(*self.end_iteration(node, before, types)))
        self.locate(node)
        op = self.builder.insert(scf.ForOp(zero, counted.count, one, initial, block))
        self.incoming(types, op.results)

    def iteration(self, node: ast.For, counted: Range, counter: SSAValue) -> None:
        self.locate(node.target)
        self.assign_to(node.target, self.loop_variable(counted, counter), node)
        self.block(node.body)

    def stoppable(
        self,
        node: StoppableFor,
        counted: Range,
        types: dict[str, Type],
        initial: list[SSAValue],
    ) -> None:
        """A counted loop that may end early, as an `scf.while` over the counter."""
        arg_types = [INDEX, *flatten_types(list(types.values()))]
        test, body = Block(arg_types=arg_types), Block(arg_types=arg_types)
        before = self.env
        with self.inside(test):
            self.incoming(types, test.args[1:])
            condition = self.below(test.args[0], counted.count)
            for stop in node.stops:
                condition = self.unless(stop, condition)
            self.builder.insert(scf.ConditionOp(condition, *test.args))
        with self.inside(body):
            self.incoming(types, body.args[1:])
            self.iteration(node, counted, body.args[0])
            self.locate(node)
            following = self.next_count(body.args[0])
            values = self.end_iteration(node, before, types)
            self.builder.insert(scf.YieldOp(following, *values))
        self.locate(node)
        start = [self.index_constant(0), *initial]
        op = self.builder.insert(scf.WhileOp(start, arg_types, Region(test), Region(body)))
        self.incoming(types, op.results[1:])

    def unless(self, flag: str, condition: SSAValue) -> SSAValue:
        """`condition and not flag`; a flag is False while unknown in this walk."""
        operand = self.env.get(flag)
        value = operand if isinstance(operand, Value) else self.constant(False)
        held = operators.unary("Not", value, self.builder)
        return self.both(held, lambda: Value(condition, BOOL), eager=True).ssa

    def while_loop(self, node: ast.While) -> None:
        types = self.carried(node, ())
        initial = self.outgoing(self.env, types, node)
        arg_types = flatten_types(list(types.values()))
        test, body = Block(arg_types=arg_types), Block(arg_types=arg_types)
        before = self.env
        with self.inside(test):
            self.incoming(types, test.args)
            condition = self.condition(node.test)
            self.builder.insert(scf.ConditionOp(condition, *test.args))
        with self.inside(body):
            self.incoming(types, body.args)
            self.block(node.body)
            self.builder.insert(scf.YieldOp(*self.end_iteration(node, before, types)))
        self.locate(node)
        op = self.builder.insert(scf.WhileOp(initial, arg_types, Region(test), Region(body)))
        self.incoming(types, op.results)


STATEMENTS: dict[type[ast.stmt], Callable[[Statements, Any], None]] = {
    ast.Pass: Statements.ignore,
    ast.Expr: Statements.evaluate,
    ast.Assign: Statements.assign,
    ast.AnnAssign: Statements.annotated,
    ast.AugAssign: Statements.augmented,
    ast.If: Statements.branch,
    ast.For: Statements.for_loop,
    StoppableFor: Statements.for_loop,
    ast.While: Statements.while_loop,
}
