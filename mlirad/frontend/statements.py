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
)
from mlirad.frontend.ranges import Ranges
from mlirad.frontend.structure import StoppableFor
from mlirad.frontend.types import Array, Type


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
                self.bind(name, operand, node)
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
                self.bind(name, self.operate(node.op, left, self.value(node.value), node), node)
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
        self, names: Sequence[str], branches: Sequence[dict[str, Operand]], node: ast.stmt
    ) -> list[str]:
        """The variables among `names` that become results; checks that the others agree."""
        results: list[str] = []
        for name in names:
            found = [env[name] for env in branches if name in env]
            if not found:
                continue
            if any(isinstance(o, (Static, ArrayRef)) for o in found) or isinstance(
                self.types.get(name), Array
            ):
                if any(o != found[0] for o in found):
                    what = f"'{name}' is a different array or object depending on a condition"
                    raise self.unsupported(
                        node, what, "use each under its own name, inside the branch"
                    )
                self.env[name] = found[0]
            elif name in self.types:
                results.append(name)
        return results

    def outgoing(
        self, env: dict[str, Operand], names: Sequence[str], node: ast.stmt
    ) -> list[SSAValue]:
        """The values of variables at the end of a region; 0 where one was never assigned."""
        self.locate(node)
        values: list[SSAValue] = []
        for name in names:
            type_ = self.types[name]
            operand = env.get(name)
            operand = self.zero(type_) if operand is None else self.coerce(operand, type_, node)
            values += flatten(operand)
        return values

    def incoming(self, names: Sequence[str], values: Sequence[SSAValue]) -> None:
        """Binds variables to the results or arguments of a region op."""
        remaining = iter(values)
        for name in names:
            operand = rebuild(self.types[name], remaining)
            self.env[name] = operand
            self.hint(name, operand)

    def branch(self, node: ast.If) -> None:
        if (known := self.known_truth(node.test)) is not None:
            self.block(node.body if known else node.orelse)
            return
        try:
            condition = self.truth(node.test)
        except Unresolved as missing:
            self.incomplete = missing
            condition = self.constant(False).ssa
        live = self.liveness.after[node]
        names = [n for n in ordered_assignments([node]) if n in live]
        blocks = Block(), Block()
        envs: list[dict[str, Operand]] = []
        for block, body in zip(blocks, (node.body, node.orelse), strict=True):
            with self.inside(block):
                self.block(body)
                envs.append(self.env)
        results = self.merged(names, envs, node)
        types = flatten_types([self.types[n] for n in results])
        for block, env in zip(blocks, envs, strict=True):
            with self.inside(block):
                self.builder.insert(scf.YieldOp(*self.outgoing(env, results, node)))
        self.locate(node)
        orelse = Region(blocks[1]) if node.orelse or results else Region()
        op = scf.IfOp(condition, types, Region(blocks[0]), orelse)
        self.builder.insert(op)
        self.incoming(results, op.results)

    def carried(self, node: ast.For | ast.While, at_head: Sequence[str]) -> list[str]:
        """The variables a loop passes from one iteration to the next, and on."""
        head, after = self.liveness.head[node], self.liveness.after[node]
        names = [
            n for n in ordered_assignments([node]) if n in after or (n in head and n not in at_head)
        ]
        carried: list[str] = []
        for name in names:
            if isinstance(self.env.get(name), (ArrayRef, Static)):
                continue
            if name in self.types and not isinstance(self.types[name], Array):
                carried.append(name)
            elif name not in self.env and name not in self.types:
                # Its type comes from the body: the next walk carries it.
                self.unknown.setdefault(name, node)
                self.incomplete = self.incomplete or Unresolved(name, node)
        return carried

    def check_unchanged(
        self, before: dict[str, Operand], names: Sequence[str], node: ast.stmt
    ) -> None:
        """Arrays and objects keep their identity through a loop."""
        for name in names:
            old = before.get(name)
            if isinstance(old, (ArrayRef, Static)) and self.env.get(name) != old:
                what = f"'{name}' becomes another array or object in a loop"
                raise self.unsupported(node, what, "use one name per array; swap arrays outside")

    def for_loop(self, node: ast.For) -> None:
        try:
            counted = self.range(node)
        except Unresolved as missing:
            self.incomplete = missing
            counted = self.no_range()
        targets = ordered_assignments([ast.For(node.target, node.iter, [], [])])
        names = self.carried(node, targets)
        before = self.env
        initial = self.outgoing(before, names, node)
        stops = node.stops if isinstance(node, StoppableFor) else ()
        if stops:
            self.stoppable(node, counted, names, initial, stops)
            return
        block = Block(arg_types=[INDEX, *flatten_types([self.types[n] for n in names])])
        types = dict(self.types)
        zero, one = self.index_constant(0), self.index_constant(1)
        with self.inside(block):
            self.incoming(names, block.args[1:])
            self.iteration(node, counted, block.args[0])
            self.check_unchanged(before, ordered_assignments([node]), node)
            self.builder.insert(scf.YieldOp(*self.outgoing(self.env, names, node)))
        self.locate(node)
        op = self.builder.insert(scf.ForOp(zero, counted.count, one, initial, block))
        self.leave(names, op.results, types)
        self.unknown_after(node, names)

    def iteration(self, node: ast.For, counted: Any, counter: SSAValue) -> None:
        self.locate(node.target)
        self.assign_to(node.target, self.loop_variable(counted, counter), node)
        self.block(node.body)

    def leave(
        self, names: Sequence[str], results: Sequence[SSAValue], types: dict[str, Type]
    ) -> None:
        """Binds loop results; those of a walk to be repeated have the types from before."""
        new = self.types
        self.types = {**new, **{n: types[n] for n in names}}
        self.incoming(names, results)
        self.types = new

    def unknown_after(self, node: ast.For | ast.While, names: Sequence[str]) -> None:
        """Notes what was assigned in a loop but could not leave it in this walk."""
        for name in self.liveness.after[node] & frozenset(ordered_assignments([node])):
            if name not in self.env:
                self.unknown.setdefault(name, node)
                self.incomplete = self.incomplete or Unresolved(name, node)

    def stoppable(
        self,
        node: ast.For,
        counted: Any,
        names: list[str],
        initial: list[SSAValue],
        stops: Sequence[str],
    ) -> None:
        """A counted loop that may end early, as an `scf.while` over the counter."""
        types = dict(self.types)
        arg_types = [INDEX, *flatten_types([self.types[n] for n in names])]
        test, body = Block(arg_types=arg_types), Block(arg_types=arg_types)
        before = self.env
        with self.inside(test):
            self.incoming(names, test.args[1:])
            condition = self.below(test.args[0], counted.count)
            for stop in stops:
                condition = self.unless(self.flag(stop), condition)
            self.builder.insert(scf.ConditionOp(condition, *test.args))
        with self.inside(body):
            self.incoming(names, body.args[1:])
            self.iteration(node, counted, body.args[0])
            self.check_unchanged(before, ordered_assignments([node]), node)
            self.locate(node)
            following = self.next_count(body.args[0])
            self.builder.insert(scf.YieldOp(following, *self.outgoing(self.env, names, node)))
        self.locate(node)
        start = self.index_constant(0)
        op = scf.WhileOp([start, *initial], arg_types, Region(test), Region(body))
        self.builder.insert(op)
        self.leave(names, op.results[1:], types)
        self.unknown_after(node, names)

    def flag(self, name: str) -> Value:
        """A flag of the restructured body; False while unknown in this walk."""
        operand = self.env.get(name)
        return operand if isinstance(operand, Value) else self.constant(False)

    def unless(self, flag: Value, condition: SSAValue) -> SSAValue:
        """`condition and not flag`."""
        held = operators.unary("Not", flag, self.builder)
        return self.both(held, lambda: Value(condition, held.type), eager=True).ssa

    def while_loop(self, node: ast.While) -> None:
        names = self.carried(node, ())
        initial = self.outgoing(self.env, names, node)
        types = dict(self.types)
        arg_types = flatten_types([self.types[n] for n in names])
        test, body = Block(arg_types=arg_types), Block(arg_types=arg_types)
        before = self.env
        with self.inside(test):
            self.incoming(names, test.args)
            try:
                condition = self.truth(node.test)
            except Unresolved as missing:
                self.incomplete = missing
                condition = self.constant(False).ssa
            self.builder.insert(scf.ConditionOp(condition, *test.args))
        with self.inside(body):
            self.incoming(names, body.args)
            self.block(node.body)
            self.check_unchanged(before, ordered_assignments([node]), node)
            self.builder.insert(scf.YieldOp(*self.outgoing(self.env, names, node)))
        self.locate(node)
        op = self.builder.insert(scf.WhileOp(initial, arg_types, Region(test), Region(body)))
        self.leave(names, op.results, types)
        self.unknown_after(node, names)


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
