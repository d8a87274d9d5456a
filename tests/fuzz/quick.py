"""
The same comparisons with machine code that is made fast: a program and both its derivatives in
one module, so that the program is lowered once, and a few of LLVM's passes instead of O3.

The passes that remain use what the emitter promises about aliasing, overflow and bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp

from mlirad import pipeline
from mlirad.backends import cpu
from mlirad.backends.emit_llvm import signatures
from mlirad.backends.native import NativeObject
from mlirad.compiling import entry
from mlirad.derived import DerivedProgram
from mlirad.frontend.types import Type
from mlirad.program import Lowered, Program
from mlirad.runtime.aliasing import alias_partition
from mlirad.runtime.arguments import leaves
from mlirad.runtime.recording import Mode
from mlirad.runtime.specialize import Request, Specialization
from tests.fuzz.case import FORWARD, REVERSE, Case

PASSES = (
    *("always_inliner", "sroa", "simplify_cfg", "instruction_combine", "mem_copy_opt"),
    *("dead_store_elimination", "simplify_cfg"),
)
"""All of O1 takes three times as long, and the new GVN has an assertion that fails."""


def check_quickly(case: Case, folder: Path) -> None:
    """Raises AssertionError if a value or a derivative of an interpreted case is wrong."""
    case.load(folder)
    prime(case)
    case.check_primal()
    case.check_forward()
    case.check_reverse()


class Once(Program):
    """A program that has been lowered: its derivatives are added to the same module."""

    def __init__(self, program: Program, lowered: Lowered):
        self.name, self.is_kernel = program.name, program.is_kernel
        self.parameters, self.optional = program.parameters, program.optional
        self.lowered = lowered

    def lower(self, types: Sequence[Type], alias: Sequence[int]) -> Lowered:
        assert tuple(types) == self.lowered.types
        return self.lowered

    def fingerprint(self) -> bytes:
        raise AssertionError("never kept on disk")

    def verify(self, args: Sequence[Any]) -> None:
        raise AssertionError("never called")


def prime(case: Case) -> None:
    """Makes the machine code that the first call of each of the three programs would make."""
    memory, shadow = case.memory.copy(), case.seeds.copy()
    calls = (
        (case.program, case.primal_arguments(memory)),
        (case.tangent, case.forward_arguments(memory, shadow)),
        (case.cotangent, case.reverse_arguments(memory, shadow)),
    )
    first, forward, reverse = requests = [
        compiled.request(args, alias_partition(leaves(args))) for compiled, args in calls
    ]
    primal = case.program.program.lower(first.types, first.alias)
    base = Once(case.program.program, primal)
    lowered = [
        primal,
        DerivedProgram(base, Mode.FORWARD, FORWARD).lower(forward.types, forward.alias),
        DerivedProgram(base, Mode.REVERSE, REVERSE).lower(reverse.types, reverse.alias),
    ]
    make_entry(primal)
    library = cpu.load(compile_quickly(pipeline.run(primal.module, "cpu", verify=False)))
    for (compiled, _), request, program in zip(calls, requests, lowered, strict=True):
        keep(compiled, request, program, library)


def keep(compiled: Any, request: Request, lowered: Lowered, library: cpu.Library) -> None:
    code = entry(library, lowered.symbol, request)
    found = Specialization(compiled.name, code, lowered.types, lowered.result)
    compiled.specializations._by_request[request] = found


def make_entry(lowered: Lowered) -> None:
    for op in lowered.module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == lowered.symbol:
            op.attributes["mlirad.entry"] = UnitAttr()


@cache
def machine() -> llvm.TargetMachine:
    return cpu._machine(0)


def compile_quickly(module: ModuleOp) -> NativeObject:
    code = llvm.parse_assembly(cpu._text(module))
    code.verify()
    code.triple, code.data_layout = machine().triple, str(machine().target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(machine(), options)
    passes = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(code, builder)
    return NativeObject(machine().emit_object(code), signatures(module))
