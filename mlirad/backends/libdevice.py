"""
libdevice, NVIDIA's library of mathematics in LLVM bitcode: where it is, and parts of it.

It comes with every CUDA toolkit and with the wheels `nvidia-cuda-nvcc-cu12` and `nvidia-nvvm`.
"""

# llvmlite has no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

FILE = Path("nvvm", "libdevice", "libdevice.10.bc")
WAY_OUT = (
    "install the wheel nvidia-cuda-nvcc-cu12 (or 'mlirad[cuda]'), or set CUDA_HOME to a CUDA "
    "toolkit"
)
PREFIX = "__nv_"
# Square roots inside of other functions are exact, as they are outside.
PRECISE_ROOTS = re.compile(r'@([\w.]+) = .*c"__CUDA_PREC_SQRT\\00"')


def find() -> Path | None:
    """The file, wherever the CUDA toolkit or one of its wheels has put it."""
    return next((path for path in places() if path.is_file()), None)


def places() -> Iterator[Path]:
    """Where the file may be, the best place first."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if folder := os.environ.get(name):
            yield Path(folder, FILE)
    for folder in sys.path:
        for wheel in ("cuda_nvcc", "cu13", "cuda_nvvm"):
            yield Path(folder, "nvidia", wheel, FILE)
    if found := _pathfinder():
        yield found
    if folder := os.environ.get("CONDA_PREFIX"):
        yield Path(folder, FILE)
        yield Path(folder, "targets", "x86_64-linux", FILE)
    yield Path("/usr/local/cuda", FILE)


def _pathfinder() -> Path | None:
    """What NVIDIA's own finder says, which comes with numba-cuda."""
    try:
        from cuda.pathfinder import find_bitcode_lib  # pyright: ignore
    except ImportError:
        return None
    try:
        return Path(str(find_bitcode_lib("device")))
    except Exception:  # it has an exception class per release; "not found" is all it can mean
        return None


@cache
def _whole(path: Path) -> llvm.ModuleRef:
    return llvm.parse_bitcode(path.read_bytes())


@cache
def parts(path: Path, names: frozenset[str]) -> str | None:
    """
    The LLVM text of the functions `names` and what they need; None if one is missing.

    Kept for the life of the process, because pruning takes much longer than linking.
    """
    library = _whole(path).clone()
    defined = {f.name for f in library.functions if not f.is_declaration}
    if not names <= defined:
        return None
    for function in library.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = llvm.Linkage.internal
    options = llvm.create_pipeline_tuning_options(speed_level=0)
    builder = llvm.create_pass_builder(_machine(), options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(library, builder)
    return with_precise_roots(_without_target(str(library)))


@cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    return llvm.Target.from_default_triple().create_target_machine()


def _without_target(text: str) -> str:
    return re.sub(r"^target (triple|datalayout) = .*$", "", text, flags=re.MULTILINE)


def with_precise_roots(text: str) -> str:
    """Answers the question whether roots are to be exact, which LLVM would answer with no."""
    for name in PRECISE_ROOTS.findall(text):
        question = re.compile(rf"call i32 @__nvvm_reflect\(ptr [^@]*@{re.escape(name)}\)[^\n]*")
        text = question.sub("add i32 0, 1", text)
    return text
