"""Arrays of every layout, views, allocations."""

from dataclasses import replace

import llvmlite.binding as llvm
import numpy as np
import pytest

from mlirad.backends.emit_llvm import emit
from mlirad.backends.target import CPU

ELEMENTS = {
    "f64": np.float64, "f32": np.float32, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "i64": np.int64, "index": np.int64, "i1": np.bool_,
}  # fmt: skip

STRIDED = "memref<?x?x@, strided<[?, ?], offset: ?>>"
UNALIGNED = ", mlirad.unaligned = array<i64: 0, 1>"
COPY = """
func.func @NAME(%x: SOURCE, %y: TARGET) attributes {mlirad.entry EXTRA} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %n = memref.dim %x, %0 : SOURCE
  %m = memref.dim %x, %1 : SOURCE
  scf.for %i = %0 to %n step %1 {
    scf.for %j = %0 to %m step %1 {
      %v = memref.load %x[%i, %j] : SOURCE
      memref.store %v, %y[%i, %j] : TARGET
    }
  }
  return
}
func.func @NAME_copy(%x: SOURCE, %y: TARGET) attributes {mlirad.entry EXTRA} {
  "memref.copy"(%x, %y) : (SOURCE, TARGET) -> ()
  return
}
"""

MORE = """
func.func @scalar(%x: memref<f64>, %y: memref<f64>) attributes {mlirad.entry} {
  %v = memref.load %x[] : memref<f64>
  %w = arith.addf %v, %v : f64
  memref.store %w, %y[] : memref<f64>
  return
}
func.func @static(%x: memref<2x3xf64>, %i: index, %j: index) -> f64 attributes {mlirad.entry} {
  %v = memref.load %x[%i, %j] : memref<2x3xf64>
  return %v : f64
}
func.func @shape(%x: memref<?x4x?xf32>, %k: index) -> (index, index, index, index)
    attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = memref.dim %x, %0 : memref<?x4x?xf32>
  %b = memref.dim %x, %1 : memref<?x4x?xf32>
  %c = memref.dim %x, %k : memref<?x4x?xf32>
  %r = "memref.rank"(%x) : (memref<?x4x?xf32>) -> index
  return %a, %b, %c, %r : index, index, index, index
}
func.func @part(%x: memref<?x?xf64>, %i: index, %n: index, %s: index) -> f64
    attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %row = memref.subview %x[%i, 1] [1, %n] [1, %s] : memref<?x?xf64>
    to memref<?xf64, strided<[?], offset: ?>>
  %r = scf.for %k = %0 to %n step %1 iter_args(%a = %z) -> (f64) {
    %v = memref.load %row[%k] : memref<?xf64, strided<[?], offset: ?>>
    %b = arith.addf %a, %v : f64
    scf.yield %b : f64
  }
  return %r : f64
}
func.func @column(%x: memref<4x6xf64>, %k: index) -> f64 attributes {mlirad.entry} {
  %c = memref.subview %x[1, 2] [3, 1] [1, 1] : memref<4x6xf64>
    to memref<3xf64, strided<[6], offset: 8>>
  %v = memref.load %c[%k] : memref<3xf64, strided<[6], offset: 8>>
  return %v : f64
}
func.func @casts(%x: memref<?x?xf64>, %i: index) -> (f64, f64) attributes {mlirad.entry} {
  %a = "memref.cast"(%x) : (memref<?x?xf64>) -> memref<?x?xf64, strided<[?, ?], offset: ?>>
  %v = memref.load %a[%i, %i] : memref<?x?xf64, strided<[?, ?], offset: ?>>
  %b = "memref.cast"(%x) : (memref<?x?xf64>) -> memref<3x3xf64>
  %w = memref.load %b[%i, %i] : memref<3x3xf64>
  return %v, %w : f64, f64
}
func.func @diagonal(%x: memref<?x?xf64>, %n: index, %s: index, %i: index) -> f64
    attributes {mlirad.entry} {
  %d = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [%s]
    : memref<?x?xf64> to memref<?xf64, strided<[?], offset: ?>>
  %v = memref.load %d[%i] : memref<?xf64, strided<[?], offset: ?>>
  return %v : f64
}
func.func @returned(%x: memref<?x?xf64>, %i: index)
    -> (memref<?xf64, strided<[?], offset: ?>>, memref<?x?xf64>) attributes {mlirad.entry} {
  %n = memref.dim %x, %i : memref<?x?xf64>
  %r = memref.subview %x[0, %i] [%n, 1] [2, 1] : memref<?x?xf64>
    to memref<?xf64, strided<[?], offset: ?>>
  return %r, %x : memref<?xf64, strided<[?], offset: ?>>, memref<?x?xf64>
}
func.func @work(%n: index, %m: index) -> f64 attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %a = memref.alloc(%n, %m) : memref<?x?xf64>
  %b = memref.alloc() : memref<16xf64>
  %nm = arith.muli %n, %m : index
  %r = scf.for %i = %0 to %n step %1 iter_args(%s = %z) -> (f64) {
    %t = scf.for %j = %0 to %m step %1 iter_args(%u = %s) -> (f64) {
      %v = memref.load %a[%i, %j] : memref<?x?xf64>
      %k = arith.index_cast %j : index to i64
      %f = arith.sitofp %k : i64 to f64
      memref.store %f, %a[%i, %j] : memref<?x?xf64>
      %l = memref.load %a[%i, %j] : memref<?x?xf64>
      %w = arith.addf %v, %l : f64
      %x = arith.addf %u, %w : f64
      scf.yield %x : f64
    }
    scf.yield %t : f64
  }
  memref.dealloc %b : memref<16xf64>
  memref.dealloc %a : memref<?x?xf64>
  return %r : f64
}
func.func @local(%n: index, %i: index) -> (f64, f64, f64) attributes {mlirad.entry} {
  %small = memref.alloca() : memref<8xf64>
  %big = memref.alloca() : memref<100000xf64>
  %dynamic = memref.alloca(%n) : memref<?xf64>
  %v = arith.constant 3.0 : f64
  memref.store %v, %small[%i] : memref<8xf64>
  memref.store %v, %big[%i] : memref<100000xf64>
  memref.store %v, %dynamic[%i] : memref<?xf64>
  %a = memref.load %small[%i] : memref<8xf64>
  %b = memref.load %big[%i] : memref<100000xf64>
  %c = memref.load %dynamic[%i] : memref<?xf64>
  return %a, %b, %c : f64, f64, f64
}
func.func @swap(%a: memref<?xf64>, %b: memref<?xf64>, %n: index) attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %x, %y = scf.for %i = %0 to %n step %1 iter_args(%p = %a, %q = %b)
      -> (memref<?xf64>, memref<?xf64>) {
    %v = memref.load %p[%0] : memref<?xf64>
    %w = arith.addf %v, %v : f64
    memref.store %w, %q[%0] : memref<?xf64>
    scf.yield %q, %p : memref<?xf64>, memref<?xf64>
  }
  return
}
func.func @pick(%c: i1, %a: memref<?xf64>, %b: memref<?xf64>, %i: index) -> (f64, index)
    attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %x = arith.select %c, %a, %b : memref<?xf64>
  %v = memref.load %x[%i] : memref<?xf64>
  %n = memref.dim %x, %0 : memref<?xf64>
  return %v, %n : f64, index
}
"""
KINDS = ["addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf",
         "muli", "ori", "andi", "maxnumf", "minnumf", "xori"]  # fmt: skip


