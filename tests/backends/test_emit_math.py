"""Every op of math on floats against mpmath, and the integer ones against Python."""

import math
import random

import mpmath
import numpy as np
import pytest

from mlirad.backends import cpu

UNARY = (
    "absf acos acosh asin asinh atan atanh cbrt ceil cos cosh erf exp exp2 expm1 floor log log10 "
    "log1p log2 round roundeven rsqrt sin sinh sqrt tan tanh trunc"
).split()
BINARY = "atan2 copysign powf".split()
LIBM = "lgamma tgamma erfc fmod hypot".split()
DOMAIN = {
    "acos": (-1, 1), "asin": (-1, 1), "acosh": (1, 50), "atanh": (-0.99, 0.99),
    "log": (1e-3, 50), "log10": (1e-3, 50), "log2": (1e-3, 50), "log1p": (-0.99, 50),
    "rsqrt": (1e-3, 50), "sqrt": (0, 50), "exp": (-20, 20), "exp2": (-20, 20),
    "tan": (-1.5, 1.5),
}  # fmt: skip
REFERENCE = {
    "absf": abs, "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "ceil": mpmath.ceil, "floor": mpmath.floor, "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2), "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "round": lambda x: mpmath.sign(x) * mpmath.floor(abs(x) + 0.5), "roundeven": mpmath.nint,
    "trunc": lambda x: mpmath.sign(x) * mpmath.floor(abs(x)),
    "powf": lambda x, y: x**y, "copysign": lambda x, y: math.copysign(x, y),
}  # fmt: skip


def function(op, type, arguments):
    names = ", ".join(f"%{'abc'[k]}" for k in range(arguments))
    typed = ", ".join(f"%{'abc'[k]}: {type}" for k in range(arguments))
    return f"""
    func.func @{op}_{type}({typed}) -> {type} attributes {{mlirad.entry}} {{
      %r = math.{op} {names} : {type}
      return %r : {type}
    }}"""


@pytest.fixture(scope="module")
def ops(program):
    text = [function(op, type, 1) for op in UNARY for type in ("f64", "f32")]
    text += [function(op, type, 2) for op in BINARY for type in ("f64", "f32")]
    text += [function("fma", type, 3) for type in ("f64", "f32")]
    text += [function("ipowi", type, 2) for type in ("i8", "i64")]
    text += [function(op, "i16", 1) for op in ("absi", "ctlz", "cttz", "ctpop")]
    for name in LIBM:
        for letter, type in (("", "f64"), ("f", "f32")):
            two = name in ("fmod", "hypot")
            types = ", ".join([type] * (1 + two))
            typed, names = ("%a: @, %b: @", "%a, %b") if two else ("%a: @", "%a")
            text.append(f"""
            func.func private @{name}{letter}({types}) -> {type} attributes {{mlirad.pure}}
            func.func @call_{name}_{type}({typed.replace("@", type)}) -> {type}
                attributes {{mlirad.entry}} {{
              %r = func.call @{name}{letter}({names}) : ({types}) -> {type}
              return %r : {type}
            }}""")
    text.append("""
    func.func @fpowi(%a: f64, %b: i64) -> f64 attributes {mlirad.entry} {
      %r = math.fpowi %a, %b : f64, i64
      return %r : f64
    }
    func.func @sin(%a: f64) -> f64 attributes {mlirad.entry} {
      %0 = math.sin %a : f64
      %1 = arith.addf %0, %0 : f64
      return %1 : f64
    }""")
    return program("\n".join(text), opt_level=1)


def close(got, want, type):
    rtol = 5e-16 * 4 if type == "f64" else 2.4e-7 * 2
    return abs(got - want) <= rtol * abs(want)


@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one_argument(ops, op):
    low, high = DOMAIN.get(op, (-5, 5))
    source = random.Random(op)
    reference = REFERENCE.get(op) or getattr(mpmath, op)
    for type, kind in (("f64", float), ("f32", lambda x: float(np.float32(x)))):
        for _ in range(20):
            x = kind(source.uniform(low, high))
            want = reference(mpmath.mpf(x))
            assert close(getattr(ops, f"{op}_{type}")(x), want, type), (op, type, x)


