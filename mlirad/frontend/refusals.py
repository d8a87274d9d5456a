"""What is valid Python but not compiled: for each kind of syntax, what it is and the way out."""

from __future__ import annotations

import ast

from mlirad.errors import UnsupportedError, describe
from mlirad.frontend.source import Source

SYNTAX: dict[type[ast.AST], tuple[str, str]] = {
    ast.Assert: ("'assert' is not compiled", "check the arguments before the call"),
    ast.AsyncFor: ("'async for' is not compiled", "use a plain 'for' over range"),
    ast.AsyncFunctionDef: ("nested functions are not compiled", "define it outside"),
    ast.AsyncWith: ("'async with' is not compiled", "move it out of the function"),
    ast.Await: ("'await' is not compiled", "move it out of the function"),
    ast.ClassDef: ("classes are not compiled", "pass numbers and arrays as arguments"),
    ast.Delete: ("'del' is not compiled", "leave it out: numbers need no deleting"),
    ast.Dict: ("dicts are not compiled", "use one variable or argument per entry"),
    ast.DictComp: ("comprehensions are not compiled", "write a 'for' loop"),
    ast.FormattedValue: ("strings are not compiled", "move them out of the function"),
    ast.FunctionDef: ("nested functions are not compiled", "define it outside"),
    ast.GeneratorExp: ("generator expressions are not compiled", "write a 'for' loop"),
    ast.Global: ("'global' is not compiled", "use an array argument"),
    ast.Import: ("'import' inside a function is not compiled", "import at the top of the file"),
    ast.ImportFrom: ("'import' inside a function is not compiled", "import at the top of the file"),
    ast.JoinedStr: ("strings are not compiled", "move them out of the function"),
    ast.Lambda: ("a lambda cannot be compiled", "write it with 'def'"),
    ast.List: ("lists are not compiled", "use a tuple, or an array that is an argument"),
    ast.ListComp: ("comprehensions are not compiled", "write a 'for' loop"),
    ast.Match: ("'match' is not compiled", "use 'if' and 'elif'"),
    ast.NamedExpr: ("':=' is not compiled", "assign in a statement of its own"),
    ast.Nonlocal: ("'nonlocal' is not compiled", "use an array argument"),
    ast.Raise: ("'raise' is not compiled", "store an error number in an array argument"),
    ast.Set: ("sets are not compiled", "use an array that is an argument"),
    ast.SetComp: ("comprehensions are not compiled", "write a 'for' loop"),
    ast.Slice: ("slices of tuples are not compiled", "index single elements with literals"),
    ast.Starred: ("'*' unpacking is not compiled", "name each element"),
    ast.Try: ("'try' is not compiled", "test for the condition with 'if'"),
    ast.TryStar: ("'try' is not compiled", "test for the condition with 'if'"),
    ast.With: ("'with' is not compiled", "move it out of the function"),
    ast.Yield: ("generators are not compiled", "store the values in an array argument"),
    ast.YieldFrom: ("generators are not compiled", "store the values in an array argument"),
}  # fmt: skip


def refusal(source: Source, node: ast.AST) -> UnsupportedError:
    """The error for a kind of syntax that is not compiled."""
    what, way_out = SYNTAX.get(
        type(node),
        (f"'{type(node).__name__}' is not compiled", "write it with plain statements"),
    )
    return UnsupportedError(describe(source.where(node), what, way_out))
