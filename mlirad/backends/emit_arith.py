"""
The ops of `arith` on scalars.

Every op is total: division by zero gives 0, INT_MIN / -1 wraps, shifts by the width or more
give 0 (or the sign), conversions to integers saturate and take NaN to 0.
"""

from __future__ import annotations

import ctypes
import struct

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation

from mlirad.backends.descriptors import Descriptor, is_memref
from mlirad.backends.writer import FunctionWriter, Handler, unsupported

ORDER = (
    "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
)  # as upstream numbers them
INTEGER_ORDER = "eq ne slt sle sgt sge ult ule ugt uge".split()


def bits(llvm: str) -> int:
    """The width of an integer type."""
    return int(llvm[1:])


def short(llvm: str) -> str:
    """A type as the names of intrinsics spell it."""
    return {"double": "f64", "float": "f32"}.get(llvm, llvm)


def float_literal(value: float, llvm: str) -> str:
    """A float as LLVM reads it back exactly (also NaN, infinities and -0)."""
    if llvm == "float":
        value = ctypes.c_float(value).value
    return "0x" + struct.pack(">d", value).hex().upper()


def flags(op: Operation) -> str:
    """The fast-math flags of `op`, none by default."""
    attribute = op.properties.get("fastmath")
    if not isinstance(attribute, arith.FastMathFlagsAttr) or not attribute.data:
        return ""
    return "".join(f" {flag.value}" for flag in sorted(attribute.data))


def constant(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp)
    result, value = op.results[0], op.value
    if isinstance(value, FloatAttr):
        text = float_literal(value.value.data, w.scalar(result, op))
    elif isinstance(value, IntegerAttr):
        number = value.value.data
        text = str(number & 1) if w.scalar(result, op) == "i1" else str(number)
    else:
        raise unsupported(op, f"a constant of type {result.type} is not supported")
    w.values[result] = text


def binary(instruction: str) -> Handler:
    """`result = instruction lhs, rhs`."""

    def handler(w: FunctionWriter, op: Operation) -> None:
        (lhs, rhs), result, values = op.operands, op.results[0], w.values
        type = w.scalar(result, op)
        w.define(result, f"{instruction} {type} {values[lhs]}, {values[rhs]}")

    return handler


def float_binary(instruction: str) -> Handler:
    def handler(w: FunctionWriter, op: Operation) -> None:
        (lhs, rhs), result, values = op.operands, op.results[0], w.values
        type = w.scalar(result, op)
        w.define(result, f"{instruction}{flags(op)} {type} {values[lhs]}, {values[rhs]}")

    return handler


def overflowing(instruction: str) -> Handler:
    """An instruction with `nsw` and `nuw`."""

    def handler(w: FunctionWriter, op: Operation) -> None:
        (lhs, rhs), result, values = op.operands, op.results[0], w.values
        attribute = op.properties.get("overflowFlags")
        marks = ""
        if isinstance(attribute, arith.IntegerOverflowAttr) and attribute.data:
            marks = "".join(f" {flag.value}" for flag in sorted(attribute.data))
        type = w.scalar(result, op)
        w.define(result, f"{instruction}{marks} {type} {values[lhs]}, {values[rhs]}")

    return handler


def intrinsic(name: str) -> Handler:
    """`result = llvm.name(operands…)`, all of one type."""

    def handler(w: FunctionWriter, op: Operation) -> None:
        result = op.results[0]
        type = w.scalar(result, op)
        symbol = f"llvm.{name}.{short(type)}"
        w.module.pure_function(symbol, type, [type] * len(op.operands), op)
        arguments = ", ".join(f"{type} {w.values[v]}" for v in op.operands)
        w.define(result, f"call{flags(op)} {type} @{symbol}({arguments})")

    return handler


def cast(instruction: str) -> Handler:
    def handler(w: FunctionWriter, op: Operation) -> None:
        source, result = op.operands[0], op.results[0]
        before, after = w.scalar(source, op), w.scalar(result, op)
        w.define(result, f"{instruction} {before} {w.values[source]} to {after}")

    return handler


def saturating(name: str) -> Handler:
    def handler(w: FunctionWriter, op: Operation) -> None:
        source, result = op.operands[0], op.results[0]
        before, after = w.scalar(source, op), w.scalar(result, op)
        symbol = f"llvm.{name}.sat.{after}.{short(before)}"
        w.module.pure_function(symbol, after, [before], op)
        w.define(result, f"call {after} @{symbol}({before} {w.values[source]})")

    return handler