def test_functions_of_two_and_three_arguments(ops):
    source = random.Random(3)
    for _ in range(20):
        x, y, z = (float(np.float32(source.uniform(0.1, 4))) for _ in range(3))
        for type in ("f64", "f32"):
            for op in BINARY:
                reference = REFERENCE.get(op) or getattr(mpmath, op)
                got = getattr(ops, f"{op}_{type}")(x, -y)
                assert close(got, reference(mpmath.mpf(x), -mpmath.mpf(y)), type), (op, type)
            want = mpmath.mpf(x) * y + z
            assert close(getattr(ops, f"fma_{type}")(x, y, z), want, type)


def test_fma_rounds_once(ops):
    x = 1 + 2.0**-30
    assert ops.fma_f64(x, x, -1.0) == 2.0**-29 + 2.0**-60


def test_singular_points(ops):
    inf, nan = math.inf, math.nan
    assert ops.log_f64(0.0) == -inf
    assert math.isnan(ops.log_f64(-1.0))
    assert math.isnan(ops.sqrt_f64(-1.0))
    assert math.copysign(1, ops.sqrt_f64(-0.0)) == -1
    assert ops.exp_f64(1000.0) == inf
    assert ops.rsqrt_f64(0.0) == inf
    assert ops.powf_f64(0.0, -1.0) == inf
    assert ops.powf_f64(nan, 0.0) == 1.0
    assert math.isnan(ops.acos_f64(2.0))
    assert ops.atan2_f64(-0.0, -1.0) == -math.pi
    assert ops.round_f64(2.5) == 3.0
    assert ops.roundeven_f64(2.5) == 2.0
    assert ops.round_f64(-2.5) == -3.0
    assert math.copysign(1, ops.trunc_f64(-0.5)) == -1
    assert ops.tanh_f64(inf) == 1.0


def test_integers(ops):
    def wrap(x, n):
        x %= 1 << n
        return x - (1 << n) if x >> (n - 1) else x

    for base in (-3, -2, -1, 0, 1, 2, 3, 10):
        for exponent in (0, 1, 2, 5, 63):
            assert ops.ipowi_i8(base, exponent) == wrap(base**exponent, 8)
            assert ops.ipowi_i64(base, exponent) == wrap(base**exponent, 64)
        for exponent in (-1, -2):
            want = {1: 1, -1: (-1) ** exponent}.get(base, 0)
            assert ops.ipowi_i64(base, exponent) == want
            assert ops.fpowi(base + 0.5, exponent) == pytest.approx((base + 0.5) ** exponent)
    for x in (0, 1, 5, -1, -32768, 300):
        u = x % 65536
        assert ops.absi_i16(x) == wrap(abs(x), 16)
        assert ops.ctlz_i16(x) == 16 - u.bit_length()
        assert ops.cttz_i16(x) == ((u & -u).bit_length() - 1 if u else 16)
        assert ops.ctpop_i16(x) == u.bit_count()


def test_functions_of_the_c_library(ops):
    for type in ("f64", "f32"):
        assert close(getattr(ops, f"call_lgamma_{type}")(4.5), mpmath.loggamma(4.5), type)
        assert close(getattr(ops, f"call_tgamma_{type}")(4.5), mpmath.gamma(4.5), type)
        assert close(getattr(ops, f"call_erfc_{type}")(1.5), mpmath.erfc(1.5), type)
        assert getattr(ops, f"call_fmod_{type}")(-7.5, 2.0) == -1.5
        assert getattr(ops, f"call_hypot_{type}")(3.0, 4.0) == 5.0


def test_a_kernel_named_like_a_library_function_does_not_replace_it(ops):
    assert ops.sin(1.0) == 2 * math.sin(1.0)


VECTOR = [op for op in UNARY if op not in ("absf", "ceil", "floor", "round", "roundeven", "trunc")]


