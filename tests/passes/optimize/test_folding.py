"""Each integer fold against an evaluation of the same op, at the values where they go wrong."""

from __future__ import annotations

import itertools

import pytest
from xdsl.dialects import arith

from mlirad.passes.optimize.simplify import SimplifyPass
from tests.passes.interpreter import parse, run

OPS = ["addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi"]
OPS += ["divsi", "remsi", "floordivsi", "divui", "remui", "shli"]
TYPES = {"i8": 8, "i64": 64, "index": 64}
PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]


def corners(width: int) -> list[int]:
    return [0, 1, -1, 2, -3, 7, 9, 2 ** (width - 1) - 1, -(2 ** (width - 1))]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("op", OPS)
def test_folding_two_constants_computes_what_the_op_does(op, type_):
    lines, results = [], []
    for i, (a, b) in enumerate(itertools.product(corners(TYPES[type_]), repeat=2)):
        lines += [f"%a{i} = arith.constant {a} : {type_}", f"%b{i} = arith.constant {b} : {type_}"]
        lines += [f"%r{i} = arith.{op} %a{i}, %b{i} : {type_}"]
        results.append(f"%r{i}")
    expect_folded(lines, results, type_, arith.ConstantOp)


@pytest.mark.parametrize("predicate", PREDICATES)
def test_folding_a_comparison_computes_what_the_op_does(predicate):
    lines, results = [], []
    for i, (a, b) in enumerate(itertools.product(corners(8), repeat=2)):
        lines += [f"%a{i} = arith.constant {a} : i8", f"%b{i} = arith.constant {b} : i8"]
        lines += [f"%r{i} = arith.cmpi {predicate}, %a{i}, %b{i} : i8"]
        results.append(f"%r{i}")
    expect_folded(lines, results, "i1", arith.ConstantOp)


def expect_folded(lines: list[str], results: list[str], type_: str, kind: type) -> None:
    types = ", ".join([type_] * len(results))
    body = "\n".join(lines)
    text = f"func.func @f() -> ({types}) {{\n{body}\nfunc.return {', '.join(results)} : {types}\n}}"
    module = parse(text)
    before = run(module, "f")
    SimplifyPass().rewrite(module)
    module.verify()
    assert run(module, "f") == before
    (function,) = module.ops
    assert all(isinstance(v.owner, kind) for v in function.body.block.last_op.operands)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("value", corners(8))
def test_units_and_zeros_do_not_change_the_result(op, value):
    text = "func.func @f(%x : i8) -> (i8, i8, i8) {{\n%c = arith.constant {value} : i8\n"
    text += "%l = arith.{op} %c, %x : i8\n%r = arith.{op} %x, %c : i8\n"
    text += "%s = arith.{op} %x, %x : i8\nfunc.return %l, %r, %s : i8, i8, i8\n}}"
    module = parse(text.format(op=op, value=value))
    before = [run(module, "f", x) for x in corners(8)]
    SimplifyPass().rewrite(module)
    assert [run(module, "f", x) for x in corners(8)] == before


@pytest.mark.parametrize("text", ["mulf %x, %zero", "addf %x, %zero", "subf %x, %x", "divf %x, %x"])
def test_float_arithmetic_stays_as_written(text):
    body = f"%zero = arith.constant 0.0 : f64\n%r = arith.{text} : f64"
    module = parse(f"func.func @f(%x : f64) -> f64 {{\n{body}\nfunc.return %r : f64\n}}")
    SimplifyPass().rewrite(module)
    assert f"arith.{text}" in str(module)
