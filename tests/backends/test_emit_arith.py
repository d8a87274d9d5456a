"""Every op of arith against Python's integers and numpy's floats, edge values included."""

import math
import random
import struct

import numpy as np
import pytest

from mlirad.backends.emit_llvm import emit

INTEGERS = (
    "addi subi muli andi ori xori divsi divui floordivsi ceildivsi ceildivui remsi remui "
    "shli shrsi shrui maxsi minsi maxui minui"
).split()
CMPI = "eq ne slt sle sgt sge ult ule ugt uge".split()
CMPF = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
FLOATS = "addf subf mulf divf maximumf minimumf maxnumf minnumf".split()
CASTS = [
    ("extsi", "i8", "i64"), ("extui", "i8", "i64"), ("extui", "i1", "i64"),
    ("extsi", "i1", "i32"), ("trunci", "i64", "i8"), ("trunci", "i32", "i1"),
    ("index_cast", "i32", "index"), ("index_cast", "index", "i16"), ("index_cast", "i64", "index"),
    ("sitofp", "i64", "f64"), ("uitofp", "i64", "f64"), ("sitofp", "i8", "f32"),
    ("sitofp", "i1", "f64"), ("uitofp", "i1", "f64"), ("fptosi", "f64", "i64"),
    ("fptosi", "f64", "i32"), ("fptosi", "f32", "i8"), ("fptoui", "f64", "i64"),
    ("fptoui", "f64", "i8"), ("extf", "f32", "f64"), ("truncf", "f64", "f32"),
    ("bitcast", "f64", "i64"), ("bitcast", "i64", "f64"), ("bitcast", "f32", "i32"),
]  # fmt: skip
NAN, INF = math.nan, math.inf
VALUES = [0.0, -0.0, 1.0, -1.5, 2.5, 1e300, -1e300, 5e-324, INF, -INF, NAN, 3.0]


def binary(op, type, result=None, name=None):
    return f"""
    func.func @{name or f"{op}_{type}"}(%a: {type}, %b: {type}) -> {result or type}
        attributes {{mlirad.entry}} {{
      %r = arith.{op} %a, %b : {type}
      return %r : {result or type}
    }}"""


@pytest.fixture(scope="module")
def ops(program):
    text = [binary(op, type) for op in INTEGERS for type in ("i8", "i64")]
    text += [binary(op, "i1") for op in INTEGERS if op in ("addi", "divsi", "shli", "shrsi")]
    text += [binary(f"cmpi {p},", t, "i1", f"{p}_{t}") for p in CMPI for t in ("i8", "index")]
    text += [binary(f"cmpf {p},", "f64", "i1", f"f_{p}") for p in CMPF]
    text += [binary(op, type) for op in FLOATS for type in ("f64", "f32")]
    text += [
        f"""func.func @{op}_{a}_{b}(%a: {a}) -> {b} attributes {{mlirad.entry}} {{
          %r = arith.{op} %a : {a} to {b}
          return %r : {b}
        }}"""
        for op, a, b in CASTS
    ]
    text += [
        f"""func.func @{op}(%a: i16, %b: i16) -> (i16, {second}) attributes {{mlirad.entry}} {{
          %r, %s = arith.{op} %a, %b : i16{tail}
          return %r, %s : i16, {second}
        }}"""
        for op, second, tail in (
            ("addui_extended", "i1", ", i1"),
            ("mulsi_extended", "i16", ""),
            ("mului_extended", "i16", ""),
        )
    ]
    text.append("""
    func.func @neg(%a: f64) -> f64 attributes {mlirad.entry} {
      %r = arith.negf %a : f64
      return %r : f64
    }
    func.func @choose(%c: i1, %a: f64, %b: f64) -> f64 attributes {mlirad.entry} {
      %r = arith.select %c, %a, %b : f64
      return %r : f64
    }
    func.func @constants() -> (f64, f64, f64, f64, f32, f32, i1, i64, i8)
        attributes {mlirad.entry} {
      %0 = arith.constant 0x7FF0000000000000 : f64
      %1 = arith.constant 0x7FF8000000000000 : f64
      %2 = arith.constant -0.0 : f64
      %3 = arith.constant 5.0e-324 : f64
      %4 = arith.constant 0.1 : f32
      %5 = arith.constant 1.0e-45 : f32
      %6 = arith.constant true
      %7 = arith.constant -9223372036854775808 : i64
      %8 = arith.constant -1 : i8
      return %0, %1, %2, %3, %4, %5, %6, %7, %8 : f64, f64, f64, f64, f32, f32, i1, i64, i8
    }
    func.func @by_constants(%a: i64) -> (i64, i64, i64, i64) attributes {mlirad.entry} {
      %z = arith.constant 0 : i64
      %m = arith.constant -1 : i64
      %s = arith.constant 7 : i64
      %0 = arith.divsi %a, %z : i64
      %1 = arith.divsi %a, %m : i64
      %2 = arith.floordivsi %a, %s : i64
      %3 = arith.remsi %a, %s : i64
      return %0, %1, %2, %3 : i64, i64, i64, i64
    }""")
    return program("\n".join(text), opt_level=1)


