"""Calls, launches, aliasing, growable stacks, and running out of memory."""

import numpy as np
import pytest

from mlirad.backends import cpu
from mlirad.backends.emit_llvm import emit
from mlirad.errors import UnsupportedError
from tests.backends.conftest import parse_module

STACKS = "\n".join(
    f"""func.func private @mlirad_stack_push_{t}(i64, {t})
    func.func private @mlirad_stack_pop_{t}(i64) -> {t}
    func.func @reverse_{t}(%x: memref<?x{t}>, %n: index, %m: index) attributes {{mlirad.entry}} {{
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %s = func.call @mlirad_stack_new() : () -> i64
      scf.for %i = %0 to %n step %1 {{
        %v = memref.load %x[%i] : memref<?x{t}>
        func.call @mlirad_stack_push_{t}(%s, %v) : (i64, {t}) -> ()
      }}
      scf.for %i = %0 to %m step %1 {{
        %v = func.call @mlirad_stack_pop_{t}(%s) : (i64) -> {t}
        memref.store %v, %x[%i] : memref<?x{t}>
      }}
      func.call @mlirad_stack_free(%s) : (i64) -> ()
      return
    }}"""
    for t in ("i1", "i8", "i16", "i32", "i64", "index", "f32", "f64")
)
TEXT = (
    """
func.func private @mlirad_stack_new() -> i64
func.func private @mlirad_stack_free(i64)
func.func private @both(%a: f64, %x: memref<?xf64>) -> (f64, memref<?xf64>) {
  %b = arith.addf %a, %a : f64
  return %b, %x : f64, memref<?xf64>
}
func.func @caller(%a: f64, %x: memref<?xf64>, %i: index) -> f64 attributes {mlirad.entry} {
  %b, %y = func.call @both(%a, %x) : (f64, memref<?xf64>) -> (f64, memref<?xf64>)
  %v = memref.load %y[%i] : memref<?xf64>
  %r = arith.addf %b, %v : f64
  return %r : f64
}
func.func @nothing() attributes {mlirad.entry} {
  return
}
func.func @many(%a: i1, %b: i8, %c: f32, %d: f64, %e: index, %f: i16)
    -> (i16, index, f64, f32, i8, i1) attributes {mlirad.entry} {
  return %f, %e, %d, %c, %b, %a : i16, index, f64, f32, i8, i1
}
func.func @recursive(%n: i64) -> i64 attributes {mlirad.entry} {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %stop = arith.cmpi sle, %n, %0 : i64
  %r = scf.if %stop -> (i64) {
    scf.yield %1 : i64
  } else {
    %m = arith.subi %n, %1 : i64
    %s = func.call @recursive(%m) : (i64) -> i64
    %t = arith.muli %s, %n : i64
    scf.yield %t : i64
  }
  return %r : i64
}
func.func @shift(%x: memref<?xf64>, %y: memref<?xf64>) attributes {mlirad.entry ALIAS} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %n = memref.dim %x, %0 : memref<?xf64>
  scf.for %i = %0 to %n step %1 {
    %v = memref.load %x[%i] : memref<?xf64>
    memref.store %v, %y[%i] : memref<?xf64>
  }
  return
}
func.func private @k(%first: index, %end: index, %gx: index, %gy: index, %gz: index, %bx: index,
    %by: index, %bz: index, %x: memref<?xf64, strided<[?], offset: ?>>, %s: f32, %p: i1) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  scf.for %b = %first to %end step %1 {
    scf.for %t = %0 to %bx step %1 {
      %o = arith.muli %b, %bx : index
      %i = arith.addi %o, %t : index
      %v = memref.load %x[%i] : memref<?xf64, strided<[?], offset: ?>>
      %e = arith.extf %s : f32 to f64
      %w = arith.addf %v, %e : f64
      %u = arith.select %p, %w, %v : f64
      memref.store %u, %x[%i] : memref<?xf64, strided<[?], offset: ?>>
    }
  }
  return
}
func.func @launched(%g: index, %b: index, %x: memref<?xf64, strided<[?], offset: ?>>, %s: f32,
    %p: i1) attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  func.call @k(%0, %g, %g, %1, %1, %b, %1, %1, %x, %s, %p) {mlirad.launch}
    : (index, index, index, index, index, index, index, index,
       memref<?xf64, strided<[?], offset: ?>>, f32, i1) -> ()
  return
}
func.func private @greedy(%first: index, %end: index, %gx: index, %gy: index, %gz: index,
    %bx: index, %by: index, %bz: index, %x: memref<?xf64>) {
  %1 = arith.constant 1 : index
  scf.for %b = %first to %end step %1 {
    %s = func.call @mlirad_stack_new() : () -> i64
    %v = arith.constant 1.0 : f64
    func.call @mlirad_stack_push_f64(%s, %v) : (i64, f64) -> ()
    memref.store %v, %x[%b] : memref<?xf64>
    func.call @mlirad_stack_free(%s) : (i64) -> ()
  }
  return
}
func.func @outer(%g: index, %x: memref<?xf64>) attributes {mlirad.entry} {
  func.call @inner(%g, %x) : (index, memref<?xf64>) -> ()
  func.call @inner(%g, %x) : (index, memref<?xf64>) -> ()
  return
}
func.func private @inner(%g: index, %x: memref<?xf64>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %t = memref.alloc(%g) : memref<?xf64>
  func.call @greedy(%0, %g, %g, %1, %1, %1, %1, %1, %x) {mlirad.launch}
    : (index, index, index, index, index, index, index, index, memref<?xf64>) -> ()
  memref.dealloc %t : memref<?xf64>
  return
}
func.func private @made(%n: index) -> memref<?xf64> {
  %a = memref.alloc(%n) : memref<?xf64>
  return %a : memref<?xf64>
}
func.func private @consumed(%a: memref<?xf64>) {
  memref.dealloc %a : memref<?xf64>
  return
}
func.func @handed_on(%n: index) attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %a = memref.alloc(%n) : memref<?xf64>
  func.call @consumed(%a) : (memref<?xf64>) -> ()
  %b = func.call @made(%n) : (index) -> memref<?xf64>
  func.call @consumed(%b) : (memref<?xf64>) -> ()
  return
}
"""
    + STACKS
)