def index_cast(w: FunctionWriter, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    before, after = w.scalar(source, op), w.scalar(result, op)
    if before == after:
        w.values[result] = w.values[source]
        return
    instruction = "sext" if bits(before) < bits(after) else "trunc"
    w.define(result, f"{instruction} {before} {w.values[source]} to {after}")


def bitcast(w: FunctionWriter, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    before, after = w.scalar(source, op), w.scalar(result, op)
    w.define(result, f"bitcast {before} {w.values[source]} to {after}")


def compare_integers(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, arith.CmpiOp)
    lhs, rhs = op.operands
    order = INTEGER_ORDER[op.predicate.value.data]
    type = w.scalar(lhs, op)
    w.define(op.results[0], f"icmp {order} {type} {w.values[lhs]}, {w.values[rhs]}")


def compare_floats(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, arith.CmpfOp)
    lhs, rhs = op.operands
    order = ORDER[op.predicate.value.data]
    type = w.scalar(lhs, op)
    text = f"fcmp{flags(op)} {order} {type} {w.values[lhs]}, {w.values[rhs]}"
    w.define(op.results[0], text)


def select(w: FunctionWriter, op: Operation) -> None:
    condition, lhs, rhs = op.operands
    result, test = op.results[0], w.values[condition]
    if is_memref(result.type):
        parts = [
            w.let(f"select i1 {test}, {type} {a}, {type} {b}")
            for type, a, b in zip(
                w.module.layout(result.type, op).components,
                w.flatten([lhs]),
                w.flatten([rhs]),
                strict=True,
            )
        ]
        w.bind([result], parts, op)
        return
    type = w.scalar(result, op)
    w.define(result, f"select i1 {test}, {type} {w.values[lhs]}, {type} {w.values[rhs]}")


def literal(operand: str | Descriptor) -> int | None:
    """The integer that `operand` is, if it is a constant."""
    assert isinstance(operand, str)
    return int(operand) if operand[0] in "-0123456789" else None


def _guarded(w: FunctionWriter, op: Operation, signed: bool) -> tuple[str, str, str, str, str]:
    """(type, dividend, a divisor that never traps, "is zero", "is -1"); "" where impossible."""
    lhs, rhs = op.operands
    type, a, b = w.scalar(lhs, op), w.values[lhs], w.values[rhs]
    assert isinstance(a, str)
    assert isinstance(b, str)
    known = literal(b)
    if known is not None and known % 2 ** bits(type) != 0:
        if not signed or (known + 1) % 2 ** bits(type) != 0:
            return type, a, b, "", ""
    zero = w.let(f"icmp eq {type} {b}, 0")
    minus, bad = "", zero
    if signed:
        minus = w.let(f"icmp eq {type} {b}, -1")
        bad = w.let(f"or i1 {zero}, {minus}")
    safe = w.let(f"select i1 {bad}, {type} 1, {type} {b}")
    return type, a, safe, zero, minus


def division(instruction: str, rounding: str = "") -> Handler:
    """Division; `rounding` is "floor" or "ceil", towards zero if empty."""
    signed = instruction == "sdiv"
    remainder = "srem" if signed else "urem"

    def handler(w: FunctionWriter, op: Operation) -> None:
        type, a, safe, zero, minus = _guarded(w, op, signed)
        quotient = w.let(f"{instruction} {type} {a}, {safe}")
        if rounding:
            rest = w.let(f"{remainder} {type} {a}, {safe}")
            fix = w.let(f"icmp ne {type} {rest}, 0")
            if signed:
                mixed = w.let(f"xor {type} {a}, {safe}")
                order = "slt" if rounding == "floor" else "sge"
                wrong = w.let(f"icmp {order} {type} {mixed}, 0")
                fix = w.let(f"and i1 {fix}, {wrong}")
            step = w.let(f"zext i1 {fix} to {type}") if type != "i1" else fix
            change = "sub" if rounding == "floor" else "add"
            quotient = w.let(f"{change} {type} {quotient}, {step}")
        if minus:
            negated = w.let(f"sub {type} 0, {a}")
            quotient = w.let(f"select i1 {minus}, {type} {negated}, {type} {quotient}")
        if zero:
            quotient = w.let(f"select i1 {zero}, {type} 0, {type} {quotient}")
        w.values[op.results[0]] = quotient

    return handler


def remainder(instruction: str) -> Handler:
    """Remainder; 0 for the divisors 0 and -1, as that of 1 is."""

    def handler(w: FunctionWriter, op: Operation) -> None:
        type, a, safe, _, _ = _guarded(w, op, instruction == "srem")
        w.define(op.results[0], f"{instruction} {type} {a}, {safe}")

    return handler


def shift(instruction: str) -> Handler:
    def handler(w: FunctionWriter, op: Operation) -> None:
        lhs, rhs = op.operands
        type, a, count = w.scalar(lhs, op), w.values[lhs], w.values[rhs]
        width, result = bits(type), op.results[0]
        known = literal(count)
        if known is not None and 0 <= known < width:
            w.define(result, f"{instruction} {type} {a}, {count}")
        elif instruction == "ashr":
            big = w.let(f"icmp uge {type} {count}, {width}") if width > 1 else "true"
            most = w.let(f"select i1 {big}, {type} {width - 1}, {type} {count}")
            w.define(result, f"ashr {type} {a}, {most}")
        elif width == 1:
            none = w.let(f"xor i1 {count}, true")
            w.define(result, f"and i1 {a}, {none}")
        else:
            small = w.let(f"icmp ult {type} {count}, {width}")
            shifted = w.let(f"{instruction} {type} {a}, {count}")
            w.define(result, f"select i1 {small}, {type} {shifted}, {type} 0")

    return handler


def add_extended(w: FunctionWriter, op: Operation) -> None:
    lhs, rhs = op.operands
    type = w.scalar(lhs, op)
    total = w.let(f"add {type} {w.values[lhs]}, {w.values[rhs]}")
    w.values[op.results[0]] = total
    w.define(op.results[1], f"icmp ult {type} {total}, {w.values[lhs]}")


def multiply_extended(extend: str) -> Handler:
    def handler(w: FunctionWriter, op: Operation) -> None:
        lhs, rhs = op.operands
        type = w.scalar(lhs, op)
        width = bits(type)
        wide = f"i{2 * width}"
        a = w.let(f"{extend} {type} {w.values[lhs]} to {wide}")
        b = w.let(f"{extend} {type} {w.values[rhs]} to {wide}")
        product = w.let(f"mul {wide} {a}, {b}")
        w.define(op.results[0], f"trunc {wide} {product} to {type}")
        high = w.let(f"lshr {wide} {product}, {width}")
        w.define(op.results[1], f"trunc {wide} {high} to {type}")

    return handler


def negate(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    type = w.scalar(result, op)
    w.define(result, f"fneg{flags(op)} {type} {w.values[op.operands[0]]}")


HANDLERS: dict[type[Operation], Handler] = {
    arith.ConstantOp: constant,
    arith.AddiOp: overflowing("add"),
    arith.SubiOp: overflowing("sub"),
    arith.MuliOp: overflowing("mul"),
    arith.AddUIExtendedOp: add_extended,
    arith.MulSIExtendedOp: multiply_extended("sext"),
    arith.MulUIExtendedOp: multiply_extended("zext"),
    arith.AndIOp: binary("and"),
    arith.OrIOp: binary("or"),
    arith.XOrIOp: binary("xor"),
    arith.DivSIOp: division("sdiv"),
    arith.DivUIOp: division("udiv"),
    arith.FloorDivSIOp: division("sdiv", "floor"),
    arith.CeilDivSIOp: division("sdiv", "ceil"),
    arith.CeilDivUIOp: division("udiv", "ceil"),
    arith.RemSIOp: remainder("srem"),
    arith.RemUIOp: remainder("urem"),
    arith.ShLIOp: shift("shl"),
    arith.ShRSIOp: shift("ashr"),
    arith.ShRUIOp: shift("lshr"),
    arith.MaxSIOp: intrinsic("smax"),
    arith.MinSIOp: intrinsic("smin"),
    arith.MaxUIOp: intrinsic("umax"),
    arith.MinUIOp: intrinsic("umin"),
    arith.CmpiOp: compare_integers,
    arith.CmpfOp: compare_floats,
    arith.SelectOp: select,
    arith.AddfOp: float_binary("fadd"),
    arith.SubfOp: float_binary("fsub"),
    arith.MulfOp: float_binary("fmul"),
    arith.DivfOp: float_binary("fdiv"),
    arith.NegfOp: negate,
    arith.MaximumfOp: intrinsic("maximum"),
    arith.MinimumfOp: intrinsic("minimum"),
    arith.MaxnumfOp: intrinsic("maxnum"),
    arith.MinnumfOp: intrinsic("minnum"),
    arith.SIToFPOp: cast("sitofp"),
    arith.UIToFPOp: cast("uitofp"),
    arith.FPToSIOp: saturating("fptosi"),
    arith.FPToUIOp: saturating("fptoui"),
    arith.ExtFOp: cast("fpext"),
    arith.TruncFOp: cast("fptrunc"),
    arith.ExtSIOp: cast("sext"),
    arith.ExtUIOp: cast("zext"),
    arith.TruncIOp: cast("trunc"),
    arith.IndexCastOp: index_cast,
    arith.BitcastOp: bitcast,
}
