"""Arithmetic on literals: done while compiling, by Python itself, as Python's own compiler does."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
}
UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: lambda a: -a,
    ast.UAdd: lambda a: +a,
    ast.Invert: lambda a: ~a,
}

MOST_BITS = 1024
"""Powers and shifts beyond this are left alone: they would not fit into any type."""


def fold(node: ast.expr) -> float | None:
    """
    The number (int or float) that an expression of literals stands for; None for any other.

    What raises in Python (division by zero) is left to run time.
    """
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return attempt(UNARY[type(op)], fold(operand))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in BINARY:
            a, b = fold(left), fold(right)
            if isinstance(op, ast.Pow | ast.LShift) and is_huge(a, b):
                return None
            return attempt(BINARY[type(op)], a, b)
        case _:
            return None


def attempt(operation: Callable[..., Any], *numbers: float | None) -> float | None:
    if None in numbers:
        return None
    try:
        result = operation(*numbers)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return result if isinstance(result, int | float) else None


def is_huge(base: float | None, exponent: float | None) -> bool:
    """Whether a power or shift of ints has more digits than anybody can use."""
    if not isinstance(base, int) or not isinstance(exponent, int):
        return False
    return abs(base) > 1 and abs(exponent) * base.bit_length() > MOST_BITS
