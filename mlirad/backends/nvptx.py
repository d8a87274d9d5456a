"""
NVIDIA GPUs as a target: PTX text, by LLVM's own code generator, without a GPU or CUDA.

A module comes at the stage `lowered`. Mathematics needs libdevice, the rest nothing.
"""

# llvmlite has no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import llvmlite.binding as llvm

from mlirad.backends import libdevice
from mlirad.backends.native import NativeType
from mlirad.errors import UnsupportedError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from mlirad.backends.writer import ModuleWriter

Capability = tuple[int, int]
PROCESSORS: Mapping[Capability, str] = {
    (7, 5): "sm_75",
    (8, 0): "sm_80",
    (9, 0): "sm_90",
    (10, 0): "sm_100",
}
"""By compute capability. PTX for one runs on all later ones as well."""
TRIPLE = "nvptx64-nvidia-cuda"


@dataclass(frozen=True, slots=True)
class PtxObject:
    """
    PTX, and its kernels: by the name in PTX, the arguments.

    The parameters of a kernel are the words of its arguments as docs/design/ir.md has them; one
    that is narrower than 64 bits takes the low bits.
    """

    text: str
    kernels: Mapping[str, tuple[NativeType, ...]]


def processor(cc: object) -> str:
    """The processor with compute capability `cc`. Raises `UnsupportedError` for others."""
    found = PROCESSORS.get(cc) if isinstance(cc, tuple) else None
    if found is None:
        known = ", ".join(str(pair) for pair in PROCESSORS)
        raise UnsupportedError(
            f"there is no PTX for the compute capability {cc!r}\n"
            f"  the ones there are: {known}; take the largest that is not above that of the GPU"
        )
    return found


@cache
def _machine(cpu: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=cpu, opt=3)


def llvm_text(module: ModuleOp) -> str:
    """The LLVM text of the kernels as the emitter writes it, to look at."""
    return _emit(module)[0]


def _emit(module: ModuleOp) -> tuple[str, ModuleWriter, dict[str, tuple[NativeType, ...]]]:
    from mlirad.backends import emit_gpu
    from mlirad.backends.nvptx_maths import NVPTX

    found = emit_gpu.kernels(module)
    if not found:
        raise UnsupportedError(
            "there is no kernel to make PTX of\n"
            "  functions run on the CPU; kernels are what 'kernel' makes"
        )
    text, writer = emit_gpu.emit(found, NVPTX)
    return text, writer, {emit_gpu.symbol(k.sym_name.data): emit_gpu.signature(k) for k in found}


def compile_ptx(module: ModuleOp, cc: Capability = (9, 0)) -> PtxObject:
    """
    PTX of all kernels that a verified module at stage `lowered` launches.

    Raises `UnsupportedError` for what a GPU cannot do, and if libdevice is needed and absent.
    """
    cpu = processor(cc)
    text, writer, kernels = _emit(module)
    machine = _machine(cpu)
    linked = _parse(text, machine)
    if library := _library(writer):
        linked.link_in(_parse(library, machine))
        for function in linked.functions:
            if not function.is_declaration and function.name.startswith(libdevice.PREFIX):
                function.linkage = llvm.Linkage.internal
    _optimize(linked, machine)
    return PtxObject(machine.emit_assembly(linked), kernels)


def _parse(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.verify()  # passes end the process on what the verifier would report
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    return module


def _library(writer: ModuleWriter) -> str | None:
    """The functions of libdevice that are called, None if there are none."""
    needed = {name: op for name, op in writer.users.items() if name.startswith(libdevice.PREFIX)}
    if not needed:
        return None
    from mlirad.backends.writer import unsupported

    name, op = next(iter(needed.items()))
    path = libdevice.find()
    if path is None:
        what = f"'{name}' is in libdevice, NVIDIA's library of mathematics, which is not installed"
        raise unsupported(op, what, libdevice.WAY_OUT)
    text = libdevice.parts(path, frozenset(needed))
    if text is None:
        what = f"{path} does not have all of {', '.join(sorted(needed))}"
        raise unsupported(op, what, libdevice.WAY_OUT)
    return text


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