def signed(x, n):
    x %= 1 << n
    return x - (1 << n) if x >> (n - 1) else x


def truncating(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0


def expected(op, a, b, n):
    u, v = a % (1 << n), b % (1 << n)
    return {
        "addi": lambda: a + b, "subi": lambda: a - b, "muli": lambda: a * b,
        "andi": lambda: a & b, "ori": lambda: a | b, "xori": lambda: a ^ b,
        "divsi": lambda: truncating(a, b), "divui": lambda: u // v if v else 0,
        "floordivsi": lambda: a // b if b else 0, "ceildivsi": lambda: -(-a // b) if b else 0,
        "ceildivui": lambda: -(-u // v) if v else 0,
        "remsi": lambda: a - truncating(a, b) * b if b else 0,
        "remui": lambda: u % v if v else 0,
        "shli": lambda: u << v if v < n else 0, "shrui": lambda: u >> v if v < n else 0,
        "shrsi": lambda: a >> min(v, n - 1),
        "maxsi": lambda: max(a, b), "minsi": lambda: min(a, b),
        "maxui": lambda: max(u, v), "minui": lambda: min(u, v),
    }[op]()  # fmt: skip


def samples(n):
    edge = [0, 1, -1, 2, 3, -3, 7, n - 1, n, n + 1, -(1 << n - 1), (1 << n - 1) - 1]
    source = random.Random(n)
    return edge + [source.randrange(-(1 << n - 1), 1 << n - 1) for _ in range(4)]


@pytest.mark.parametrize("op", INTEGERS)
def test_integers_are_total(ops, op):
    for n in (8, 64):
        entry = getattr(ops, f"{op}_i{n}")
        for a in samples(n):
            for b in samples(n):
                a, b = signed(a, n), signed(b, n)
                assert entry(a, b) == signed(expected(op, a, b, n), n), (op, n, a, b)


def test_one_bit_integers(ops):
    for a in (0, 1):
        for b in (0, 1):
            assert ops.addi_i1(a, b) == a ^ b
            assert ops.divsi_i1(a, b) == (a if b else 0)  # -1 / -1 wraps to -1
            assert ops.shli_i1(a, b) == (a if not b else 0)
            assert ops.shrsi_i1(a, b) == a


def test_integer_comparisons(ops):
    for n, type in ((8, "i8"), (64, "index")):
        for a in samples(n):
            for b in samples(n):
                a, b = signed(a, n), signed(b, n)
                u, v = a % (1 << n), b % (1 << n)
                got = [getattr(ops, f"{p}_{type}")(a, b) for p in CMPI]
                want = [a == b, a != b, a < b, a <= b, a > b, a >= b, u < v, u <= v, u > v, u >= v]
                assert got == want, (a, b)


def test_float_comparisons(ops):
    for a in VALUES:
        for b in VALUES:
            nan = a != a or b != b
            want = dict(
                false=False, oeq=a == b, ogt=a > b, oge=a >= b, olt=a < b, ole=a <= b,
                one=a != b and not nan, ord=not nan, ueq=a == b or nan, ugt=a > b or nan,
                uge=a >= b or nan, ult=a < b or nan, ule=a <= b or nan, une=a != b, uno=nan,
                true=True,
            )  # fmt: skip
            for p in CMPF:
                assert getattr(ops, f"f_{p}")(a, b) == want[p], (p, a, b)


def same(a, b):
    """Equal to the bit, but for the payload of NaN."""
    if a != a or b != b:
        return a != a and b != b
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def test_floats(ops):
    with np.errstate(all="ignore"):
        for a in VALUES:
            for b in VALUES:
                for type in (np.float64, np.float32):
                    x, y, s = type(a), type(b), {np.float64: "f64", np.float32: "f32"}[type]
                    assert same(getattr(ops, f"addf_{s}")(x, y), float(x + y))
                    assert same(getattr(ops, f"subf_{s}")(x, y), float(x - y))
                    assert same(getattr(ops, f"mulf_{s}")(x, y), float(x * y))
                    assert same(getattr(ops, f"divf_{s}")(x, y), float(x / y)), (x, y)
                    if x != y:
                        assert same(getattr(ops, f"maximumf_{s}")(x, y), float(np.maximum(x, y)))
                        assert same(getattr(ops, f"minimumf_{s}")(x, y), float(np.minimum(x, y)))
                        assert same(getattr(ops, f"maxnumf_{s}")(x, y), float(np.fmax(x, y)))
                        assert same(getattr(ops, f"minnumf_{s}")(x, y), float(np.fmin(x, y)))
            assert same(ops.neg(a), -a)
    assert same(ops.maximumf_f64(-0.0, 0.0), 0.0)
    assert same(ops.minimumf_f64(0.0, -0.0), -0.0)
    assert ops.choose(1, 2.0, 3.0) == 2.0
    assert ops.choose(0, 2.0, 3.0) == 3.0


def test_casts(ops):
    assert ops.extsi_i8_i64(0xFF) == -1
    assert ops.extui_i8_i64(-1) == 255
    assert ops.extui_i1_i64(1) == 1
    assert ops.extsi_i1_i32(1) == -1
    assert ops.trunci_i64_i8(0x1FF) == -1
    assert ops.trunci_i32_i1(2) == 0
    assert ops.trunci_i32_i1(3) == 1
    assert ops.index_cast_i32_index(-5) == -5
    assert ops.index_cast_index_i16(65535) == -1
    assert ops.index_cast_i64_index(-7) == -7
    assert ops.sitofp_i64_f64(-3) == -3.0
    assert ops.uitofp_i64_f64(-1) == 2.0**64
    assert ops.sitofp_i8_f32(-128) == -128.0
    assert ops.sitofp_i1_f64(1) == -1.0
    assert ops.uitofp_i1_f64(1) == 1.0
    assert ops.extf_f32_f64(0.1) == float(np.float32(0.1))
    assert ops.truncf_f64_f32(0.1) == float(np.float32(0.1))
    assert ops.truncf_f64_f32(1e300) == INF
    assert ops.bitcast_i64_f64(struct.unpack("<q", struct.pack("<d", 2.5))[0]) == 2.5
    assert ops.bitcast_f64_i64(-0.0) == -(1 << 63)
    assert ops.bitcast_f32_i32(1.0) == 0x3F800000


def test_floats_to_integers_saturate(ops):
    assert [ops.fptosi_f64_i64(x) for x in (2.9, -2.9, 1e30, -1e30, INF, NAN)] == [
        2, -2, (1 << 63) - 1, -(1 << 63), (1 << 63) - 1, 0,
    ]  # fmt: skip
    assert [ops.fptosi_f64_i32(x) for x in (1e10, -1e10, NAN)] == [2**31 - 1, -(2**31), 0]
    assert [ops.fptosi_f32_i8(x) for x in (1e10, -1e10, -3.5)] == [127, -128, -3]
    assert [ops.fptoui_f64_i64(x) for x in (1e30, -1.0, NAN)] == [-1, 0, 0]
    assert ops.fptoui_f64_i8(300.0) == -1


def test_extended(ops):
    for a in samples(16):
        for b in samples(16):
            u, v = a % 65536, b % 65536
            a, b = signed(a, 16), signed(b, 16)
            assert ops.addui_extended(a, b) == (signed(u + v, 16), u + v > 65535)
            assert ops.mulsi_extended(a, b) == (signed(a * b, 16), signed(a * b >> 16, 16))
            assert ops.mului_extended(a, b) == (signed(u * v, 16), signed(u * v >> 16, 16))


def test_constants(ops):
    inf, nan, zero, tiny, tenth, small, true, least, byte = ops.constants()
    assert inf == INF
    assert nan != nan
    assert same(zero, -0.0)
    assert tiny == 5e-324
    assert tenth == float(np.float32(0.1))
    assert small == float(np.float32(1e-45))
    assert (true, least, byte) == (1, -(1 << 63), -1)


def test_division_by_constants(ops):
    for a in samples(64):
        a = signed(a, 64)
        want = (0, signed(-a, 64), a // 7, a - truncating(a, 7) * 7)
        assert ops.by_constants(a) == want


def test_fast_math_is_used_only_where_an_op_asks_for_it(program):
    text = """
    func.func @f(%a: f64, %b: f64) -> (f64, i1) attributes {mlirad.entry} {
      %0 = arith.addf %a, %b fastmath<reassoc,nnan> : f64
      %1 = arith.mulf %0, %b fastmath<fast> : f64
      %2 = math.sin %1 fastmath<afn> : f64
      %3 = arith.subf %2, %a : f64
      %4 = arith.cmpf olt, %3, %b : f64
      %5 = arith.negf %3 : f64
      return %5, %4 : f64, i1
    }"""
    compiled = program(text)
    assert compiled.f(0.0, 0.0) == (0.0, 0)
    lines = emit(compiled.module)
    assert "fadd nnan reassoc double" in lines or "fadd reassoc nnan double" in lines
    assert "call afn double @llvm.sin.f64" in lines
    assert "fsub double" in lines
    assert "fneg double" in lines


def test_overflow_flags_are_kept(program):
    text = """
    func.func @f(%a: i64) -> i64 attributes {mlirad.entry} {
      %0 = arith.addi %a, %a overflow<nsw> : i64
      %1 = arith.muli %0, %a : i64
      return %1 : i64
    }"""
    compiled = program(text)
    assert compiled.f(3) == 18
    assert "add nsw i64" in emit(compiled.module)
    assert "mul i64" in emit(compiled.module)


def test_products_and_sums_are_rounded_separately(program):
    text = """
    func.func @f(%a: f64, %b: f64) -> f64 attributes {mlirad.entry} {
      %0 = arith.mulf %a, %a : f64
      %1 = arith.addf %0, %b : f64
      return %1 : f64
    }"""
    x = 1 + 2.0**-30
    assert program(text).f(x, -(1 + 2.0**-29)) == 0.0
