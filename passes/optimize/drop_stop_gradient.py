"""`drop-stop-gradient`: after differentiation `autodiff.stop_gradient` is just its operand."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from mlirad.dialects.autodiff import StopGradientOp
from mlirad.passes.base import Pass


@dataclass(frozen=True)
class DropStopGradientPass(Pass):
    """Replaces every `autodiff.stop_gradient` by its operand."""

    name = "drop-stop-gradient"

    def rewrite(self, module: ModuleOp) -> None:
        for op in tuple(module.walk()):
            if isinstance(op, StopGradientOp):
                op.result.replace_all_uses_with(op.value)
                op.detach()
                op.erase()
