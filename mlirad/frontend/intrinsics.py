"""The GPU language: where a thread is in its grid, barriers, and atomics."""

from __future__ import annotations

import ast

from xdsl.dialects import arith, gpu
from xdsl.ir import SSAValue

from mlirad.frontend.allocations import SPACES
from mlirad.frontend.atomics import CAS, FENCES, RMW_KINDS, Atomics
from mlirad.frontend.body import INDEX
from mlirad.frontend.operands import NONE, Operand, Static, TupleValue

AXES = tuple(map(gpu.DimensionAttr, gpu.DimensionEnum))
"""x, y, z."""

IDS: dict[str, type[gpu.ThreadIdOp | gpu.BlockIdOp | gpu.BlockDimOp | gpu.GridDimOp]] = {
    "threadIdx": gpu.ThreadIdOp,
    "blockIdx": gpu.BlockIdOp,
    "blockDim": gpu.BlockDimOp,
    "gridDim": gpu.GridDimOp,
}
WAY_OUT = (
    "grid, ids, local, shared and constant arrays, barriers, fences, selp, "
    "and atomic add, sub, max, min, exch and cas are"
)
WARP = 32
"""Threads that a GPU runs together. On the CPU a warp is no more than a way to count."""
REFUSED = {
    **dict.fromkeys(
        ("syncthreads_count", "syncthreads_and", "syncthreads_or"),
        "add up with atomic.add in shared memory between two calls of syncthreads",
    ),
    **dict.fromkeys(
        "shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync match_any_sync match_all_sync".split(),
        "exchange the values through shared memory, with syncthreads before and after",
    ),
    **dict.fromkeys(
        "vote_sync_intrinsic all_sync any_sync eq_sync ballot_sync activemask lanemask_lt".split(),
        "count in shared memory, with syncthreads before and after",
    ),
}
"""What is not compiled, with the way out."""


class Intrinsics(Atomics):
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
        if found.path == "warpsize":
            self.in_kernel("warpsize", node)
            return self.constant(WARP)
        if found.path == "laneid":
            self.in_kernel("laneid", node)
            return self.count_value(self.lane())
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
            case _ if path in RMW_KINDS:
                return self.atomic(path, node)
            case _ if path in CAS:
                return self.compare_and_swap(path, node)
            case _ if path in FENCES:
                return self.fence(path, node)
            case "const.array_like":
                return self.constant_array(node)
            case "selp":
                return self.selected(node)
            case _:
                what = f"'{path}' is not compiled"
                raise self.unsupported(node, what, REFUSED.get(path, WAY_OUT))

    def selected(self, node: ast.Call) -> Operand:
        """`selp(condition, a, b)`: both are computed."""
        if len(node.args) != 3:
            raise self.typing_error(node, "'selp' takes a condition and two numbers")
        condition = self.truth(node.args[0])
        return self.select(condition, self.value(node.args[1]), self.value(node.args[2]), node)

    def lane(self) -> SSAValue:
        """The number of this thread in its warp: threads of a block are numbered x fastest."""
        number = self.identifier("threadIdx", 2)
        for axis in (1, 0):
            number = self.op(arith.MuliOp(number, self.identifier("blockDim", axis)))
            number = self.op(arith.AddiOp(number, self.identifier("threadIdx", axis)))
        return self.op(arith.RemUIOp(number, self.index_constant(WARP)))

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
