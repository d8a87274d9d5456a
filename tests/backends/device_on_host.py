"""
Runs the LLVM text of kernels, as it is written for NVIDIA GPUs, on the processor of the host.

Threads of a block are threads of Python where the kernel has a barrier, and run one after the other
where it has none. What is replaced: special registers and barriers call back, `__nv_sin` is the
`sin` of the C library, and there is only one address space.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import re
import threading
from collections.abc import Sequence
from itertools import count
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import ModuleOp

from mlirad.backends import cpu, emit_gpu, nvptx
from mlirad.backends.native import NativeType
from tests.passes.interpreter import Interpreter

TYPES = {
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "i64": ctypes.c_int64,
    "index": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i16": ctypes.c_int16,
    "i8": ctypes.c_int8,
    "i1": ctypes.c_int8,
}
REGISTERS = [(name, axis) for name in ("tid", "ctaid", "ntid", "nctaid") for axis in "xyz"]
_numbers = count()


def parameters(kind: NativeType) -> list[Any]:
    if kind.kind == "scalar":
        return [TYPES[kind.element]]
    return [ctypes.c_void_p, *[ctypes.c_int64] * (kind.words - 1)]


def words(kind: NativeType, value: Any) -> list[Any]:
    if kind.kind == "scalar":
        return [value.item() if isinstance(value, np.generic) else value]
    return [value.ctypes.data, *value.shape, *(value.strides if kind.strided else ())]


class Device:
    """The kernels of a module at stage `lowered`."""

    def __init__(self, module: ModuleOp):
        self.kernels = nvptx.compile_ptx(module).kernels
        self.here = threading.local()
        self.waiting = threading.Barrier(1)
        text = nvptx.llvm_text(module)
        self.has_barrier = emit_gpu.BARRIER in text
        self.callbacks: list[Any] = []
        self.code = self.link(self.adapted(text))

    def address(self, kind: Any, function: Any) -> int:
        self.callbacks.append(kind(function))
        address = ctypes.cast(self.callbacks[-1], ctypes.c_void_p).value
        assert address is not None
        return address

    def adapted(self, text: str) -> str:
        text = re.sub(r"declare (i32|void) @llvm\.nvvm.*", "", text)
        text = re.sub(r"@llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.(\w)", r"@read_\1_\2", text)
        text = text.replace(f"@{emit_gpu.BARRIER}", "@wait").replace("ptx_kernel ", "")
        text = re.sub(r"addrspacecast ptr addrspace\(3\)", "bitcast ptr", text)
        text = re.sub(r"addrspace\(3\) global (.*) undef", r"global \1 zeroinitializer", text)
        text = text.replace("ptr addrspace(3)", "ptr").replace("@__nv_", "@")
        read = ctypes.CFUNCTYPE(ctypes.c_int32)
        for name in REGISTERS:
            at = self.address(read, lambda name=name: self.here.ids[name])
            text += (
                f"define internal i32 @read_{'_'.join(name)}() noinline {{\n"
                f"%r = call i32 inttoptr (i64 {at} to ptr)()\nret i32 %r\n}}\n"
            )
        at = self.address(ctypes.CFUNCTYPE(None, ctypes.c_int32), self.wait)
        return text + (
            "define internal void @wait(i32 %n) noinline {\n"
            f"call void inttoptr (i64 {at} to ptr)(i32 %n)\nret void\n}}\n"
        )

    def wait(self, number: int) -> None:
        self.waiting.wait(timeout=30)

    def link(self, text: str) -> Any:
        code = cpu._machine(1).emit_object(cpu._optimize(text, 1))
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in self.kernels:
            builder.export_symbol(name)
        return builder.link(cpu._linker(), f"device.{next(_numbers)}")

    def launch(self, name: str, sizes: Sequence[int], args: Sequence[Any]) -> None:
        kinds = self.kernels[name]
        types = [t for kind in kinds for t in parameters(kind)]
        flat = [w for kind, a in zip(kinds, args, strict=True) for w in words(kind, a)]
        run = ctypes.CFUNCTYPE(None, *types)(self.code[name])
        grid, block = sizes[:3], sizes[3:]
        fixed = {("nctaid", a): n for a, n in zip("xyz", grid, strict=True)}
        fixed |= {("ntid", a): n for a, n in zip("xyz", block, strict=True)}

        def thread(ids: dict[tuple[str, str], int]) -> None:
            self.here.ids = ids
            run(*flat)

        # Any order must do: a GPU has none.
        order = random.Random(0)
        for place in order.sample(
            places := list(itertools.product(*map(range, grid))), len(places)
        ):
            of_block = fixed | {("ctaid", a): n for a, n in zip("xyz", place, strict=True)}
            ids = [
                of_block | {("tid", a): n for a, n in zip("xyz", point, strict=True)}
                for point in itertools.product(*map(range, block))
            ]
            order.shuffle(ids)
            if not self.has_barrier:
                for own in ids:
                    thread(own)
                continue
            self.waiting = threading.Barrier(len(ids))
            threads = [threading.Thread(target=thread, args=(own,)) for own in ids]
            for each in threads:
                each.start()
            for each in threads:
                each.join()


class HostCode(Interpreter):
    """Host functions of a module at stage `lowered`, with launches on a `Device`."""

    def __init__(self, module: ModuleOp):
        super().__init__(module)
        self.device = Device(module)

    def execute(self, op: Any, x: list[Any], env: Any) -> tuple[Any, ...]:
        match op:
            case arith.CeilDivSIOp():
                return (-(-int(x[0]) // int(x[1])) if x[1] else 0,)
            case memref.CastOp() | memref.MemorySpaceCastOp():
                return (x[0],)
            case _:
                return super().execute(op, x, env)

    def launch(self, op: gpu.LaunchFuncOp, x: list[Any]) -> None:
        name = emit_gpu.symbol(op.kernel.nested_references.data[-1].data)
        self.device.launch(name, [int(n) for n in x[:6]], x[6:])


def run(module: ModuleOp, symbol: str, *arguments: Any) -> tuple[Any, ...]:
    """Calls a host function of a module at stage `lowered`; arrays are changed in place."""
    return HostCode(module).call(module.body.block, symbol, arguments)
