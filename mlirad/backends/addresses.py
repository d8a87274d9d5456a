"""
Addresses of elements.

Arrays in C order are indexed by element, so that LLVM sees what it needs to vectorise; others
by byte, because their strides need not be multiples of the element size.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from mlirad.backends.descriptors import Descriptor
from mlirad.backends.emit_arith import literal
from mlirad.backends.writer import FunctionWriter


def multiply(w: FunctionWriter, a: str, b: str, flags: str = " nsw") -> str:
    """a * b, folded where that is free."""
    x, y = literal(a), literal(b)
    if x is not None and y is not None:
        return str(x * y)
    if x == 1:
        return b
    if y == 1:
        return a
    if x == 0 or y == 0:
        return "0"
    return w.let(f"mul{flags} i64 {a}, {b}")


def add(w: FunctionWriter, a: str, b: str, flags: str = " nsw") -> str:
    if a == "0":
        return b
    if b == "0":
        return a
    return w.let(f"add{flags} i64 {a}, {b}")


def byte_strides(w: FunctionWriter, array: Descriptor) -> tuple[str, ...]:
    """The strides of any array, computed for one in C order."""
    if array.strides is not None:
        return array.strides
    strides: list[str] = []
    stride = str(array.layout.width)
    for size in reversed(array.sizes):
        strides.append(stride)
        stride = multiply(w, stride, size)
    return tuple(reversed(strides))


def offset_bytes(w: FunctionWriter, array: Descriptor, offset: str) -> str:
    """The pointer of `array` moved by `offset` bytes."""
    if offset == "0":
        return array.pointer
    return w.let(f"getelementptr inbounds i8, {array.layout.pointer} {array.pointer}, i64 {offset}")


def address(w: FunctionWriter, array: Descriptor, indices: Sequence[str]) -> str:
    """A pointer to the element at `indices`."""
    if not indices:
        return array.pointer
    pointer = array.pointer
    if array.strides is not None:
        # One step per axis, so that the steps of outer loops leave the inner ones.
        for index, stride in zip(indices, array.strides, strict=True):
            offset = multiply(w, index, stride)
            if offset != "0":
                pointer = w.let(
                    f"getelementptr inbounds i8, {array.layout.pointer} {pointer}, i64 {offset}"
                )
        return pointer
    position = indices[0]
    for index, size in zip(indices[1:], array.sizes[1:], strict=True):
        position = add(w, multiply(w, position, size, " nuw nsw"), index, " nuw nsw")
    return w.let(
        f"getelementptr inbounds {array.layout.storage}, "
        f"{array.layout.pointer} {pointer}, i64 {position}"
    )


def operands(w: FunctionWriter, values: Sequence[SSAValue]) -> list[str]:
    """The operands of scalars."""
    found: list[str] = []
    for value in values:
        operand = w.values[value]
        assert isinstance(operand, str)
        found.append(operand)
    return found
