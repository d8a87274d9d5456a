"""Makes a failing program smaller while it still fails in the same way."""

from __future__ import annotations

import ast
import copy
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic

from tests.fuzz.case import Case
from tests.fuzz.isolated import Check, isolated

LIMIT = 180.0
"""Seconds for one program."""


class Useless(Exception):
    """A smaller program that plain Python cannot run."""


def category(failure: str) -> str:
    """What two failures have in common if they have the same cause: no numbers, no places."""
    first = failure.splitlines()[0]
    words = re.sub(r"\S*\.py:\S*|'[^']*'|[-\d.e+]+|[\[\]]", "", first).split()
    return " ".join(words[:8] if first.startswith("crash") else words[:5])


def shrink(case: Case, failure: str, check: Check) -> tuple[Case, str]:
    """The smallest case found that fails like `failure`, and how it fails."""
    wanted, end = category(failure), monotonic() + LIMIT
    progress = True
    while progress and monotonic() < end:
        progress = False
        for candidate in smaller(case):
            if monotonic() > end:
                break
            found = fails(candidate, check)
            if found is not None and category(found) == wanted:
                case, failure, progress = candidate, found, True
                break
    return case, failure


def fails(case: Case, check: Check) -> str | None:
    """How `case` fails, if plain Python can run it."""

    def whole(work: Case, folder: Path) -> None:
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            work.interpret()
        except Exception as error:
            raise Useless from error
        check(work, folder)

    (outcome,) = isolated(whole, [case], patience=20.0)
    failure = outcome.failure
    return None if failure is None or failure.startswith("Useless") else failure


def smaller(case: Case) -> Iterator[Case]:
    """Cases a step smaller, the largest steps first."""
    if case.layout != "apart":
        yield replace(case, layout="apart")
    if case.n > 1:
        yield replace(case, n=case.n - 1)
    if case.sizes != (1, 1):
        yield replace(case, sizes=(1, 1))
    for source in edits(case.source):
        if len(source) < len(case.source):
            yield replace(case, source=source)


def edits(source: str) -> Iterator[str]:
    """Sources with one statement or expression less."""
    tree = ast.parse(source)
    for position, node in enumerate(ast.walk(tree)):
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if not isinstance(statements, list):
                continue
            for index, statement in enumerate(statements):
                for replacement in instead_of(statement, len(statements), field):
                    yield edited(tree, position, field, index, replacement)
    for position, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and field not in ("target", "targets", "func", "ctx"):
                for simple in simpler(value):
                    yield edited(tree, position, field, None, simple)


def instead_of(statement: ast.stmt, length: int, field: str) -> Iterator[list[ast.stmt]]:
    if length > 1 or field == "orelse":
        yield []
    for inner in ("body", "orelse"):
        found = getattr(statement, inner, None)
        if isinstance(found, list) and found and not isinstance(statement, ast.FunctionDef):
            yield found
    if length == 1 and not isinstance(statement, ast.Pass):
        yield [ast.Pass()]


def simpler(value: ast.expr) -> Iterator[ast.expr]:
    for inner in ast.iter_child_nodes(value):
        if isinstance(inner, ast.expr) and not isinstance(value, ast.Attribute):
            yield inner
    for constant in (0.5, 0, 1, 2):
        yield ast.Constant(constant)


def edited(
    tree: ast.Module,
    position: int,
    field: str,
    index: int | None,
    replacement: ast.expr | list[ast.stmt],
) -> str:
    """The source of `tree` with one field, or one statement in it, replaced."""
    whole = copy.deepcopy(tree)
    node = next(n for k, n in enumerate(ast.walk(whole)) if k == position)
    if index is None:
        setattr(node, field, copy.deepcopy(replacement))
    else:
        assert isinstance(replacement, list)
        statements = getattr(node, field)
        statements[index : index + 1] = copy.deepcopy(replacement)
    return ast.unparse(ast.fix_missing_locations(whole)) + "\n"
