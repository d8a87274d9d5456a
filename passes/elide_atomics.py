"""
`autodiff-elide-atomics`: marks accumulations that no other thread can disturb.

In a kernel that accesses an array only at elements of the thread (`analysis/injectivity`), adding
to an element needs no atomic.
"""

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from mlirad.dialects.autodiff import AccumulateOp
from mlirad.passes.analysis.injectivity import owned
from mlirad.passes.base import Pass


class ElideAtomicsPass(Pass):
    """Sets `exclusive` on `autodiff.accumulate`; changes nothing else."""

    name = "autodiff-elide-atomics"

    def rewrite(self, module: ModuleOp) -> None:
        for kernel in [op for op in module.walk() if isinstance(op, gpu.FuncOp)]:
            additions = [op for op in kernel.walk() if isinstance(op, AccumulateOp)]
            arrays = owned(kernel) if additions else set()
            for op in additions:
                if op.shadow in arrays:
                    op.exclusive = UnitAttr()
