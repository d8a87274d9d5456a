# ruff: noqa: E501
"""Numbers of the differentiation passes on MLIR text: forward, reverse, nested; against complex step."""

import ctypes
import struct
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, gpu, math, memref, scf
from xdsl.parser import Parser

from mlirad import pipeline
from mlirad.backends import cpu
from mlirad.dialects.autodiff import Autodiff

STEP = 1e-30
DIALECTS = (
    builtin.Builtin,
    func.Func,
    arith.Arith,
    memref.MemRef,
    scf.Scf,
    gpu.GPU,
    math.Math,
    Autodiff,
)


def compiled(text: str, name: str, results: int) -> Callable[..., list[float]]:
    """A caller of an entry: floats, ints and 1-D contiguous arrays in, floats out."""
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    library = cpu.load(pipeline.compile_native(module))
    entry = library.entry(name)

    def call(*args: float | np.ndarray) -> list[float]:
        words: list[int] = []
        for arg in args:
            if isinstance(arg, np.ndarray):
                words += [arg.ctypes.data, *arg.shape]
            elif isinstance(arg, int):
                words.append(arg)
            else:
                words.append(struct.unpack("Q", struct.pack("d", arg))[0])
        given = (ctypes.c_uint64 * len(words))(*words)
        out = (ctypes.c_uint64 * max(results, 1))()
        assert entry(given, out) == 0
        return [struct.unpack("d", struct.pack("Q", word))[0] for word in out[:results]]

    return call


D, C, A = "#autodiff<activity dup>", "#autodiff<activity const>", "#autodiff<activity active>"


def requests(primal: str) -> str:
    """`primal` defines @f(%x: f64, %m: memref<?xf64>, %n: index) -> f64; adds @forward and @reverse."""
    return f"""
{primal}
func.func @forward(%x: f64, %dx: f64, %m: memref<?xf64>, %dm: memref<?xf64>, %n: index) -> (f64, f64)
    attributes {{mlirad.entry, mlirad.alias = array<i64: -1, -1, 0, 1, -1>}} {{
  %y:2 = autodiff.fwddiff @f(%x, %dx, %m, %dm, %n) [{D}, {D}, {C}] -> [{D}]
    : (f64, f64, memref<?xf64>, memref<?xf64>, index) -> (f64, f64)
  func.return %y#0, %y#1 : f64, f64
}}
func.func @reverse(%x: f64, %m: memref<?xf64>, %dm: memref<?xf64>, %n: index, %s: f64) -> (f64, f64)
    attributes {{mlirad.entry, mlirad.alias = array<i64: -1, 0, 1, -1, -1>}} {{
  %y:2 = autodiff.revdiff @f(%x, %m, %dm, %n, %s) [{A}, {D}, {C}] -> [{A}]
    : (f64, memref<?xf64>, memref<?xf64>, index, f64) -> (f64, f64)
  func.return %y#0, %y#1 : f64, f64
}}
func.func @second(%x: f64, %vx: f64, %m: memref<?xf64>, %vm: memref<?xf64>, %dm: memref<?xf64>,
    %vdm: memref<?xf64>, %n: index, %s: f64) -> (f64, f64)
    attributes {{mlirad.entry, mlirad.alias = array<i64: -1, -1, 0, 1, 2, 3, -1, -1>}} {{
  %y:3 = autodiff.fwddiff @reverse(%x, %vx, %m, %vm, %dm, %vdm, %n, %s) [{D}, {D}, {D}, {C}, {C}] -> [{C}, {D}]
    : (f64, f64, memref<?xf64>, memref<?xf64>, memref<?xf64>, memref<?xf64>, index, f64) -> (f64, f64, f64)
  func.return %y#1, %y#2 : f64, f64
}}
"""


BRANCH_IN_LOOP = """
func.func private @f(%x: f64, %m: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    %v = memref.load %m[%i] : memref<?xf64>
    %w = arith.mulf %v, %a : f64
    %p = arith.cmpf ogt, %w, %z : f64
    %q = scf.if %p -> (f64) {
      %s = math.sin %w : f64
      scf.yield %s : f64
    } else {
      %s = arith.mulf %w, %x : f64
      scf.yield %s : f64
    }
    memref.store %q, %m[%i] : memref<?xf64>
    scf.yield %q : f64
  }
  func.return %r : f64
}
"""


def branch_in_loop(x: complex, m: np.ndarray) -> complex:
    a = x
    for i in range(len(m)):
        w = m[i] * a
        a = m[i] = np.sin(w) if w.real > 0 else w * x
    return a


TRIANGLE = """
func.func private @f(%x: f64, %m: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    %t = scf.for %j = %i to %n step %c2 iter_args(%b = %a) -> (f64) {
      %v = memref.load %m[%j] : memref<?xf64>
      %p = arith.mulf %v, %b : f64
      %s = math.cos %p : f64
      memref.store %s, %m[%j] : memref<?xf64>
      %k = arith.addf %s, %p : f64
      scf.yield %k : f64
    }
    scf.yield %t : f64
  }
  func.return %r : f64
}
"""


