"""
Compiles each op of `arith` and `math`, and each library function with a rule, to PTX.

Prints a line for each: `OP TYPE`, then `ok` or what the refusal says. Runs in a process of its
own, because code generation for an intrinsic without code ends the process.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, func, gpu, math, memref
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.builtin import IntegerType as Int
from xdsl.ir import Attribute, Block, Operation, Region

from mlirad.backends.nvptx import compile_ptx
from mlirad.errors import UnsupportedError
from mlirad.passes.derivatives.libm import LIBM_RULES
from tests.derivatives.test_partials import INTEGER_OPS

FLOATS, INTEGERS = (f64, f32), (i1, Int(8), Int(16), i32, i64, IndexType())
CAPABILITIES = ((7, 5), (10, 0))
Signature = tuple[tuple[Attribute, ...], tuple[Attribute, ...]]
PAIRS: dict[str, list[Signature]] = {
    "bitcast": [((f64,), (i64,)), ((i32,), (f32,))],
    "extf": [((f32,), (f64,))],
    "truncf": [((f64,), (f32,))],
    "extsi": [((a,), (i64,)) for a in INTEGERS[:4]],
    "extui": [((a,), (i64,)) for a in INTEGERS[:4]],
    "trunci": [((i64,), (a,)) for a in INTEGERS[:4]],
    "index_cast": [((a,), (IndexType(),)) for a in INTEGERS[:5]],
    "index_castui": [((a,), (IndexType(),)) for a in INTEGERS[:5]],
    "fptosi": [((f,), (i,)) for f in FLOATS for i in INTEGERS[:5]],
    "fptoui": [((f,), (i,)) for f in FLOATS for i in INTEGERS[:5]],
    "sitofp": [((i,), (f,)) for f in FLOATS for i in INTEGERS[:5]],
    "uitofp": [((i,), (f,)) for f in FLOATS for i in INTEGERS[:5]],
    "fpowi": [((f, i), (f,)) for f in FLOATS for i in (i32, i64)],
    "cmpf": [((f, f), (i1,)) for f in FLOATS],
    "cmpi": [((i, i), (i1,)) for i in INTEGERS],
    "select": [((i1, t, t), (t,)) for t in (*FLOATS, *INTEGERS)],
    "addui_extended": [((i, i), (i, i1)) for i in INTEGERS[:5]],
    "mulsi_extended": [((i, i), (i, i)) for i in INTEGERS[1:5]],
    "mului_extended": [((i, i), (i, i)) for i in INTEGERS[1:5]],
    "ldexp": [((f64, i32), (f64,))],
    "ldexpf": [((f32, i32), (f32,))],
}
TWO = {"fdim", "fmod", "hypot", "remainder"}


def signatures(name: str, operands: int) -> list[Signature]:
    short = name.split(".")[-1]
    types = INTEGERS if short in INTEGER_OPS else FLOATS
    return PAIRS.get(short) or [((t,) * operands, (t,)) for t in types]


def built(op: type[Operation], block: Block, types: Signature) -> Operation:
    properties: dict[str, Attribute] = {}
    if op in (arith.CmpfOp, arith.CmpiOp):
        properties["predicate"] = IntegerAttr(2, i64)
    return op.create(
        operands=block.args[: len(types[0])], result_types=types[1], properties=properties
    )


def module_of(types: Signature, name: str, op: type[Operation] | None) -> ModuleOp:
    """A kernel that computes one op of its arguments and stores the results."""
    cells = [MemRefType(t, []) for t in types[1]]
    block = Block(arg_types=[*types[0], *cells])
    inner: list[Operation] = []
    if op is None:
        declaration = func.FuncOp.external(name, list(types[0]), list(types[1]))
        declaration.attributes["mlirad.pure"] = UnitAttr()
        inner.append(declaration)
        computed: Operation = func.CallOp(name, block.args[: len(types[0])], types[1])
    else:
        computed = built(op, block, types)
    block.add_op(computed)
    for value, cell in zip(computed.results, block.args[len(types[0]) :], strict=True):
        block.add_op(memref.StoreOp.get(value, cell, []))
    block.add_op(gpu.ReturnOp([]))
    kernel = gpu.FuncOp("k", FunctionType.from_lists(block.arg_types, []), Region(block), True)
    module = ModuleOp([gpu.ModuleOp(StringAttr("kernels"), Region(Block([*inner, kernel])))])
    module.verify()
    return module


def everything() -> Iterator[tuple[str, type[Operation] | None, Signature]]:
    for op in (*arith.Arith.operations, *math.Math.operations):
        if op is arith.ConstantOp:
            continue
        count = len(op.get_irdl_definition().operands)
        for types in signatures(op.name, count):
            yield op.name, op, types
    for name in LIBM_RULES:
        single = name.endswith("f") and name != "erf"
        count = 2 if name in TWO or (single and name[:-1] in TWO) else 1
        wanted = f32 if name.removesuffix("f") in LIBM_RULES and single else f64
        for types in PAIRS.get(name) or [((wanted,) * count, (wanted,))]:
            yield name, None, types


def main() -> None:
    for name, op, types in everything():
        label = f"{name} {'->'.join(','.join(map(str, t)) for t in types)}"
        try:
            for cc in CAPABILITIES:
                compile_ptx(module_of(types, name, op), cc)
        except UnsupportedError as error:
            print(label, "refused:", str(error).splitlines()[0], flush=True)
        else:
            print(label, "ok", flush=True)


if __name__ == "__main__":
    main()
