"""Reads the source of a Python function: its syntax tree with true lines and columns."""

from __future__ import annotations

import ast
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

from mlirad.errors import ArgumentTypeError, UnsupportedError, describe


@dataclass(slots=True)
class Place:
    """A position in a file; lines and columns start at 1."""

    filename: str
    line: int
    column: int


class Source:
    """A function and its syntax tree, whose line numbers are those of the file."""

    def __init__(self, function: FunctionType, filename: str, tree: ast.FunctionDef):
        self.function, self.filename, self.tree = function, filename, tree

    @property
    def name(self) -> str:
        return self.function.__name__

    def where(self, node: ast.AST) -> Place:
        """The place of `node`, or of the function for nodes that have none."""
        line = getattr(node, "lineno", self.tree.lineno)
        column = getattr(node, "col_offset", self.tree.col_offset)
        return Place(self.filename, line, column + 1)


def unwrap(function: object) -> FunctionType | None:
    """
    The plain Python function inside a kernel, function or numba dispatcher; None for anything
    else. Looks at attributes only, so that numba need not be imported.
    """
    for _ in range(3):
        if isinstance(function, FunctionType):
            return function
        inner = getattr(function, "py_func", None)
        if inner is None and type(function).__module__.startswith("numba."):
            inner = getattr(function, "fn", None)  # the CUDA simulator's kernels
        function = inner
    return None


def read(function: Callable[..., object]) -> Source:
    """
    The source of `function` (or of the function inside a dispatcher). Decorators are ignored.

    Raises:
        ArgumentTypeError: it is no Python function.
        UnsupportedError: it is a lambda, a generator or a coroutine, or its source cannot be read.
    """
    plain = unwrap(function)
    if plain is None:
        raise ArgumentTypeError(
            f"a Python function is needed, but got {function!r} of type '{type(function).__name__}'"
        )
    code = plain.__code__
    filename, place = code.co_filename, beginning(plain)
    if plain.__name__ == "<lambda>":
        raise UnsupportedError(
            describe(place, "a lambda cannot be compiled", "write it with 'def'")
        )
    if inspect.isgeneratorfunction(plain) or inspect.iscoroutinefunction(plain):
        kind = "coroutine" if inspect.iscoroutinefunction(plain) else "generator"
        what = f"'{plain.__name__}' is a {kind}, which is not compiled"
        raise UnsupportedError(
            describe(place, what, "store the values in an array that is an argument")
        )
    try:
        lines, start = inspect.getsourcelines(plain)
    except (OSError, TypeError):
        what = f"the source of '{plain.__name__}' cannot be read"
        raise UnsupportedError(
            describe(place, what, "define it in a file (not in exec or a bare prompt)")
        ) from None
    return Source(plain, filename, parse(lines, start, place))


def beginning(function: Callable[..., object]) -> Place:
    code = function.__code__
    return Place(code.co_filename, code.co_firstlineno, 1)


def refuse_open_parameters(function: FunctionType) -> None:
    """
    Raises UnsupportedError if `function` cannot be called by position with a fixed number of
    arguments, as compiled code is from outside.
    """
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        what = f"'{function.__name__}' takes '*' arguments, which are not compiled"
        way_out = "name each argument, or pass a tuple"
    elif code.co_kwonlyargcount:
        what = f"'{function.__name__}' has keyword-only arguments, which are not compiled here"
        way_out = "remove the '*' from its parameters"
    else:
        return
    raise UnsupportedError(describe(beginning(function), what, way_out))


_parsing = threading.Lock()


def parse_text(text: str) -> ast.Module:
    """`ast.parse`, by one thread at a time: CPython 3.11 counts its recursion for all of them."""
    with _parsing:
        return ast.parse(text)


def parse(lines: list[str], start: int, place: Place) -> ast.FunctionDef:
    """The first function in `lines`, which begin at line `start` and may be indented."""
    text, offset = "".join(lines), start - 1
    if lines[0][:1].isspace():
        # An enclosing block, instead of removing the indentation, keeps columns true.
        text, offset = "if 1:\n" + text, offset - 1
    try:
        module = parse_text(text)
    except SyntaxError:
        raise UnsupportedError(
            describe(place, "the source found here is not that of a function")
        ) from None
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            ast.increment_lineno(node, offset)
            return node
    raise UnsupportedError(
        describe(
            place,
            "the source found here is not that of a function",
            "was the file edited after it was loaded?",
        )
    )
