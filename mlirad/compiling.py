"""Programs through the pipeline: to machine code, and to text at each stage."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from mlirad.frontend import types as t
from mlirad.program import Lowered, Program
from mlirad.runtime.arguments import count_words, flat_types
from mlirad.runtime.specialize import Entry, Request, Specialization

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from mlirad.backends.cpu import Library
    from mlirad.backends.native import NativeObject


def compile_program(program: Program, request: Request) -> Specialization:
    """`program`, callable for arguments as in `request`."""
    library, result, types = load(program, request)
    (symbol,) = library.entries
    words = sum(map(count_words, flat_types(types))) + program.sizes
    return Specialization(program.name, entry(library, symbol, request, words), types, result)


def load(program: Program, request: Request) -> tuple[Library, t.Type, tuple[t.Type, ...]]:
    """The machine code of `program`, the type of its result, and the types that it takes."""
    from mlirad.backends import cpu

    native, result, types = _native(program, request)
    return cpu.load(native), result, types


def _native(program: Program, request: Request) -> tuple[NativeObject, t.Type, tuple[t.Type, ...]]:
    from mlirad.runtime import disk_cache
    from mlirad.runtime.fingerprint import NotCacheable

    homes: dict[str, type] = {}
    try:
        homes = disk_cache.homes_in(request.types)
        wanted = request.types, request.alias, request.axes, request.spread
        key = disk_cache.key(program.fingerprint(), program.name, *wanted)
    except (NotCacheable, LookupError):
        key = None
    if key is not None and (stored := disk_cache.load(key, homes)) is not None:
        # What is stored is the result's type and those of the arguments, as one type.
        signature = stored.result
        assert isinstance(signature, t.Tuple)
        result, types = signature.elements
        assert isinstance(types, t.Tuple)
        return stored.native, result, types.elements
    from mlirad import pipeline

    lowered = lowered_for(program, request)
    native = pipeline.compile_native(lowered.module, atomics=request.spread)
    if key is not None:
        disk_cache.store(key, native, t.Tuple((lowered.result, t.Tuple(lowered.types))))
    return native, lowered.result, lowered.types


def lowered_for(program: Program, request: Request) -> Lowered:
    """The IR at stage `python`; axes that the launch does not have are constants in it."""
    lowered = program.lower(request.types, request.alias)
    if program.is_kernel and request.axes < 3:
        from mlirad.requests import fix_axes

        fix_axes(lowered, request.axes)
    return lowered


def entry(library: Library, name: str, request: Request, words: int | None = None) -> Entry:
    """
    The function `name` of `library`, which was compiled for `request`, with room for its results;
    it takes that many words.
    """
    native = library.entry(name, request.spread)
    taken = native.signature.argument_words
    assert words in (None, taken), f"{name} takes {taken} words, but is given {words}"
    room = ctypes.c_uint64 * max(native.signature.result_words, 1)

    def call(args: Any) -> tuple[int, ctypes.Array[ctypes.c_uint64]]:
        results = room()
        return native(args, results), results

    return call


def module_at(program: Program, request: Request, stage: str) -> ModuleOp:
    """The module of `program` at `stage`."""
    from mlirad import pipeline

    return pipeline.run(lowered_for(program, request).module, stage)


def text_at(program: Program, request: Request, stage: str) -> str:
    return str(module_at(program, request, stage))


def llvm_text(program: Program, request: Request) -> str:
    from mlirad.backends import cpu

    return cpu.optimized_llvm(module_at(program, request, "cpu"), atomics=request.spread)


def assembly_text(program: Program, request: Request) -> str:
    from mlirad.backends import cpu

    return cpu.assembly(module_at(program, request, "cpu"), atomics=request.spread)


def ptx_text(program: Program, request: Request, cc: tuple[int, int]) -> str:
    from mlirad.backends import nvptx

    nvptx.processor(cc)
    return nvptx.compile_ptx(module_at(program, request, "lowered"), cc).text