@pytest.fixture(scope="module")
def ops(program):
    return program(TEXT.replace("ALIAS", ""))


def test_calls(ops):
    assert ops.caller(1.5, np.arange(4.0), 3) == 6.0
    assert ops.nothing() == ()
    assert ops.many(1, -3, 0.5, 2.5, -9, -300) == (-300, -9, 2.5, 0.5, -3, 1)
    assert ops.recursive(10) == 3628800


def test_arrays_that_may_overlap(ops):
    x = np.arange(100.0)
    ops.shift(x[:-1], x[1:])
    assert np.all(x == 0)


def test_arrays_that_are_apart(program):
    for classes, count in (("0, 1", 2), ("0, 0", 0)):
        alias = f", mlirad.alias = array<i64: {classes}>"
        compiled = program(TEXT.replace("ALIAS", alias))
        head = next(s for s in emit(compiled.module).splitlines() if '@"shift.body"' in s)
        assert head.count("noalias") == count


def test_launches_cover_all_blocks(ops, runtime):
    x = np.zeros(60)[::2]
    ops.launched(6, 5, x, 0.5, 1)
    assert np.all(x == 0.5)
    ops.launched(6, 5, x, 0.5, 0)
    assert np.all(x == 0.5)
    callbacks = runtime(cut=(1, 4))
    ops.launched(6, 5, x, 0.25, 1, table=callbacks.address)
    assert np.all(x == 0.75)
    assert callbacks.launches == 1
    ops.launched(0, 5, x, 0.25, 1)
    assert np.all(x == 0.75)


@pytest.mark.parametrize("type", ["i1", "i8", "i16", "i32", "i64", "index", "f32", "f64"])
def test_stacks(ops, type):
    dtype = {"f64": "f8", "f32": "f4", "i1": "?", "index": "i8"}.get(type, f"i{type[1:]}")
    dtype = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8"}.get(type, dtype)
    for n in (0, 1, 64, 65, 5000):
        x = (np.arange(n) % 2 if type == "i1" else np.arange(n) % 100 - 50).astype(dtype)
        want = x[::-1].copy()
        getattr(ops, f"reverse_{type}")(x, n, n)
        np.testing.assert_array_equal(x, want)


