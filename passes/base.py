"""What all passes of this project share: how their errors travel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from mlirad.errors import MliradError


@dataclass(frozen=True)
class Pass(ModulePass):
    """
    A pass that may refuse its input with one of the project's errors.

    xDSL's drivers (`mlirad-opt`, `xdsl-opt`) report only `PassFailedException`, callers from
    Python want the error itself: `apply` raises the former from the latter.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        try:
            self.rewrite(op)
        except MliradError as error:
            raise PassFailedException(str(error)) from error

    @abstractmethod
    def rewrite(self, module: ModuleOp) -> None:
        """Changes `module` in place, or raises a `MliradError`."""
