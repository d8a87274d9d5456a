"""
`autodiff-elide-atomics`: marks the uses of shadows that no other thread can disturb.

In a kernel that accesses an array only at elements of the thread (`analysis/injectivity`), adding
to an element, or taking it, needs no atomic.
"""

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from mlirad.dialects.autodiff import AccumulateOp, TakeOp
from mlirad.passes.analysis.injectivity import owned
from mlirad.passes.base import Pass


class ElideAtomicsPass(Pass):
    """Sets `exclusive` on `autodiff.accumulate` and `autodiff.take`; changes nothing else."""

    name = "autodiff-elide-atomics"

    def rewrite(self, module: ModuleOp) -> None:
        for kernel in [op for op in module.walk() if isinstance(op, gpu.FuncOp)]:
            found = [op for op in kernel.walk() if isinstance(op, AccumulateOp | TakeOp)]
            arrays = owned(kernel) if found else set()
            for op in found:
                if op.shadow in arrays:
                    op.exclusive = UnitAttr()
