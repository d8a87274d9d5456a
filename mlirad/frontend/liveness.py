"""
Which variables are live where, on the restructured syntax tree of a function.

Only live variables leave a branch or are carried by a loop; what is used within one iteration
stays there, which keeps derivatives small.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from mlirad.frontend.structure import StoppableFor

Names = frozenset[str]
EMPTY: Names = frozenset()


def names(node: ast.AST | None, context: type[ast.expr_context]) -> Names:
    """The names in `node` that are loaded (`ast.Load`) or assigned (`ast.Store`)."""
    if node is None:
        return EMPTY
    return frozenset(
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)
    )


def reads(node: ast.AST | None) -> Names:
    return names(node, ast.Load)


def ordered_assignments(statements: Iterable[ast.stmt]) -> list[str]:
    """The variables assigned anywhere in `statements`, by first appearance in the text."""
    found: dict[str, None] = {}
    for statement in statements:
        match statement:
            case ast.If():
                inner = ordered_assignments([*statement.body, *statement.orelse])
            case ast.While():
                inner = ordered_assignments(statement.body)
            case ast.For():
                inner = [
                    *sorted(names(statement.target, ast.Store)),
                    *ordered_assignments(statement.body),
                ]
            case _:
                inner = sorted(names(statement, ast.Store))
        found.update(dict.fromkeys(inner))
    return list(found)


class Liveness:
    """`after[s]`: live behind statement `s`; `head[s]`: before an iteration of loop `s`."""

    def __init__(self, body: Sequence[ast.stmt], results: Names) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        self.exposed: dict[ast.stmt, Names] = {}
        self.block(body, results)

    def block(self, statements: Sequence[ast.stmt], live: Names) -> Names:
        """What is live before `statements` if `live` is live behind them."""
        for statement in reversed(statements):
            self.after[statement] = live
            live = self.before(statement, live)
        return live

    def before(self, statement: ast.stmt, live: Names) -> Names:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                return self.block(body, live) | self.block(orelse, live) | reads(test)
            case ast.For():
                return self.before_for(statement, live)
            case ast.While():
                self.head[statement] = live | reads(statement.test) | self.reads_first(statement)
                self.block(statement.body, self.head[statement])
                return self.head[statement]
            case ast.AugAssign(target=target, value=value):
                # `x += 1` reads what its syntax tree says it only stores.
                return live | names(target, ast.Store) | reads(target) | reads(value)
            case ast.AnnAssign(target=target, value=value):
                return (live - names(target, ast.Store)) | reads(target) | reads(value)
            case _:
                return (live - names(statement, ast.Store)) | reads(statement)

    def before_for(self, statement: ast.For, live: Names) -> Names:
        target = names(statement.target, ast.Store)
        head = live | (self.reads_first(statement) - target)
        if isinstance(statement, StoppableFor):
            head |= frozenset(statement.stops)
        self.block(statement.body, head)
        self.head[statement] = head
        return head | reads(statement.iter)

    def reads_first(self, loop: ast.For | ast.While) -> Names:
        """What the body of a loop may read before it assigns it, whatever follows the loop."""
        if loop not in self.exposed:
            self.exposed[loop] = self.block(loop.body, EMPTY)
        return self.exposed[loop]