@pytest.mark.skipif(not cpu.has_vector_math(), reason="libmvec is not there")
def test_vector_versions_agree_with_mpmath(program):
    """Loops over arrays call libmvec; 4 ulp is what it promises."""
    body = """
    func.func @{op}_{type}(%x: memref<?x{type}>, %y: memref<?x{type}>) attributes
        {{mlirad.entry, mlirad.alias = array<i64: 0, 1>}} {{
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %n = memref.dim %x, %0 : memref<?x{type}>
      scf.for %i = %0 to %n step %1 {{
        %v = memref.load %x[%i] : memref<?x{type}>
        {line}
        memref.store %w, %y[%i] : memref<?x{type}>
      }}
      return
    }}"""
    kinds = (("f64", np.float64), ("f32", np.float32))
    lines = {op: "%w = math.{op} %v : {type}" for op in VECTOR}
    lines |= {op: "%w = math.{op} %v, %v : {type}" for op in ("powf", "atan2")}
    text = "\n".join(
        body.format(op=op, type=type, line=line.format(op=op, type=type))
        for type, _ in kinds
        for op, line in lines.items()
    )
    compiled = program(text)
    assert "_ZGV" in cpu.assembly(compiled.module)
    for op in lines:
        low, high = DOMAIN.get(op, (0.1, 5) if op in ("powf", "atan2") else (-5, 5))
        reference = REFERENCE.get(op) or getattr(mpmath, op)
        for type, kind in kinds:
            x = np.linspace(low, high, 67).astype(kind)
            y = np.empty_like(x)
            getattr(compiled, f"{op}_{type}")(x, y)
            arguments = [[mpmath.mpf(float(v))] * (2 if op in ("powf", "atan2") else 1) for v in x]
            want = np.array([float(reference(*a)) for a in arguments])
            eps = np.finfo(kind).eps
            assert np.all(np.abs(y - want) <= 4.5 * eps * np.abs(want)), (op, type)


LOOP = """
func.func @{op}_{type}(%x: memref<?x{type}>, %z: memref<?x{type}>, %y: memref<?x{type}>)
    attributes {{mlirad.entry, mlirad.alias = array<i64: 0, 1, 2>}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %n = memref.dim %x, %0 : memref<?x{type}>
  scf.for %i = %0 to %n step %1 {{
    %v = memref.load %x[%i] : memref<?x{type}>
    %u = memref.load %z[%i] : memref<?x{type}>
    %w = {call}
    memref.store %w, %y[%i] : memref<?x{type}>
  }}
  return
}}"""


def special_loop(op, type):
    operands, types = ("%v, %u", f"{type}, {type}") if op in PAIRS else ("%v", type)
    if op not in LIBRARY:
        return LOOP.format(op=op, type=type, call=f"math.{op} {operands} : {type}")
    symbol = op + ("f" if type == "f32" else "")
    call = f"func.call @{symbol}({operands}) : ({types}) -> {type}"
    declaration = f"func.func private @{symbol}({types}) -> {type} attributes {{mlirad.pure}}"
    return declaration + LOOP.format(op=op, type=type, call=call)


PAIRS, LIBRARY = ("powf", "atan2", "hypot"), ("erfc", "exp10", "hypot")
SPECIAL = [
    0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1e-40, 1e308, -1e308,
    1e-300, 709.0, 710.0, -745.0, -750.0, 88.0, 89.0, -104.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5,
    3.0, -3.0, 1e10, 1e22, -1e22, 1 + 1e-10, 1 - 1e-10, 1e-8, -1e-8, 20.0, 1024.0, 1023.9,
    -1074.0, 127.9, 128.0, -149.0, 2.0**53, 1e-45, 3e38,
]  # fmt: skip


@pytest.mark.skipif(not cpu.has_vector_math(), reason="libmvec is not there")
def test_vector_versions_agree_with_scalar_ones_at_singular_points(program):
    names = dict.fromkeys((*VECTOR, *PAIRS, *LIBRARY))
    kinds = (("f64", np.float64), ("f32", np.float32))
    text = "\n".join(special_loop(op, type) for type, _ in kinds for op in names)
    vector, scalar = program(text), program(text, opt_level=0)
    for type, kind in kinds:
        with np.errstate(over="ignore", under="ignore"):
            values = np.array(SPECIAL).astype(kind)
        eps, tiny = np.finfo(kind).eps, np.finfo(kind).smallest_subnormal
        for op in names:
            x, z = (np.resize(a, 2048) for a in np.meshgrid(values, values))
            got, want = np.empty_like(x), np.empty_like(x)
            getattr(vector, f"{op}_{type}")(x, z, got)
            getattr(scalar, f"{op}_{type}")(x, z, want)
            with np.errstate(invalid="ignore", over="ignore"):
                near = np.abs(got - want) <= np.maximum(8 * eps * np.abs(want), 4 * tiny)
            alike = ((got == want) | near) & (np.signbit(got) == np.signbit(want))
            wrong = ~(alike | (np.isnan(got) & np.isnan(want)))
            assert not wrong.any(), (op, type, x[wrong][:3], got[wrong][:3], want[wrong][:3])
