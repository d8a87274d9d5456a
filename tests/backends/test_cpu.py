"""Object code outlives the process that made it, and loads without xDSL."""

import ctypes
import pickle
import subprocess
import sys

import pytest

from mlirad.backends import cpu
from mlirad.backends.native import EntrySignature, NativeType

TEXT = """
func.func @work(%x: memref<?x?xf64, strided<[?, ?], offset: ?>>, %n: index) -> f64
    attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %t = memref.alloc(%n) : memref<?xf64>
  %v = memref.load %x[%n, %0] : memref<?x?xf64, strided<[?, ?], offset: ?>>
  %s = math.sin %v : f64
  memref.dealloc %t : memref<?xf64>
  return %s : f64
}"""
LOAD = """
import ctypes, math, pickle, sys
from mlirad.backends import cpu
native = pickle.load(sys.stdin.buffer)
entry = cpu.load(native).entry("work")
data = (ctypes.c_double * 4)(1.0, 2.0, 3.0, 4.0)
args = (ctypes.c_int64 * 6)(ctypes.addressof(data), 2, 2, 16, 8, 1)
result = (ctypes.c_double * 1)()
assert entry(args, result) == 0
assert result[0] == math.sin(3.0)
assert "xdsl" not in sys.modules and "numpy" not in sys.modules
print("ok")
"""


@pytest.fixture(scope="module")
def compiled(program):
    return program(TEXT)


def test_object_code_runs_in_another_process_without_xdsl(compiled):
    native = cpu.compile_module(compiled.module)
    assert native == pickle.loads(pickle.dumps(native))
    done = subprocess.run(
        [sys.executable, "-c", LOAD], input=pickle.dumps(native), capture_output=True, check=False
    )
    assert done.stdout == b"ok\n", done.stderr.decode()


def test_signature(compiled):
    entry = compiled.library.entry("work")
    array = NativeType("memref", "f64", 2, strided=True)
    index, number = NativeType("scalar", "index"), NativeType("scalar", "f64")
    assert entry.signature == EntrySignature((array, index), (number,))
    assert entry.signature.argument_words == 6
    assert entry.signature.result_words == 1
    assert entry.address
    with pytest.raises(KeyError):
        compiled.library.entry("nothing")


def test_texts_to_look_at(compiled):
    assert cpu.compile_module(compiled.module).llvm is None
    assert "define i32" in (cpu.compile_module(compiled.module, keep_llvm=True).llvm or "")
    assert "work.entry" in cpu.optimized_llvm(compiled.module)
    assert "work.entry" in cpu.assembly(compiled.module)


def test_memory_of_the_default_table_is_zeroed_and_aligned():
    table = cpu.default_table()
    alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(table[0])
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table[1])
    for size in (1, 7, 64, 1000, 100_000):
        for _ in range(3):
            address = alloc(size)
            assert address % 64 == 0
            assert ctypes.string_at(address, size) == bytes(size)
            ctypes.memset(address, 255, size)
            free(address)
    assert alloc((1 << 63) - 1) is None
    assert alloc(1 << 62) is None
    free(None)
