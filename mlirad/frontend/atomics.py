"""Atomic operations on one element of an array, and fences between them."""

from __future__ import annotations

import ast

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from mlirad.dialects.autodiff import CompareExchangeOp, FenceOp
from mlirad.frontend import casts, operators
from mlirad.frontend.allocations import Allocations
from mlirad.frontend.builder import Value
from mlirad.frontend.ir_types import element_type
from mlirad.frontend.operands import NONE, ArrayRef, Compound, Operand, spell
from mlirad.frontend.types import Scalar

RMW_KINDS: dict[str, dict[str, int]] = {
    "atomic.add": {"f": 0, "i": 1, "u": 1},
    "atomic.sub": {"f": 0, "i": 1, "u": 1},
    "atomic.exch": {"f": 2, "i": 2, "u": 2},
    "atomic.max": {"f": 13, "i": 4, "u": 5},
    "atomic.min": {"f": 14, "i": 7, "u": 8},
}
"""The kinds of `memref.atomic_rmw` by element; a NaN never wins a maximum or minimum."""
CAS = {"atomic.cas": 4, "atomic.compare_and_swap": 3}
"""How many arguments each takes: the second one is about the first element of the array."""
FENCES = {
    "threadfence_block": "block",
    "threadfence": "device",
    "threadfence_system": "system",
}


class Atomics(Allocations):
    """Evaluates `atomic.add` and its like; each gives the old element."""

    def element_of(
        self, path: str, index: ast.expr | None, node: ast.Call
    ) -> tuple[ArrayRef, list[SSAValue]]:
        """The array that an atomic operation changes, and the indices of the element."""
        array = self.expression(node.args[0])
        given: tuple[SSAValue, ...] = ()
        if isinstance(array, Compound) and isinstance(array.array.element, Scalar):
            array, given = array.parts[0], array.given
        if isinstance(array, Compound):
            what = f"'{path}' cannot change {spell(array)}"
            raise self.typing_error(node, what, "add to one field or part of it: a.real, a['x']")
        if not isinstance(array, ArrayRef):
            what = f"'{path}' needs an array, but got {spell(array)}"
            raise self.typing_error(node, what, "give the array and the index apart")
        if array.type.scalar.kind == "b":
            raise self.typing_error(node, f"'{path}' cannot change {array.type}")
        if index is None:
            missing = array.type.ndim - len(given)
            return array, [*given, *(self.index_constant(0) for _ in range(missing))]
        return array, self.indices(array, self.index_values(index), node, given)

    def atomic(self, path: str, node: ast.Call) -> Operand:
        """`atomic.add(array, index, value)` and its like."""
        if len(node.args) != 3:
            raise self.typing_error(node, f"'{path}' takes an array, an index and a value")
        array, indices = self.element_of(path, node.args[1], node)
        element = array.type.scalar
        operand = self.value(node.args[2])
        self.locate(node)
        self.must_be_writable(array, node)
        if path == "atomic.sub":
            operand = operators.unary(
                "USub", casts.convert(operand, element, self.builder), self.builder
            )
        op = memref.AtomicRMWOp.create(
            operands=[self.stored(array, operand, node), array.ssa, *indices],
            properties={"kind": IntegerAttr(RMW_KINDS[path][element.kind], i64)},
            result_types=[element_type(element)],
        )
        return Value(self.op(op), element)

    def compare_and_swap(self, path: str, node: ast.Call) -> Operand:
        """`atomic.cas(array, index, old, value)`; `compare_and_swap` is about the first element."""
        if len(node.args) != CAS[path]:
            index = "an index, " if path == "atomic.cas" else ""
            what = f"'{path}' takes an array, {index}the element expected, and the new one"
            raise self.typing_error(node, what)
        array, indices = self.element_of(path, node.args[1] if path == "atomic.cas" else None, node)
        element = array.type.scalar
        if element.kind == "f":
            what = f"'{path}' compares integers, but this is {array.type}"
            raise self.typing_error(node, what, "use an array of integers")
        expected, desired = (self.value(argument) for argument in node.args[-2:])
        self.locate(node)
        self.must_be_writable(array, node)
        old, new = (self.stored(array, value, node) for value in (expected, desired))
        return Value(self.op(CompareExchangeOp(old, new, array.ssa, indices)), element)

    def fence(self, path: str, node: ast.Call) -> Operand:
        if node.args:
            raise self.typing_error(node, f"'{path}' takes no arguments")
        self.builder.insert(FenceOp(FENCES[path]))
        return NONE
