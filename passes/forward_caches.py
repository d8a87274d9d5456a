"""
`autodiff-forward-caches`: uses a kept value directly where both sweeps ended up in one function.

```mlir
%c = autodiff.init [] : !autodiff.cache<f64, "growable">
autodiff.push %v, %c [] of [] : …
%w = autodiff.pop %c [] of [] : …        // -->  %w is %v; the cache is gone
autodiff.free %c : …
```
"""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from mlirad.dialects.autodiff import FreeOp, InitOp, PopOp, PushOp
from mlirad.passes.base import Pass


class ForwardCachesPass(Pass):
    """Removes caches that are pushed and popped once, in the block where they begin."""

    name = "autodiff-forward-caches"

    def rewrite(self, module: ModuleOp) -> None:
        for op in [op for op in module.walk() if isinstance(op, InitOp)]:
            forward(op)


def forward(init: InitOp) -> None:
    users: list[Operation] = [use.operation for use in init.cache.uses]
    pushes = [op for op in users if isinstance(op, PushOp)]
    pops = [op for op in users if isinstance(op, PopOp)]
    rest = [op for op in users if not isinstance(op, PushOp | PopOp | FreeOp)]
    if rest or len(pushes) != 1 or any(op.parent is not init.parent for op in users):
        return
    for pop in pops:
        pop.value.replace_all_uses_with(pushes[0].value)
    for op in (*pops, *pushes, *(op for op in users if isinstance(op, FreeOp)), init):
        op.detach()
        op.erase()
