"""Structured control flow: what it passes on, and the types of that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from mlirad.errors import MliradError
from mlirad.frontend import operators
from mlirad.frontend.assignments import Assignments
from mlirad.frontend.body import INDEX, Unresolved
from mlirad.frontend.builder import Value
from mlirad.frontend.choice import Choice, carried_types
from mlirad.frontend.iterables import Iteration
from mlirad.frontend.liveness import Liveness, ordered_assignments
from mlirad.frontend.operands import (
    ArrayRef,
    Compound,
    Operand,
    RangeValue,
    Static,
    TupleValue,
    flatten,
    rebuild,
    spell,
    type_of,
)
from mlirad.frontend.structure import StoppableFor
from mlirad.frontend.types import BOOL, Type


def is_fixed(operand: Operand | None) -> bool:
    """Whether an operand is no number: an array, or a Python object."""
    if isinstance(operand, TupleValue):
        return any(is_fixed(element) for element in operand.elements)
    return isinstance(operand, (ArrayRef, Compound, Static, RangeValue))


Carried = dict[str, Type | Choice]
"""Variables that control flow passes on, with their types."""


class Statements(Assignments):
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

    def merged(
        self, names: Sequence[str], branches: Sequence[dict[str, Operand]], node: ast.If
    ) -> dict[str, Type | Choice]:
        """The variables among `names` that become results of an `if`, and their types."""
        results: dict[str, Type | Choice] = {}
        for name in names:
            found = [env[name] for env in branches if name in env]
            types = [t for t in map(type_of, found) if t is not None]
            if any(is_fixed(operand) for operand in found):
                if all(operand == found[0] for operand in found) and self.is_visible(
                    found[0], self.here()
                ):
                    self.env[name] = found[0]
                    continue
                arrays = [operand for operand in found if isinstance(operand, ArrayRef)]
                if len(arrays) < len(found):
                    raise self.changed(name, found, node)
                here = self.here()
                choices = [self.choice_of(array, name, here, node) for array in arrays]
                results[name] = self.joined(choices, name, node)
            elif len(types) == 2:
                results[name] = self.unified(name, types[0], types[1], node)
            elif types:
                results[name] = types[0]
        return results

    def changed(self, name: str, found: Sequence[Operand], node: ast.stmt) -> MliradError:
        """A variable holds different objects, or tuples of arrays, depending on what ran."""
        types = [type_of(operand) for operand in found]
        if types[0] != types[-1]:
            what = f"the type of '{name}' changes from {spell(found[0])} to {spell(found[-1])}"
            return self.typing_error(node, what, "use one name per type")
        what = f"'{name}' is a different object, or tuple of arrays, depending on what ran"
        return self.unsupported(node, what, "use each under its own name, inside the branch")

    def outgoing(
        self, env: dict[str, Operand], types: dict[str, Type | Choice], node: ast.stmt
    ) -> list[SSAValue]:
        """The values of variables at the end of a region; 0 where one was never assigned."""
        self.locate(node)
        values: list[SSAValue] = []
        for name, type_ in types.items():
            operand = env.get(name)
            if isinstance(type_, Choice):
                known = isinstance(operand, ArrayRef)
                numbers = self.numbers(operand, type_) if known else self.no_choice(type_)
                values += numbers
            elif operand is None:
                values += flatten(self.zero(type_))
            else:
                values += flatten(self.coerce(operand, type_, node))
        return values

    def incoming(self, types: dict[str, Type | Choice], values: Sequence[SSAValue]) -> None:
        """Binds variables to the results or arguments of a region op."""
        remaining = iter(values)
        for name, type_ in types.items():
            if isinstance(type_, Choice):
                count = len(carried_types([type_]))
                operand = self.chosen(type_, [next(remaining) for _ in range(count)])
            else:
                operand = rebuild(type_, remaining)
            self.bind(name, operand)

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
        op = scf.IfOp(condition, carried_types(results.values()), Region(blocks[0]), orelse)
        self.builder.insert(op)
        self.incoming(results, op.results)

    def condition(self, test: ast.expr) -> SSAValue:
        """The truth of `test`; False while it cannot be evaluated in this walk."""
        try:
            return self.truth(test)
        except Unresolved as missing:
            self.incomplete = missing
            return self.constant(False).ssa

    def candidates(self, node: ast.For | ast.While, at_head: Sequence[str]) -> list[str]:
        """The variables that a loop may pass from one iteration to the next, and on."""
        head, after = self.liveness.head[node], self.liveness.after[node]
        return [
            name
            for name in ordered_assignments([node])
            if name in after or (name in head and name not in at_head)
        ]

    def carried(self, node: ast.For | ast.While, at_head: Sequence[str]) -> Carried:
        """
        The variables a loop passes on, with their types.

        A variable is one value in all iterations, so its type is known only after the body.
        """
        types: Carried = {}
        for name in self.candidates(node, at_head):
            operand, known = self.env.get(name), self.types.get((node, name))
            if operand is not None and is_fixed(operand):
                if isinstance(known, Choice) and isinstance(operand, ArrayRef):
                    start = self.choice_of(operand, name, self.here(), node)
                    types[name] = self.types[node, name] = self.joined([known, start], name, node)
                continue
            start = type_of(operand) if operand is not None else None
            if start is not None:
                known = start if known is None else self.met(name, known, start, node)
            if known is not None:
                types[name] = self.types[node, name] = known
            else:
                # Its type comes from the body: the next walk carries it.
                self.unknown.setdefault(name, node)
                self.incomplete = self.incomplete or Unresolved(name, node)
        return types

    def met(
        self, name: str, known: Type | Choice, new: Type | Choice, node: ast.stmt
    ) -> Type | Choice:
        """The type of a variable that comes with these types to where control flow meets."""
        if isinstance(known, Choice) and isinstance(new, Choice):
            return self.joined([known, new], name, node)
        if isinstance(known, Choice) or isinstance(new, Choice):
            what = f"the type of '{name}' changes from {known} to {new}"
            raise self.typing_error(node, what, "use one name per type")
        return self.unified(name, known, new, node)

    def end_iteration(
        self,
        node: ast.For | ast.While,
        before: dict[str, Operand],
        types: Carried,
        at_head: Sequence[str],
    ) -> list[SSAValue]:
        """The carried variables at the end of the body; widens their types if it must."""
        for name in self.candidates(node, at_head):
            old, new = before.get(name), self.env.get(name)
            if new is None or (new == old and is_fixed(new) and name not in types):
                continue
            end: Type | Choice | None = type_of(new)
            if isinstance(new, ArrayRef):
                end = self.choice_of(new, name, self.outer_blocks[self.here()], node)
            elif is_fixed(new) or (is_fixed(old) and name not in types):
                raise self.changed(name, [old or new, new], node)
            assert end is not None
            known = types.get(name) or self.types.get((node, name))
            wide = end if known is None else self.met(name, known, end, node)
            self.widened |= wide != known and (name in types or isinstance(end, Choice))
            self.types[node, name] = wide
        return self.outgoing(self.env, types, node)

    def for_loop(self, node: ast.For) -> None:
        try:
            counted = self.iterable(node.iter)
        except Unresolved as missing:
            self.incomplete = missing
            counted = self.nothing()
        targets = ordered_assignments([ast.For(node.target, node.iter, [], [])])
        types = self.carried(node, targets)
        initial = self.outgoing(self.env, types, node)
        if isinstance(node, StoppableFor):
            self.stoppable(node, counted, types, initial, targets)
            return
        block = Block(arg_types=[INDEX, *carried_types(types.values())])
        before = self.env
        zero, one = self.index_constant(0), self.index_constant(1)
        with self.inside(block):
            self.incoming(types, block.args[1:])
            self.iteration(node, counted, block.args[0])
            self.builder.insert(scf.YieldOp(*self.end_iteration(node, before, types, targets)))
        self.locate(node)
        op = self.builder.insert(scf.ForOp(zero, counted.count, one, initial, block))
        self.incoming(types, op.results)

    def iteration(self, node: ast.For, counted: Iteration, counter: SSAValue) -> None:
        self.locate(node.target)
        self.assign_to(node.target, counted.element(counter), node)
        self.block(node.body)

    def stoppable(
        self,
        node: StoppableFor,
        counted: Iteration,
        types: Carried,
        initial: list[SSAValue],
        targets: Sequence[str],
    ) -> None:
        """A counted loop that may end early, as an `scf.while` over the counter."""
        arg_types = [INDEX, *carried_types(types.values())]
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
            values = self.end_iteration(node, before, types, targets)
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
        arg_types = carried_types(types.values())
        test, body = Block(arg_types=arg_types), Block(arg_types=arg_types)
        before = self.env
        with self.inside(test):
            self.incoming(types, test.args)
            condition = self.condition(node.test)
            self.builder.insert(scf.ConditionOp(condition, *test.args))
        with self.inside(body):
            self.incoming(types, body.args)
            self.block(node.body)
            self.builder.insert(scf.YieldOp(*self.end_iteration(node, before, types, ())))
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