def rmw(kind):
    type = "f64" if KINDS[kind].endswith("f") else "i32"
    return f"""
    func.func @rmw_{KINDS[kind]}(%x: memref<?x{type}>, %v: {type}, %i: index) -> {type}
        attributes {{mlirad.entry}} {{
      %r = "memref.atomic_rmw"(%v, %x, %i) <{{kind = {kind} : i64}}>
        : ({type}, memref<?x{type}>, index) -> {type}
      return %r : {type}
    }}"""


@pytest.fixture(scope="module")
def ops(program):
    parts = [MORE, *(rmw(kind) for kind in range(len(KINDS)))]
    for element in ELEMENTS:
        plain, strided = f"memref<?x?x{element}>", STRIDED.replace("@", element)
        for name, source, target, extra in (
            ("plain", plain, plain, ""),
            ("strided", strided, strided, ""),
            ("packed", strided, plain, ""),
            ("unaligned", strided, strided, UNALIGNED),
        ):
            text = COPY.replace("NAME", f"{name}_{element}").replace("EXTRA", extra)
            parts.append(text.replace("SOURCE", source).replace("TARGET", target))
    return program("\n".join(parts))


@pytest.mark.parametrize("element", ELEMENTS)
def test_layouts(ops, element):
    dtype = ELEMENTS[element]
    whole = np.random.default_rng(0).integers(0, 2, (9, 14)).astype(dtype)
    views = [whole, whole[1:5, 3:9], whole.T, whole[::-2, ::3], whole[:, 2:2], whole[::-1, ::-1]]
    views.append(np.broadcast_to(whole[0], (4, 14)))
    for x in views:
        for end in ("", "_copy"):
            y = np.zeros((x.shape[0] * 2, x.shape[1] * 3), dtype)[::2, ::3]
            getattr(ops, f"strided_{element}{end}")(x, y)
            np.testing.assert_array_equal(x, y)
            y = np.zeros(x.shape, dtype)
            getattr(ops, f"packed_{element}{end}")(x, y)
            np.testing.assert_array_equal(x, y)
            z = np.zeros_like(y)
            getattr(ops, f"plain_{element}{end}")(y, z)
            np.testing.assert_array_equal(x, z)