def triangle(x: complex, m: np.ndarray) -> complex:
    a = x
    for i in range(len(m)):
        for j in range(i, len(m), 2):
            p = m[j] * a
            m[j] = np.cos(p)
            a = m[j] + p
    return a


WHILE = """
func.func private @f(%x: f64, %m: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %limit = arith.constant 5.0 : f64
  %last = arith.subi %n, %c1 : index
  %r, %j = scf.while (%a = %x, %i = %c0) : (f64, index) -> (f64, index) {
    %sq = arith.mulf %a, %a : f64
    %small = arith.cmpf olt, %sq, %limit : f64
    scf.condition(%small) %sq, %i : f64, index
  } do {
  ^bb0(%b: f64, %k: index):
    %at = arith.remsi %k, %n : index
    %v = memref.load %m[%at] : memref<?xf64>
    %up = math.exp %v : f64
    %c = arith.addf %b, %up : f64
    memref.store %b, %m[%at] : memref<?xf64>
    %next = arith.addi %k, %c1 : index
    scf.yield %c, %next : f64, index
  }
  func.return %r : f64
}
"""


def while_loop(x: complex, m: np.ndarray) -> complex:
    a, k = x, 0
    while (a * a).real < 5:
        b = a * a
        c = b + np.exp(m[k % len(m)])
        m[k % len(m)] = b
        a, k = c, k + 1
    return a * a


HEAD = """
func.func private @f(%x: f64, %m: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r, %j = scf.while (%a = %x, %i = %c0) : (f64, index) -> (f64, index) {
    %twice = arith.addi %i, %i : index
    %at = arith.remsi %twice, %n : index
    %v = memref.load %m[%at] : memref<?xf64>
    %w = arith.mulf %a, %v : f64
    %s = math.sin %w : f64
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %s, %i : f64, index
  } do {
  ^bb0(%b: f64, %k: index):
    %next = arith.addi %k, %c1 : index
    scf.yield %b, %next : f64, index
  }
  func.return %r : f64
}
"""
"""The condition has active ops, whose indices are recomputed."""


def head(x: complex, m: np.ndarray) -> complex:
    for i in range(len(m) + 1):
        x = np.sin(x * m[2 * i % len(m)])
    return x


PROGRAMS = {
    "branch_in_loop": (BRANCH_IN_LOOP, branch_in_loop),
    "triangle": (TRIANGLE, triangle),
    "while": (WHILE, while_loop),
    "while_head": (HEAD, head),
}
POINTS = [(1.3, [0.5, -1.2, 0.9, 1.1]), (0.2, [0.3, 0.1, -0.4]), (0.7, [])]


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_and_reverse_agree_with_complex_step(name: str) -> None:
    text, python = PROGRAMS[name]
    forward = compiled(requests(text), "forward", 2)
    reverse = compiled(requests(text), "reverse", 2)
    for x, values in POINTS[: 2 if name.startswith("while") else 3]:
        rng = np.random.default_rng(3)
        m, n = np.array(values), len(values)
        dx, dm, seed, seeds = 0.7, rng.normal(size=n), 0.6, rng.normal(size=n)
        moved = m + 1j * STEP * dm
        result = python(x + 1j * STEP * dx, moved)
        primal, tangents = m.copy(), dm.copy()
        assert forward(x, dx, primal, tangents, n) == pytest.approx(
            [result.real, result.imag / STEP], rel=1e-12
        )
        np.testing.assert_allclose(primal, moved.real, rtol=1e-14)
        np.testing.assert_allclose(tangents, moved.imag / STEP, rtol=1e-11, atol=1e-14)
        primal, cotangents = m.copy(), seeds.copy()
        value, x_ct = reverse(x, primal, cotangents, n, seed)
        assert value == pytest.approx(result.real, rel=1e-13)
        np.testing.assert_allclose(primal, moved.real, rtol=1e-14)
        expected = seed * result.imag / STEP + seeds @ moved.imag / STEP
        assert x_ct * dx + cotangents @ dm == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_over_reverse_agrees_with_differences(name: str) -> None:
    text, _ = PROGRAMS[name]
    reverse = compiled(requests(text), "reverse", 2)
    second = compiled(requests(text), "second", 2)
    x, values = POINTS[0]
    n, seed = len(values), 0.6
    rng = np.random.default_rng(5)
    m, vm, seeds, vx = np.array(values), rng.normal(size=n), rng.normal(size=n), 0.4

    def gradient(h: float) -> tuple[float, Sequence[float]]:
        cotangents = seeds.copy()
        _, x_ct = reverse(x + h * vx, m + h * vm, cotangents, n, seed)
        return x_ct, cotangents

    h = 1e-6
    (up_x, up), (down_x, down) = gradient(h), gradient(-h)
    cotangents, tangents = seeds.copy(), np.zeros(n)
    _, x_ct_tangent = second(x, vx, m.copy(), vm.copy(), cotangents, tangents, n, seed)
    assert x_ct_tangent == pytest.approx((up_x - down_x) / (2 * h), rel=1e-6)
    np.testing.assert_allclose(
        tangents, (np.array(up) - np.array(down)) / (2 * h), rtol=1e-5, atol=1e-7
    )
