"""
What an op does besides computing its results.

The back end makes every arithmetic op total (docs/design/ir.md), so an op without effects
may be merged, removed, or moved to where it did not run before.
"""

from __future__ import annotations

from xdsl.dialects import func, gpu, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator, Pure

PURE_CALL = "mlirad.pure"
TOTAL_DIALECTS = frozenset({"arith", "math", "complex"})
PURE_OPS: frozenset[type[Operation]] = frozenset(
    {
        *(memref.DimOp, memref.RankOp, memref.GetGlobalOp),
        *(memref.SubviewOp, memref.CastOp, memref.ReinterpretCastOp, memref.MemorySpaceCastOp),
        *(memref.CollapseShapeOp, memref.ExpandShapeOp, memref.ExtractStridedMetaDataOp),
        *(gpu.ThreadIdOp, gpu.BlockIdOp, gpu.BlockDimOp, gpu.GridDimOp, gpu.GlobalIdOp),
    }
)
LOOPS = (scf.ForOp, scf.WhileOp)
ALLOCATIONS = (memref.AllocOp, memref.AllocaOp)

_pure: dict[type[Operation], bool] = {}


def _is_pure_type(kind: type[Operation]) -> bool:
    known = _pure.get(kind)
    if known is None:
        known = not kind.has_trait(IsTerminator) and (
            kind in PURE_OPS or kind.dialect_name() in TOTAL_DIALECTS or kind.has_trait(Pure)
        )
        _pure[kind] = known
    return known


class Effects:
    """The effects of the ops of one module."""

    def __init__(self, module: ModuleOp):
        self.pure_functions = {
            function.sym_name.data
            for function in module.walk()
            if isinstance(function, func.FuncOp) and PURE_CALL in function.attributes
        }

    def is_pure(self, op: Operation) -> bool:
        """Whether `op` only computes results, the same ones wherever its operands are known."""
        if isinstance(op, func.CallOp):
            return op.callee.root_reference.data in self.pure_functions
        return not op.regions and _is_pure_type(type(op))

    def is_removable(self, op: Operation) -> bool:
        """Whether `op` has no effect that remains when its results are not used."""
        return isinstance(op, (memref.LoadOp, *ALLOCATIONS)) or self.is_pure(op)
