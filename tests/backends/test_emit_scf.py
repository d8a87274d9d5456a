"""Loops and branches."""

import numpy as np
import pytest

TEXT = """
func.func @numbers(%lb: index, %ub: index, %step: index) -> (index, index)
    attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %n, %s = scf.for %i = %lb to %ub step %step iter_args(%c = %0, %t = %0) -> (index, index) {
    %d = arith.addi %c, %1 : index
    %u = arith.addi %t, %i : index
    scf.yield %d, %u : index, index
  }
  return %n, %s : index, index
}
func.func @by_one(%lb: index, %ub: index) -> (index, index) attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %n, %s = scf.for %i = %lb to %ub step %1 iter_args(%c = %0, %t = %0) -> (index, index) {
    %d = arith.addi %c, %1 : index
    %u = arith.addi %t, %i : index
    scf.yield %d, %u : index, index
  }
  return %n, %s : index, index
}
func.func @narrow(%lb: i8, %ub: i8) -> i32 attributes {mlirad.entry} {
  %0 = arith.constant 0 : i32
  %3 = arith.constant 3 : i8
  %s = scf.for %i = %lb to %ub step %3 iter_args(%t = %0) -> (i32) : i8 {
    %w = arith.extsi %i : i8 to i32
    %u = arith.addi %t, %w : i32
    scf.yield %u : i32
  }
  return %s : i32
}
func.func @fibonacci(%n: index) -> (i64, i64) attributes {mlirad.entry} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = arith.constant 0 : i64
  %b = arith.constant 1 : i64
  %x, %y = scf.for %i = %0 to %n step %1 iter_args(%p = %a, %q = %b) -> (i64, i64) {
    %r = arith.addi %p, %q : i64
    scf.yield %q, %r : i64, i64
  }
  return %x, %y : i64, i64
}
func.func @collatz(%n: i64) -> (i64, i64) attributes {mlirad.entry} {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %2 = arith.constant 2 : i64
  %3 = arith.constant 3 : i64
  %last, %steps = scf.while (%x = %n, %k = %0) : (i64, i64) -> (i64, i64) {
    %go = arith.cmpi ne, %x, %1 : i64
    scf.condition(%go) %x, %k : i64, i64
  } do {
  ^bb0(%x: i64, %k: i64):
    %r = arith.remsi %x, %2 : i64
    %even = arith.cmpi eq, %r, %0 : i64
    %y = scf.if %even -> (i64) {
      %h = arith.divsi %x, %2 : i64
      scf.yield %h : i64
    } else {
      %t = arith.muli %x, %3 : i64
      %u = arith.addi %t, %1 : i64
      scf.yield %u : i64
    }
    %l = arith.addi %k, %1 : i64
    scf.yield %y, %l : i64, i64
  }
  return %last, %steps : i64, i64
}
func.func @exchanged(%n: i64) -> (i64, f64) attributes {mlirad.entry} {
  // What the loop passes to its body and returns need not be what it carries.
  %1 = arith.constant 1 : i64
  %r:2 = scf.while (%x = %n) : (i64) -> (i64, f64) {
    %sq = arith.muli %x, %x : i64
    %f = arith.sitofp %sq : i64 to f64
    %hundred = arith.constant 100 : i64
    %go = arith.cmpi slt, %sq, %hundred : i64
    scf.condition(%go) %sq, %f : i64, f64
  } do {
  ^bb0(%sq: i64, %f: f64):
    %g = arith.fptosi %f : f64 to i64
    %y = arith.addi %g, %1 : i64
    scf.yield %y : i64
  }
  return %r#0, %r#1 : i64, f64
}
func.func @nested(%a: i1, %b: i1) -> (f64, i1) attributes {mlirad.entry} {
  %0 = arith.constant 1.0 : f64
  %1 = arith.constant 2.0 : f64
  %2 = arith.constant 3.0 : f64
  %r:2 = scf.if %a -> (f64, i1) {
    %s = scf.if %b -> (f64) {
      scf.yield %0 : f64
    } else {
      scf.yield %1 : f64
    }
    scf.yield %s, %b : f64, i1
  } else {
    scf.yield %2, %a : f64, i1
  }
  return %r#0, %r#1 : f64, i1
}
func.func @without_else(%a: i1, %x: memref<f64>) attributes {mlirad.entry} {
  scf.if %a {
    %v = arith.constant 2.0 : f64
    memref.store %v, %x[] : memref<f64>
  }
  return
}
func.func @known() -> f64 attributes {mlirad.entry} {
  %t = arith.constant true
  %r = scf.if %t -> (f64) {
    %v = arith.constant 2.0 : f64
    scf.yield %v : f64
  } else {
    %v = arith.constant 3.0 : f64
    scf.yield %v : f64
  }
  return %r : f64
}
func.func @switch(%k: index) -> i64 attributes {mlirad.entry} {
  %r = "scf.index_switch"(%k) <{cases = array<i64: 2, 5>}> ({
    %v = arith.constant 0 : i64
    scf.yield %v : i64
  }, {
    %v = arith.constant 20 : i64
    scf.yield %v : i64
  }, {
    %v = arith.constant 50 : i64
    scf.yield %v : i64
  }) : (index) -> i64
  return %r : i64
}
"""


@pytest.fixture(scope="module")
def ops(program):
    return program(TEXT, opt_level=2)


def test_counted_loops(ops):
    for lb in (-7, 0, 3):
        for ub in (-9, -7, 0, 1, 10):
            assert ops.by_one(lb, ub) == (max(ub - lb, 0), sum(range(lb, ub)))
            for step in (1, 2, 3, 100):
                values = range(lb, ub, step)
                assert ops.numbers(lb, ub, step) == (len(values), sum(values)), (lb, ub, step)


def test_loops_end_at_the_largest_number(ops):
    most = (1 << 63) - 1
    assert ops.numbers(most - 5, most, 4)[0] == 2
    assert ops.by_one(most - 5, most)[0] == 5
    assert ops.numbers(-most - 1, most, most)[0] == 3


def test_a_step_that_leads_nowhere_runs_no_iteration(ops):
    assert ops.numbers(0, 5, 0) == (0, 0)
    assert ops.numbers(0, 5, -1) == (0, 0)


def test_loops_over_narrow_integers(ops):
    assert ops.narrow(-128, 127) == sum(range(-128, 127, 3))
    assert ops.narrow(5, 5) == 0


def test_carried_values_change_together(ops):
    assert ops.fibonacci(0) == (0, 1)
    assert ops.fibonacci(10) == (55, 89)


def test_while(ops):
    assert ops.collatz(27) == (1, 111)
    assert ops.collatz(1) == (1, 0)
    assert ops.exchanged(2) == (676, 676.0)
    assert ops.exchanged(20) == (400, 400.0)


def test_branches(ops):
    assert ops.nested(1, 1) == (1.0, 1)
    assert ops.nested(1, 0) == (2.0, 0)
    assert ops.nested(0, 1) == (3.0, 0)
    x = np.array(1.0)
    ops.without_else(0, x)
    assert x == 1.0
    ops.without_else(1, x)
    assert x == 2.0
    assert ops.known() == 2.0
    assert [ops.switch(k) for k in (0, 2, 5, -2)] == [0, 20, 50, 0]
