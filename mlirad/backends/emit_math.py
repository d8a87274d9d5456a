"""The ops of `math` on scalars: calls of intrinsics or library functions that the target names."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import Operation

from mlirad.backends.emit_arith import bits, flags, short
from mlirad.backends.writer import FunctionWriter, Handler, unsupported

# 0 to a negative power gives 0: an integer has no infinity.
POWER = """
define internal {type} @mlirad_ipowi_{type}({type} %base, {type} %exponent) #1 {{
entry:
  %negative = icmp slt {type} %exponent, 0
  br i1 %negative, label %inverse, label %loop
inverse:
  %one = icmp eq {type} %base, 1
  %minus = icmp eq {type} %base, -1
  %odd = and {type} %exponent, 1
  %is_odd = icmp ne {type} %odd, 0
  %sign = select i1 %is_odd, {type} -1, {type} 1
  %unit = select i1 %minus, {type} %sign, {type} 0
  %result = select i1 %one, {type} 1, {type} %unit
  ret {type} %result
loop:
  %power = phi {type} [ 1, %entry ], [ %next_power, %body ]
  %square = phi {type} [ %base, %entry ], [ %next_square, %body ]
  %left = phi {type} [ %exponent, %entry ], [ %next_left, %body ]
  %more = icmp ne {type} %left, 0
  br i1 %more, label %body, label %done
body:
  %bit = and {type} %left, 1
  %set = icmp ne {type} %bit, 0
  %factor = select i1 %set, {type} %square, {type} 1
  %next_power = mul {type} %power, %factor
  %next_square = mul {type} %square, %square
  %next_left = lshr {type} %left, 1
  br label %loop
done:
  ret {type} %power
}}"""


def call(w: FunctionWriter, op: Operation, name: str, type: str, *operands: object) -> str:
    """The call of the function that the target has for `name`."""
    symbol = w.module.target.maths.get((name, type))
    if symbol is None:
        raise unsupported(op, f"{op.name} on {short(type)} has no function on this target")
    group = w.module.pure_function(symbol, type, [type] * len(operands), op)
    arguments = ", ".join(f"{type} {operand}" for operand in operands)
    return f"call{flags(op)} {type} @{symbol}({arguments}){group}"


def function(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    type = w.scalar(result, op)
    w.define(result, call(w, op, op.name, type, *(w.values[v] for v in op.operands)))


def reciprocal_root(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    type = w.scalar(result, op)
    root = w.let(call(w, op, "math.sqrt", type, w.values[op.operands[0]]))
    w.define(result, f"fdiv{flags(op)} {type} 1.0, {root}")


def float_to_integer_power(w: FunctionWriter, op: Operation) -> None:
    """As `pow`: repeated multiplication would lose digits."""
    base, exponent = op.operands
    type, integer = w.scalar(base, op), w.scalar(exponent, op)
    power = w.let(f"sitofp {integer} {w.values[exponent]} to {type}")
    w.define(op.results[0], call(w, op, "math.powf", type, w.values[base], power))


def integer_power(w: FunctionWriter, op: Operation) -> None:
    base, exponent = op.operands
    type = w.scalar(base, op)
    if bits(type) == 1:
        raise unsupported(op, "integer powers of bool are not supported")
    symbol = f"mlirad_ipowi_{type}"
    w.module.declare(symbol, POWER.format(type=type))
    arguments = f"{type} {w.values[base]}, {type} {w.values[exponent]}"
    w.define(op.results[0], f"call {type} @{symbol}({arguments})")


def integer_intrinsic(name: str, flag: bool) -> Handler:
    """An intrinsic of one integer; `flag` if it takes "is poison for …" (never)."""

    def handler(w: FunctionWriter, op: Operation) -> None:
        result = op.results[0]
        type = w.scalar(result, op)
        symbol = f"llvm.{name}.{type}"
        w.module.pure_function(symbol, type, [type, "i1"] if flag else [type], op)
        last = ", i1 false" if flag else ""
        w.define(result, f"call {type} @{symbol}({type} {w.values[op.operands[0]]}{last})")

    return handler


FUNCTIONS: tuple[type[Operation], ...] = (
    math.AbsFOp,
    math.AcosOp,
    math.AcoshOp,
    math.AsinOp,
    math.AsinhOp,
    math.Atan2Op,
    math.AtanOp,
    math.AtanhOp,
    math.CbrtOp,
    math.CeilOp,
    math.CopySignOp,
    math.CosOp,
    math.CoshOp,
    math.ErfOp,
    math.Exp2Op,
    math.ExpM1Op,
    math.ExpOp,
    math.FloorOp,
    math.FmaOp,
    math.Log10Op,
    math.Log1pOp,
    math.Log2Op,
    math.LogOp,
    math.PowFOp,
    math.RoundEvenOp,
    math.RoundOp,
    math.SinOp,
    math.SinhOp,
    math.SqrtOp,
    math.TanOp,
    math.TanhOp,
    math.TruncOp,
)
HANDLERS: dict[type[Operation], Handler] = {
    **dict.fromkeys(FUNCTIONS, function),
    math.RsqrtOp: reciprocal_root,
    math.FPowIOp: float_to_integer_power,
    math.IPowIOp: integer_power,
    math.AbsIOp: integer_intrinsic("abs", True),
    math.CountLeadingZerosOp: integer_intrinsic("ctlz", True),
    math.CountTrailingZerosOp: integer_intrinsic("cttz", True),
    math.CtPopOp: integer_intrinsic("ctpop", False),
}