def test_an_empty_stack_gives_zero(ops):
    x = np.arange(1.0, 6.0)
    ops.reverse_f64(x, 2, 5)
    np.testing.assert_array_equal(x, [2, 1, 0, 0, 0])


def test_a_stack_that_cannot_grow(ops, runtime):
    for fail in (1, 2, 3, 4):
        callbacks = runtime(fail)
        x = np.arange(1000.0)
        ops.reverse_f64(x, 1000, 1000, table=callbacks.address)
        assert ops.status == 1
        assert not callbacks.blocks
        np.testing.assert_array_equal(x, np.arange(1000.0))
    callbacks = runtime()
    ops.reverse_f64(x, 1000, 1000, table=callbacks.address)
    assert ops.status == 0
    assert not callbacks.blocks


def test_memory_runs_out_in_a_kernel(ops, runtime):
    for fail in range(1, 15):
        callbacks, x = runtime(fail, cut=(1,)), np.zeros(3)
        ops.outer(3, x, table=callbacks.address)
        assert ops.status == 1
        assert callbacks.launches == (fail > 1) + (fail > 8)
        assert not callbacks.blocks
    callbacks = runtime(15)
    ops.outer(3, x, table=callbacks.address)
    assert ops.status == 0
    assert callbacks.count == 14
    assert np.all(x == 1)


def test_nothing_is_freed_twice(ops, runtime):
    for fail in (0, 1, 2):
        callbacks = runtime(fail)
        ops.handed_on(5, table=callbacks.address)
        assert ops.status == (fail > 0)
        assert not callbacks.blocks


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("func.call @unknown(%x) : (f64) -> f64", "the function 'unknown' has no definition"),
        ("arith.constant 1.0 : f16", "arith.constant: values of type f16 are not supported"),
        ('"memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> '
         "memref<3xf64, strided<[2]>>", "an allocation of type memref<3xf64, strided<[2]>>"),
    ],
)  # fmt: skip
def test_what_has_no_machine_code_is_refused_with_its_place(program, body, message):
    text = f"""
    func.func private @unknown(f64) -> f64
    func.func @f(%x: f64) attributes {{mlirad.entry}} {{
      %r = {body} loc("kernel.py":12:5)
      return
    }}"""
    with pytest.raises(UnsupportedError) as caught:
        program(text)
    assert str(caught.value).startswith(f"kernel.py:12:5: {message}")


def test_only_what_entries_reach_is_written(ops):
    text = emit(ops.module)
    assert '@"both.body"' in text
    assert cpu.optimized_llvm(ops.module).count("define") < text.count("define")


def many_stacks(count: int) -> str:
    """A function that makes `count` stacks, pushes on each, and frees them."""
    new = [f"%s{k} = func.call @mlirad_stack_new() : () -> i64" for k in range(count)]
    push = [f"func.call @mlirad_stack_push_f64(%s{k}, %v) : (i64, f64) -> ()" for k in range(count)]
    free = [f"func.call @mlirad_stack_free(%s{k}) : (i64) -> ()" for k in range(count)]
    return (
        "func.func private @mlirad_stack_new() -> i64\n"
        "func.func private @mlirad_stack_free(i64)\n"
        "func.func private @mlirad_stack_push_f64(i64, f64)\n"
        "func.func @many(%v: f64) attributes {mlirad.entry} {\n"
        + "\n".join([*new, *push, *free, "return\n}"])
    )


def test_code_for_failures_grows_with_the_number_of_stacks_and_no_faster():
    lines = [emit(parse_module(many_stacks(count))).count("\n") for count in (10, 20, 40)]
    assert lines[2] - lines[1] == 2 * (lines[1] - lines[0])
    deep = emit(parse_module(many_stacks(1500)))  # nor is anything recursive
    assert deep.count("call void @mlirad_stack_free") == 2 * 1500
