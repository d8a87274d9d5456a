"""
Runs IR in Python, op by op: what the optimisation passes must not change.

Shares nothing with the passes and the back ends: integers are numpy scalars of their width.
Threads of a launch run one after the other.
"""

from __future__ import annotations

import itertools
import math as libm
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, func, gpu, math, memref, scf
from xdsl.dialects.builtin import Builtin, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import Parser

from mlirad.dialects.autodiff import Autodiff

Environment = dict[SSAValue, Any]

DIALECTS = (
    *(Builtin, func.Func, arith.Arith, math.Math, scf.Scf, memref.MemRef, gpu.GPU),
    Autodiff,
)


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def run(module: ModuleOp, name: str, *arguments: Any) -> tuple[Any, ...]:
    """Calls a top-level function; arrays are changed in place."""
    with np.errstate(all="ignore"):
        return Interpreter(module).call(module.body.block, name, arguments)


def as_type(value: Any, type: Attribute) -> Any:
    kind = {
        **{"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64},
        **{"index": np.int64, "f32": np.float32, "f64": np.float64},
    }[str(type)]
    if issubclass(kind, np.signedinteger):
        return np.array(int(value) & (1 << 64) - 1, np.uint64).astype(kind)[()]
    return kind(value)


def unsigned(value: Any) -> int:
    return int(value) & (1 << 8 * value.dtype.itemsize) - 1 if value.dtype != bool else int(value)


def quotient(a: Any, b: Any) -> int:
    if b == 0:
        return 0
    q = abs(int(a)) // abs(int(b))
    return q if (a < 0) == (b < 0) else -q


BINARY = {
    "addi": lambda a, b: int(a) + int(b),
    "subi": lambda a, b: int(a) - int(b),
    "muli": lambda a, b: int(a) * int(b),
    "andi": lambda a, b: int(a) & int(b),
    "ori": lambda a, b: int(a) | int(b),
    "xori": lambda a, b: int(a) ^ int(b),
    "minsi": min,
    "maxsi": max,
    "divsi": quotient,
    "remsi": lambda a, b: int(a) - quotient(a, b) * int(b) if b else 0,
    "floordivsi": lambda a, b: libm.floor(int(a) // int(b)) if b else 0,
    "divui": lambda a, b: unsigned(a) // unsigned(b) if b else 0,
    "remui": lambda a, b: unsigned(a) % unsigned(b) if b else 0,
    "shli": lambda a, b: int(a) << int(b) if 0 <= b < 8 * a.dtype.itemsize else 0,
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
}
COMPARE = [
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
    lambda a, b: unsigned(a) < unsigned(b),
    lambda a, b: unsigned(a) <= unsigned(b),
    lambda a, b: unsigned(a) > unsigned(b),
    lambda a, b: unsigned(a) >= unsigned(b),
]
FLOAT_COMPARE = {1: 0, 2: 4, 3: 5, 4: 2, 5: 3}
"""Ordered float predicates (oeq ogt oge olt ole) as rows of `COMPARE`."""
FUNCTIONS = {"math.sin": np.sin, "math.cos": np.cos, "math.exp": np.exp, "arith.negf": np.negative}


class Interpreter:
    def __init__(self, module: ModuleOp):
        self.module = module
        self.ids: dict[tuple[str, str], int] = {}

    def call(self, table: Block, name: str, arguments: Any) -> tuple[Any, ...]:
        callee = next(
            op
            for op in table.ops
            if isinstance(op, func.FuncOp | gpu.FuncOp) and op.sym_name.data == name
        )
        if not callee.body.blocks:
            return (getattr(libm, name)(*arguments),)
        block = callee.body.block
        types = block.arg_types
        values = [
            a if isinstance(t, MemRefType) else as_type(a, t)
            for a, t in zip(arguments, types, strict=True)
        ]
        return self.block(block, dict(zip(block.args, values, strict=True)))

    def block(self, block: Block, env: Environment) -> tuple[Any, ...]:
        """Runs a block; returns the operands of its terminator."""
        for op in block.ops:
            if op is block.last_op and op.name.split(".")[1] in ("return", "yield", "condition"):
                return tuple(env[v] for v in op.operands)
            results = self.execute(op, [env[v] for v in op.operands], env)
            for result, value in zip(op.results, results, strict=True):
                is_memory = isinstance(result.type, MemRefType)
                env[result] = value if is_memory else as_type(value, result.type)
        return ()

    def inner(self, block: Block, env: Environment, *arguments: Any) -> tuple[Any, ...]:
        return self.block(block, env | dict(zip(block.args, arguments, strict=True)))

    def execute(self, op: Operation, x: list[Any], env: Environment) -> tuple[Any, ...]:
        short = op.name.split(".")[1]
        match op:
            case arith.ConstantOp():
                return (op.properties["value"].value.data,)  # type: ignore[attr-defined]
            case arith.CmpiOp():
                return (COMPARE[op.predicate.value.data](*x),)
            case arith.CmpfOp():
                return (COMPARE[FLOAT_COMPARE[op.predicate.value.data]](*x),)
            case arith.SelectOp():
                return (x[1] if x[0] else x[2],)
            case arith.ExtUIOp():
                return (unsigned(x[0]),)
            case (
                arith.FPToSIOp()
                | arith.IndexCastOp()
                | arith.TruncIOp()
                | arith.ExtSIOp()
                | arith.SIToFPOp()
            ):
                return (-int(x[0]) if x[0].dtype == bool and short != "trunci" else x[0],)
            case scf.IfOp():
                region = op.true_region if x[0] else op.false_region
                return self.block(region.block, dict(env)) if region.blocks else ()
            case scf.ForOp():
                carried = tuple(x[3:])
                for i in range(int(x[0]), int(x[1]), int(x[2])):
                    carried = self.inner(op.body.block, env, np.int64(i), *carried)
                return carried
            case scf.WhileOp():
                carried = tuple(x)
                while True:
                    go_on, *carried = self.inner(op.before_region.block, env, *carried)
                    if not go_on:
                        return tuple(carried)
                    carried = self.inner(op.after_region.block, env, *carried)
            case memref.LoadOp():
                return (x[0][tuple(map(int, x[1:]))],)
            case memref.StoreOp():
                x[1][tuple(map(int, x[2:]))] = x[0]
                return ()
            case memref.AtomicRMWOp():
                at = tuple(map(int, x[2:]))
                old = x[1][at].copy()
                x[1][at] += x[0]
                return (old,)
            case memref.DimOp():
                return (x[0].shape[int(x[1])],)
            case memref.AllocOp() | memref.AllocaOp():
                sizes = iter(map(int, x))
                shape = [next(sizes) if n < 0 else n for n in op.memref.type.get_shape()]
                return (np.zeros(shape, type(as_type(0, op.memref.type.get_element_type()))),)
            case memref.DeallocOp():
                return ()
            case func.CallOp():
                table = op.parent
                while table is not None and not isinstance(
                    table.parent_op(), ModuleOp | gpu.ModuleOp
                ):
                    above = table.parent_op()
                    table = above.parent if above is not None else None
                assert table is not None
                return self.call(table, op.callee.root_reference.data, x)
            case gpu.LaunchFuncOp():
                self.launch(op, x)
                return ()
            case _ if op.name.startswith("gpu."):
                axis = str(op.properties["dimension"].data)  # type: ignore[attr-defined]
                return (self.ids[short, axis],)
            case _ if op.name in FUNCTIONS:
                return (FUNCTIONS[op.name](x[0]),)
            case _:
                return (BINARY[short](*x),)

    def launch(self, op: gpu.LaunchFuncOp, x: list[Any]) -> None:
        sizes = [int(n) for n in x[:6]]
        name = op.kernel.root_reference.data
        table = next(
            inner.body.block
            for inner in self.module.body.block.ops
            if isinstance(inner, gpu.ModuleOp) and inner.sym_name.data == name
        )
        kernel = op.kernel.nested_references.data[-1].data
        kinds = [(kind, axis) for kind in ("grid_dim", "block_dim") for axis in "xyz"]
        self.ids |= dict(zip(kinds, sizes, strict=True))
        for point in itertools.product(*(range(n) for n in reversed(sizes))):
            tz, ty, tx, bz, by, bx = point
            ids = zip("xyz", (bx, by, bz), (tx, ty, tz), strict=True)
            for axis, block, thread in ids:
                self.ids |= {("block_id", axis): block, ("thread_id", axis): thread}
            self.call(table, kernel, x[6:])
