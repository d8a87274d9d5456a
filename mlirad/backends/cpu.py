"""
The host processor as a target: LLVM's O3, object code, and calls into it.

`compile_module` makes an object that can be pickled or written to disk; `load` makes it
callable, without xDSL.
"""

# llvmlite has no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm

from mlirad.backends import support
from mlirad.backends.native import EntrySignature, NativeObject, entry_symbol

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

Words = ctypes.Array[Any] | int
"""An array of 64-bit words, or its address."""
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_numbers = count()


@cache
def has_vector_math() -> bool:
    """Whether glibc's vector mathematics can be used; loads it."""
    if not llvm.get_process_triple().startswith("x86_64"):
        return False
    try:
        llvm.load_library_permanently("libmvec.so.1")
    except RuntimeError:
        return False
    return True


@cache
def _target() -> llvm.Target:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple())


@cache
def _machine(opt_level: int) -> llvm.TargetMachine:
    return _target().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=opt_level,
        reloc="pic",
        codemodel="small",
    )


@cache
def _linker() -> llvm.LLJIT:
    _target()
    return llvm.create_lljit_compiler()


def _text(module: ModuleOp, atomics: bool = False) -> str:
    from mlirad.backends.emit_llvm import emit
    from mlirad.backends.target import CPU, CPU_VECTOR

    target = CPU_VECTOR if has_vector_math() else CPU
    return emit(module, replace(target, atomics=atomics))


def _optimize(text: str, opt_level: int) -> llvm.ModuleRef:
    machine = _machine(opt_level)
    module = llvm.parse_assembly(text)
    module.verify()  # passes end the process on what the verifier would report
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=opt_level)
    options.loop_vectorization = options.slp_vectorization = opt_level > 1
    options.loop_interleaving = options.loop_unrolling = opt_level > 1
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def compile_module(
    module: ModuleOp, opt_level: int = 3, keep_llvm: bool = False, atomics: bool = False
) -> NativeObject:
    """
    Machine code for a verified module at stage `cpu`; with `atomics`, for several workers.

    Raises `UnsupportedError` for an op without machine code.
    """
    from mlirad.backends.emit_llvm import signatures

    text = _text(module, atomics)
    code = _machine(opt_level).emit_object(_optimize(text, opt_level))
    return NativeObject(code, signatures(module), text if keep_llvm else None)


def optimized_llvm(module: ModuleOp, opt_level: int = 3, atomics: bool = False) -> str:
    """The LLVM text after optimisation, to look at."""
    return str(_optimize(_text(module, atomics), opt_level))


def assembly(module: ModuleOp, opt_level: int = 3, atomics: bool = False) -> str:
    """The assembly of the host processor, to look at."""
    return _machine(opt_level).emit_assembly(_optimize(_text(module, atomics), opt_level))


@dataclass(frozen=True, slots=True)
class NativeEntry:
    """A compiled function. Holds the library that it is in, and the table it is called with."""

    address: int
    signature: EntrySignature
    library: Library
    table: int
    function: Any

    def __call__(self, args: Words, results: Words, table: int | None = None) -> int:
        """
        Calls with words as docs/design/ir.md says; 0 if all went well, 1 if memory ran out.

        The words, and the arrays that they point to, belong to the caller; their number is not
        checked. `table` is the address of another table of callbacks. Other threads run in the
        meantime.
        """
        return self.function(table if table is not None else self.table, args, results)


@dataclass(frozen=True, slots=True)
class Library:
    """Loaded machine code; unloaded when it and all its entries are gone."""

    tracker: llvm.ResourceTracker
    entries: Mapping[str, EntrySignature]

    def entry(self, name: str, spread: bool = False) -> NativeEntry:
        """
        The entry `name`; KeyError if there is none.

        With `spread` its launches go to the pool of workers: only for code with atomics.
        """
        signature = self.entries[name]
        address = self.tracker[entry_symbol(name)]
        if spread:
            from mlirad.backends.workers import pool_table

            table = ctypes.addressof(pool_table())
        else:
            table = ctypes.addressof(default_table())
        return NativeEntry(address, signature, self, table, _ENTRY(address))


def _link(code: bytes, symbols: list[str]) -> llvm.ResourceTracker:
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol in symbols:
        builder.export_symbol(symbol)
    return builder.link(_linker(), f"mlirad.{next(_numbers)}")


def link_text(text: str, symbols: list[str]) -> llvm.ResourceTracker:
    """Loads functions given as LLVM text; indexed by name, the result has their addresses."""
    return _link(_machine(1).emit_object(_optimize(text, 1)), symbols)


def load(native: NativeObject) -> Library:
    """Makes machine code callable; it must have been compiled for this processor."""
    has_vector_math()
    tracker = _link(native.code, [entry_symbol(name) for name in native.entries])
    return Library(tracker, native.entries)


TABLE = ("mlirad_table_alloc", "mlirad_table_free", "mlirad_table_launch")


@cache
def _table_code() -> llvm.ResourceTracker:
    return link_text(support.DEFAULT_TABLE, list(TABLE))


@cache
def default_table() -> ctypes.Array[ctypes.c_void_p]:
    """
    The callbacks of a program without threads: allocate, free, launch.

    Lives as long as the process.
    """
    code = _table_code()
    return (ctypes.c_void_p * 3)(*(code[name] for name in TABLE))
