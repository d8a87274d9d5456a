"""MLIR text in, numbers out."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from mlirad.backends import cpu
from mlirad.backends.native import NativeType

MASKS = {"i1": 1, "i8": 0xFF, "i16": 0xFFFF, "i32": 0xFFFFFFFF}


def parse_module(text: str) -> ModuleOp:
    context = Context()
    for dialect in (
        builtin.Builtin,
        func.Func,
        arith.Arith,
        math.Math,
        memref.MemRef,
        scf.Scf,
    ):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def words(kind: NativeType, value: Any) -> list[int]:
    if kind.kind == "memref":
        strides = value.strides if kind.strided else ()
        return [value.ctypes.data, *value.shape, *strides]
    if kind.element == "f64":
        return [struct.unpack("<q", struct.pack("<d", value))[0]]
    if kind.element == "f32":
        return [struct.unpack("<I", np.float32(value).tobytes())[0]]
    # What is above the width of an integer is not looked at.
    return [int(value)]


def number(kind: NativeType, word: int) -> Any:
    if kind.element == "f64":
        return struct.unpack("<d", struct.pack("<q", word))[0]
    if kind.element == "f32":
        return struct.unpack("<f", struct.pack("<I", word & 0xFFFFFFFF))[0]
    return word


class Program:
    """A compiled module; attribute access gives its entries as Python functions."""

    def __init__(self, text: str, **options: Any):
        self.module = parse_module(text)
        self.library = cpu.load(cpu.compile_module(self.module, **options))
        self.status = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        entry = self.library.entry(name)
        signature = entry.signature

        def call(*args: Any, table: int | None = None) -> Any:
            flat = [w for k, v in zip(signature.args, args, strict=True) for w in words(k, v)]
            assert len(flat) == signature.argument_words
            arguments = (ctypes.c_int64 * len(flat))(*flat)
            count = signature.result_words
            results = (ctypes.c_int64 * (count + 1))(*[-77] * (count + 1))
            self.status = entry(arguments, results, table)
            assert results[count] == -77, "wrote past the results"
            values = list(results)[:count]
            if all(k.kind == "scalar" for k in signature.results):
                values = [number(k, w) for k, w in zip(signature.results, values, strict=True)]
            return values[0] if len(values) == 1 else tuple(values)

        return call


@pytest.fixture(scope="session")
def program() -> Callable[..., Program]:
    return Program


class Runtime:
    """A table of callbacks that counts, and refuses the allocation number `fail` and later."""

    def __init__(self, fail: int = 0, cut: tuple[int, ...] = ()):
        self.blocks: dict[int, Any] = {}
        self.count, self.fail, self.cut, self.launches = 0, fail, cut, 0
        address = ctypes.c_void_p
        self.callbacks = (
            ctypes.CFUNCTYPE(address, ctypes.c_int64)(self.allocate),
            ctypes.CFUNCTYPE(None, address)(self.release),
            ctypes.CFUNCTYPE(None, address, address, address, ctypes.c_int64)(self.launch),
        )
        self.table = (address * 3)(*(ctypes.cast(c, address) for c in self.callbacks))
        self.address = ctypes.addressof(self.table)

    def allocate(self, size: int) -> int | None:
        self.count += 1
        if self.fail and self.count >= self.fail:
            return None
        block = (ctypes.c_char * size)()
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def release(self, address: int) -> None:
        del self.blocks[address]

    def launch(self, kernel: int, table: int, args: int, blocks: int) -> None:
        """Runs the blocks in pieces, the last piece first."""
        self.launches += 1
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)(kernel)
        edges = [0, *(c for c in self.cut if c < blocks), blocks]
        for first, end in reversed(list(pairwise(edges))):
            run(table, args, first, end)


@pytest.fixture(scope="session")
def parse() -> Callable[[str], ModuleOp]:
    return parse_module


@pytest.fixture(scope="session")
def runtime() -> Callable[..., Runtime]:
    return Runtime
