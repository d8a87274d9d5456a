"""The GPU language: where a thread is in its grid, barriers, and atomics."""

from __future__ import annotations

import ast

from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from mlirad.frontend import casts, operators
from mlirad.frontend.allocations import SPACES, Allocations
from mlirad.frontend.body import INDEX
from mlirad.frontend.builder import Value
from mlirad.frontend.ir_types import element_type
from mlirad.frontend.operands import (
    NONE,
    ArrayRef,
    Compound,
    Operand,
    Static,
    TupleValue,
    spell,
)
from mlirad.frontend.types import Scalar

AXES = tuple(map(gpu.DimensionAttr, gpu.DimensionEnum))
"""x, y, z."""

IDS: dict[str, type[gpu.ThreadIdOp | gpu.BlockIdOp | gpu.BlockDimOp | gpu.GridDimOp]] = {
    "threadIdx": gpu.ThreadIdOp,
    "blockIdx": gpu.BlockIdOp,
    "blockDim": gpu.BlockDimOp,
    "gridDim": gpu.GridDimOp,
}
RMW_KINDS: dict[str, dict[str, int]] = {
    "atomic.add": {"f": 0, "i": 1, "u": 1},
    "atomic.sub": {"f": 0, "i": 1, "u": 1},
    "atomic.max": {"f": 13, "i": 4, "u": 5},
    "atomic.min": {"f": 14, "i": 7, "u": 8},
}
"""The kinds of `memref.atomic_rmw` by element; a NaN never wins a maximum or minimum."""


class Intrinsics(Allocations):
    """Evaluates the names that numba.cuda and mlirad.gpu share."""

    def identifier(self, name: str, axis: int) -> SSAValue:
        op = IDS[name].create(result_types=[INDEX], properties={"dimension": AXES[axis]})
        return self.op(op)

    def in_kernel(self, path: str, node: ast.AST) -> None:
        if not self.device:
            what = f"'{path}' has a meaning only in a kernel and in what it calls"
            raise self.typing_error(node, what, "move it into a kernel")

    def gpu_value(self, found: Static, node: ast.AST) -> Operand:
        root, _, axis = (found.path or "").partition(".")
        if root in IDS and axis in ("x", "y", "z"):
            self.in_kernel(f"{root}.{axis}", node)
            return self.count_value(self.identifier(root, "xyz".index(axis)))
        return found

    def gpu_call(self, path: str, node: ast.Call) -> Operand:
        self.in_kernel(path, node)
        if path in SPACES:
            return self.fixed_array(path, node)
        if node.keywords:
            what = f"'{path}' takes no keyword arguments"
            raise self.typing_error(node, what, "pass them by position")
        match path:
            case "grid" | "gridsize":
                return self.grid(path, node)
            case "syncthreads" | "syncwarp":
                self.builder.insert(gpu.BarrierOp())
                return NONE
            case "atomic.add" | "atomic.sub" | "atomic.max" | "atomic.min":
                return self.atomic(path, node)
            case _:
                way_out = (
                    "grid, ids, local and shared arrays, barriers, atomic add, sub, max and min are"
                )
                raise self.unsupported(node, f"'{path}' is not compiled yet", way_out)

    def grid(self, path: str, node: ast.Call) -> Operand:
        """`grid(n)` and `gridsize(n)`: a number for n = 1, else a tuple of n."""
        argument = self.value(node.args[0]) if len(node.args) == 1 else None
        if argument is None or argument.constant not in (1, 2, 3):
            what = f"'{path}' takes the number of dimensions: 1, 2 or 3"
            raise self.typing_error(node, what, "write it as a literal")
        self.locate(node)
        place = self.thread if path == "grid" else self.threads
        values = [self.count_value(place(axis)) for axis in range(int(argument.constant))]
        return values[0] if len(values) == 1 else TupleValue(tuple(values))

    def thread(self, axis: int) -> SSAValue:
        """The number of this thread along one axis of the grid."""
        block, width = self.identifier("blockIdx", axis), self.identifier("blockDim", axis)
        before = self.op(arith.MuliOp(block, width))
        return self.op(arith.AddiOp(before, self.identifier("threadIdx", axis)))

    def threads(self, axis: int) -> SSAValue:
        blocks, width = self.identifier("gridDim", axis), self.identifier("blockDim", axis)
        return self.op(arith.MuliOp(blocks, width))

    def atomic(self, path: str, node: ast.Call) -> Operand:
        """`atomic.add(array, index, value)` and its like; gives the old element."""
        if len(node.args) != 3:
            raise self.typing_error(node, f"'{path}' takes an array, an index and a value")
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
        element = array.type.scalar
        if element.kind == "b":
            raise self.typing_error(node, f"'{path}' cannot change {array.type}")
        indices = self.indices(array, self.index_values(node.args[1]), node, given)
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
