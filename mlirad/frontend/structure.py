"""
Turns `return`, `break` and `continue` into assignments of flags, so that control only nests.

A branch that always leaves takes no flag: what follows moves into the other branch. Elsewhere
what follows is guarded by the flags. Flags nobody reads are dropped by the liveness analysis.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

RESULT, DONE = "$result", "$done"


class StoppableFor(ast.For):
    """A `for` that also ends when one of the flags `stops` is set; they are tested first."""

    stops: tuple[str, ...]


@dataclass(frozen=True)
class Loop:
    """The flags of the loop around a statement."""

    number: int

    @property
    def broken(self) -> str:
        return f"$broken{self.number}"

    @property
    def skipped(self) -> str:
        return f"$skipped{self.number}"


def escapes(statements: Sequence[ast.stmt]) -> set[type[ast.stmt]]:
    """Which of return, break and continue can leave `statements`."""
    found: set[type[ast.stmt]] = set()
    for statement in statements:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue():
                found.add(type(statement))
            case ast.If():
                found |= escapes(statement.body) | escapes(statement.orelse)
            case ast.For() | ast.While():
                found |= escapes(statement.body) & {ast.Return}
                found |= escapes(statement.orelse)
            case _:
                pass
    return found


def leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether control never reaches the end of `statements`."""
    for statement in statements:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue():
                return True
            case ast.If() if leaves(statement.body) and leaves(statement.orelse):
                return True
            case ast.While(test=ast.Constant(value=True)):
                if ast.Break not in escapes(statement.body):
                    return True
            case _:
                pass
    return False


def set_flag(name: str, value: bool, like: ast.stmt) -> ast.stmt:
    node = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
    return ast.fix_missing_locations(ast.copy_location(node, like))


def none_set(flags: Sequence[str], like: ast.AST) -> ast.expr:
    """`not a and not b …` for the flags."""
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())) for flag in flags]
    node = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    return ast.fix_missing_locations(ast.copy_location(node, like))


def make_if(test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], like: ast.stmt) -> ast.If:
    node = ast.If(test, body, orelse)
    return ast.copy_location(node, like)


class Structure:
    """One function being restructured."""

    def __init__(self) -> None:
        self.loops = 0

    def block(self, statements: Sequence[ast.stmt], loop: Loop | None) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for position, statement in enumerate(statements):
            rest = list(statements[position + 1 :])
            match statement:
                case ast.Return(value=value):
                    if value is not None:
                        target = ast.Name(RESULT, ast.Store())
                        assign = ast.copy_location(ast.Assign([target], value), statement)
                        out.append(ast.fix_missing_locations(assign))
                    return [*out, set_flag(DONE, True, statement)]
                case ast.Break() if loop:
                    return [*out, set_flag(loop.broken, True, statement)]
                case ast.Continue() if loop:
                    return [*out, set_flag(loop.skipped, True, statement)]
                case ast.If():
                    done, guarded = self.branch(statement, rest, loop)
                    out += done
                    if guarded:
                        return out
                case ast.For() | ast.While():
                    self.loops += 1
                    inner = Loop(self.loops)
                    out += self.loop(statement, inner)
                    if ast.Return in escapes(statement.body):
                        if statement.orelse or rest:
                            after = self.after_loop(statement, inner, rest, loop)
                            test = none_set([DONE], statement)
                            out.append(make_if(test, after, [], statement))
                        return out
                    if statement.orelse:
                        return out + self.after_loop(statement, inner, rest, loop)
                case _:
                    out.append(statement)
        return out

    def branch(
        self, statement: ast.If, rest: list[ast.stmt], loop: Loop | None
    ) -> tuple[list[ast.stmt], bool]:
        """The restructured `if`, and whether it has taken in `rest`."""
        test, body, orelse = statement.test, statement.body, statement.orelse
        left = escapes([statement])
        if left and rest and leaves(body):
            orelse, rest = [*orelse, *rest], []
        elif left and rest and leaves(orelse):
            body, rest = [*body, *rest], []
        elif not left or not rest:
            new = make_if(test, self.block(body, loop), self.block(orelse, loop), statement)
            return [new], False
        new = make_if(test, self.block(body, loop), self.block(orelse, loop), statement)
        if not rest:
            return [new], True
        flags = [DONE] if ast.Return in left else []
        if loop and ast.Break in left:
            flags.append(loop.broken)
        if loop and ast.Continue in left:
            flags.append(loop.skipped)
        guard = make_if(none_set(flags, statement), self.block(rest, loop), [], rest[0])
        return [new, guard], True

    def loop(self, statement: ast.For | ast.While, loop: Loop) -> list[ast.stmt]:
        """The restructured loop without its `else`, after what sets its flags to False."""
        left = escapes(statement.body)
        body = self.block(statement.body, loop)
        if ast.Continue in left:
            body.insert(0, set_flag(loop.skipped, False, statement))
        out: list[ast.stmt] = []
        stops: list[str] = []
        if ast.Break in left:
            stops.append(loop.broken)
            out.append(set_flag(loop.broken, False, statement))
        if ast.Return in left:
            stops.append(DONE)
        new: ast.stmt
        if isinstance(statement, ast.While):
            test = statement.test
            if stops:
                test = ast.BoolOp(ast.And(), [none_set(stops, test), test])
                ast.copy_location(test, statement.test)
            new = ast.While(test, body, [])
        elif stops:
            new = StoppableFor(statement.target, statement.iter, body, [])
            new.stops = tuple(stops)
        else:
            new = ast.For(statement.target, statement.iter, body, [])
        return [*out, ast.copy_location(new, statement)]

    def after_loop(
        self,
        statement: ast.For | ast.While,
        inner: Loop,
        rest: list[ast.stmt],
        loop: Loop | None,
    ) -> list[ast.stmt]:
        """The `else` of a loop (run unless it was left by `break`), then `rest`."""
        if not statement.orelse:
            return self.block(rest, loop)
        if ast.Break not in escapes(statement.body):
            return self.block([*statement.orelse, *rest], loop)
        test = none_set([inner.broken], statement)
        return self.block([make_if(test, statement.orelse, [], statement), *rest], loop)


def structure(tree: ast.FunctionDef) -> list[ast.stmt]:
    """
    The body of a function without `return`, `break` and `continue`.

    The value returned is that of the variable `$result` at the end.
    """
    return Structure().block(tree.body, None)