@pytest.mark.parametrize("element", ELEMENTS)
def test_data_and_strides_that_are_no_multiples_of_the_element(ops, element):
    record = np.dtype([("pad", "i1"), ("value", ELEMENTS[element])])
    x, y = (np.zeros((5, 7), record)["value"] for _ in range(2))
    x[...] = np.arange(35).reshape(5, 7) % 2
    for end in ("", "_copy"):
        y[...] = 0
        getattr(ops, f"unaligned_{element}{end}")(x, y)
        np.testing.assert_array_equal(x, y)


def test_rank_zero_and_static_shapes(ops):
    x, y = np.array(1.5), np.array(0.0)
    ops.scalar(x, y)
    assert y == 3.0
    x = np.arange(6.0).reshape(2, 3)
    assert [ops.static(x, i, j) for i in range(2) for j in range(3)] == list(range(6))


def test_shapes(ops):
    x = np.zeros((5, 4, 6), np.float32)
    assert ops.shape(x, 2) == (5, 4, 6, 3)
    assert ops.shape(x, 1) == (5, 4, 4, 3)


def test_views(ops):
    x = np.arange(24.0).reshape(4, 6)
    assert ops.part(x, 2, 3, 2) == x[2, 1:6:2].sum()
    assert [ops.column(x, k) for k in range(3)] == list(x[1:, 2])
    y = np.arange(9.0).reshape(3, 3)
    assert ops.casts(y, 2) == (8.0, 8.0)
    assert ops.diagonal(x, 4, 7, 3) == x[3, 3]


def test_returned_arrays_are_words(ops):
    x = np.arange(24.0).reshape(4, 6)
    pointer, size, stride, whole, rows, columns = ops.returned(x, 1)
    assert (pointer - x.ctypes.data, size, stride) == (8, 6, 96)
    assert (whole, rows, columns) == (x.ctypes.data, 4, 6)


def test_allocations_are_zeroed(ops):
    for n, m in ((3, 4), (100, 50), (0, 5), (5, 0), (100, 50)):
        assert ops.work(n, m) == n * m * (m - 1) / 2
        assert ops.status == 0


def test_impossible_sizes_are_reported(ops):
    for n, m in ((1 << 40, 1 << 40), (-1, 1), (1 << 61, 1), (1 << 62, 4)):
        ops.work(n, m)
        assert ops.status == 1


def test_local_arrays(ops):
    assert ops.local(100, 7) == (3.0, 3.0, 3.0)
    assert ops.local(8, 7) == (3.0, 3.0, 3.0)


def test_arrays_carried_through_loops(ops):
    a, b = np.ones(1), np.zeros(1)
    ops.swap(a, b, 5)
    assert (a[0], b[0]) == (16.0, 32.0)
    a, b = np.arange(3.0), np.arange(4.0) * 10
    assert ops.pick(1, a, b, 2) == (2.0, 3)
    assert ops.pick(0, a, b, 2) == (20.0, 4)


def test_read_modify_write(ops):
    expected = {
        "addf": 7.0, "addi": 7, "assign": 2, "maximumf": 5.0, "maxs": 5, "maxu": 5,
        "minimumf": 2.0, "mins": 2, "minu": 2, "mulf": 10.0, "muli": 10, "ori": 7, "andi": 0,
        "maxnumf": 5.0, "minnumf": 2.0, "xori": 7,
    }  # fmt: skip
    for kind, want in expected.items():
        x = np.array([0, 5], np.float64 if kind.endswith("f") else np.int32)
        assert getattr(ops, f"rmw_{kind}")(x, 2, 1) == 5
        assert (x[0], x[1]) == (0, want), kind


def test_what_is_held_is_freed_when_memory_runs_out(ops, runtime):
    for fail in (1, 2, 0):
        callbacks = runtime(fail)
        ops.work(3, 4, table=callbacks.address)
        assert ops.status == (fail > 0)
        assert not callbacks.blocks
        callbacks = runtime(fail)
        ops.local(3, 2, table=callbacks.address)
        assert ops.status == (fail > 0)
        assert not callbacks.blocks


def test_address_spaces_and_atomics_are_the_target_s(parse):
    text = """
    func.func @f(%x: memref<?xf64>, %i: index, %v: f64) -> f64 attributes {mlirad.entry} {
      %s = memref.alloca() : memref<8xf64, 5 : i64>
      memref.store %v, %s[%i] : memref<8xf64, 5 : i64>
      %c = "memref.cast"(%s) : (memref<8xf64, 5 : i64>) -> memref<?xf64, 5 : i64>
      %l = memref.load %c[%i] : memref<?xf64, 5 : i64>
      %o = "memref.atomic_rmw"(%l, %x, %i) <{kind = 0 : i64}> : (f64, memref<?xf64>, index) -> f64
      return %o : f64
    }"""
    target = replace(CPU, spaces={5: 5}, atomics=True)
    written = emit(parse(text), target)
    assert "alloca [64 x i8], align 64, addrspace(5)" in written
    assert "load double, ptr addrspace(5)" in written
    assert "atomicrmw fadd ptr" in written
    llvm.parse_assembly('target datalayout = "A5"\n' + written).verify()
