"""Sizes of allocations: numbers if the arguments are known, else text in their names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

Known = Mapping[SSAValue, int | Sequence[int]]
"""Numbers, and shapes of arrays."""


def number(value: SSAValue, known: Known) -> int | None:
    """The integer `value` where the arguments in `known` are given; None if they do not tell."""
    found = known.get(value)
    if isinstance(found, int):
        return found
    op = value.owner
    if not isinstance(op, Operation):
        return None
    if isinstance(op, arith.ConstantOp):
        return op.value.value.data if isinstance(op.value, IntegerAttr) else None
    if isinstance(op, memref.DimOp):
        shape, axis = known.get(op.source), number(op.index, known)
        return None if axis is None or not isinstance(shape, Sequence) else shape[axis]
    if isinstance(op, CASTS):
        return number(op.input, known)
    if (compute := COMPUTE.get(type(op))) is None:
        return None
    left, right = (number(operand, known) for operand in op.operands)
    return None if left is None or right is None else compute(left, right)


def quotient(a: int, b: int) -> int:
    """Rounds toward zero; by zero it is 0, as compiled code has it."""
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def floor(a: int, b: int) -> int:
    return 0 if b == 0 else a // b


def ceiling(a: int, b: int) -> int:
    return 0 if b == 0 else -(-a // b)


def remainder(a: int, b: int) -> int:
    return a - b * quotient(a, b) if b else 0


CASTS = (arith.IndexCastOp, arith.ExtSIOp)
COMPUTE: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
    arith.DivSIOp: quotient,
    arith.FloorDivSIOp: floor,
    arith.CeilDivSIOp: ceiling,
    arith.RemSIOp: remainder,
}
SUM, PRODUCT, WHOLE = 1, 2, 3
"""How much an expression binds."""


def text(value: SSAValue, binding: int = 0) -> str:
    """`value` as an expression; in parentheses if it binds less than `binding`."""
    written, own = write(value)
    return f"({written})" if own < binding else written


def write(value: SSAValue) -> tuple[str, int]:
    """The text of `value`, and how much it binds."""
    op = value.owner
    match op:
        case arith.ConstantOp(value=IntegerAttr() as held):
            return str(held.value.data), WHOLE
        case memref.DimOp():
            return f"{op.source.name_hint or '?'}.shape[{text(op.index)}]", WHOLE
        case arith.IndexCastOp() | arith.ExtSIOp():
            return write(op.input)
        case arith.CeilDivSIOp() if number(op.rhs, {}) == 1:
            return write(op.lhs)
        case arith.MaxSIOp() if number(op.rhs, {}) == 0:
            return write(op.lhs)
        case arith.MuliOp():
            return f"{text(op.lhs, PRODUCT)} * {text(op.rhs, PRODUCT)}", PRODUCT
        case arith.AddiOp():
            return f"{text(op.lhs, SUM)} + {text(op.rhs, SUM)}", SUM
        case arith.SubiOp():
            return f"{text(op.lhs, SUM)} - {text(op.rhs, PRODUCT)}", SUM
        case arith.MaxSIOp():
            return f"max({text(op.lhs)}, {text(op.rhs)})", WHOLE
        case arith.MinSIOp():
            return f"min({text(op.lhs)}, {text(op.rhs)})", WHOLE
        case arith.CeilDivSIOp():
            return f"ceil({text(op.lhs, PRODUCT)} / {text(op.rhs, WHOLE)})", WHOLE
        case arith.DivSIOp() | arith.FloorDivSIOp():
            return f"{text(op.lhs, PRODUCT)} // {text(op.rhs, WHOLE)}", PRODUCT
        case _:
            return (value.name_hint if not isinstance(op, Operation) else None) or "?", WHOLE
