"""
`propagate-launch-sizes`: what every launch of a kernel agrees on is known inside of it.

A size that is the same constant in all launches replaces `gpu.grid_dim` and `gpu.block_dim`; along
an axis of size 1 the id is 0. A kernel of one axis then has no trace of the other two.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    ModuleOp,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Operation

from mlirad.passes.analysis.injectivity import LAUNCH_SIZES
from mlirad.passes.base import Pass
from mlirad.passes.derivatives.gpu import launch_sizes
from mlirad.passes.optimize.folding import known_integer

INDEX = IndexType()
AXES = ("x", "y", "z")
SIZES: tuple[type[Operation], ...] = (gpu.GridDimOp, gpu.BlockDimOp)
IDS: tuple[type[Operation], ...] = (gpu.BlockIdOp, gpu.ThreadIdOp)


@dataclass(frozen=True)
class LaunchSizesPass(Pass):
    """Looks at the launches in the module; kernels without any stay as they are."""

    name = "propagate-launch-sizes"

    def rewrite(self, module: ModuleOp) -> None:
        launches: dict[SymbolRefAttr, list[gpu.LaunchFuncOp]] = {}
        for op in module.walk():
            if isinstance(op, gpu.LaunchFuncOp):
                launches.setdefault(op.kernel, []).append(op)
        for inner in module.body.block.ops:
            if not isinstance(inner, gpu.ModuleOp):
                continue
            for kernel in inner.body.block.ops:
                if isinstance(kernel, gpu.FuncOp):
                    symbol = SymbolRefAttr(inner.sym_name.data, [kernel.sym_name])
                    if symbol in launches:
                        sizes = agreed(launches[symbol])
                        replace(kernel, sizes)
                        known = [-1 if size is None else size for size in sizes]
                        kernel.attributes[LAUNCH_SIZES] = DenseArrayBase.from_list(i64, known)


def agreed(launches: list[gpu.LaunchFuncOp]) -> list[int | None]:
    """The constant that each size is in all launches; None for others."""
    columns = zip(*(map(known_integer, launch_sizes(launch)) for launch in launches), strict=True)
    return [column[0] if len(set(column)) == 1 else None for column in columns]


def replace(kernel: gpu.FuncOp, sizes: list[int | None]) -> None:
    for op in tuple(kernel.walk()):
        for offset, (size_op, id_op) in enumerate(zip(SIZES, IDS, strict=True)):
            if not isinstance(op, (size_op, id_op)):
                continue
            size = sizes[3 * offset + AXES.index(str(op.properties["dimension"].data))]
            known = size if isinstance(op, size_op) else 0 if size == 1 else None
            if known is not None:
                constant = arith.ConstantOp(IntegerAttr(known, INDEX))
                constant.location, block = op.location, op.parent
                assert block is not None
                block.insert_op_before(constant, op)
                op.results[0].replace_all_uses_with(constant.result)
                op.detach()
                op.erase()
