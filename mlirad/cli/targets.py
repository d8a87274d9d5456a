"""
What `mlirad-opt -t` and `xdsl-opt -t` can print a module as.

A module that is not at the stage `cpu` yet is brought there first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from mlirad.errors import MliradError


def finished(module: ModuleOp) -> ModuleOp:
    """A copy of `module` at the stage `cpu`. Raises what the drivers of xDSL report."""
    from mlirad import pipeline

    try:
        return pipeline.finish(module.clone())
    except MliradError as error:
        raise PassFailedException(str(error)) from error


@dataclass(frozen=True)
class LLVMTarget(Target):
    """LLVM IR as the direct emitter writes it, before LLVM optimises it."""

    name: ClassVar[str] = "mlirad-llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from mlirad.backends.emit_llvm import emit

        output.write(emit(finished(module)))


@dataclass(frozen=True)
class PlainLLVMTarget(LLVMTarget):
    """The same under the name that xDSL's own target has elsewhere."""

    name: ClassVar[str] = "llvm"


@dataclass(frozen=True)
class AssemblyTarget(Target):
    """Optimised assembly of the processor that this runs on."""

    name: ClassVar[str] = "asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from mlirad.backends.cpu import assembly

        output.write(assembly(finished(module)))
