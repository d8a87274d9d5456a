"""
What `mlirad-opt -t` and `xdsl-opt -t` can print a module as.

A module that is not at the stage of the target yet is brought there first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from mlirad.errors import MliradError


def finished(module: ModuleOp, stage: str = "cpu") -> ModuleOp:
    """A copy of `module` at `stage`. Raises what the drivers of xDSL report."""
    from mlirad import pipeline

    try:
        return pipeline.finish(module.clone(), stage)
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


@dataclass(frozen=True)
class PtxTarget(Target):
    """PTX of the kernels, for the compute capability `major`.`minor`."""

    name: ClassVar[str] = "ptx"

    major: int = 9
    minor: int = 0

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from mlirad.backends.nvptx import compile_ptx

        lowered = finished(module, "lowered")
        try:
            output.write(compile_ptx(lowered, (self.major, self.minor)).text)
        except MliradError as error:
            raise PassFailedException(str(error)) from error
