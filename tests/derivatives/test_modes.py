"""What the rules build: values, transposes, strong zeros, locations and flags."""

import math
import random
from collections.abc import Sequence

import pytest
from xdsl.builder import Builder
from xdsl.dialects import arith, func
from xdsl.dialects import math as math_dialect
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f32,
    f64,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.passes.derivatives.formula import evaluate
from mlirad.passes.derivatives.rule import INACTIVE, Rule, ScalarRule, rule
from mlirad.passes.derivatives.table import SCALAR_RULES, find_rule
from tests.derivatives.evaluator import run
from tests.derivatives.primals import PRIMALS

HERE = FileLineColLoc(StringAttr("kernel.py"), IntAttr(3), IntAttr(9))
CLASSES = {op.name: op for op in SCALAR_RULES}
CASTS = {"arith.extf": (f32, f64), "arith.truncf": (f64, f32)}


class Bench:
    """One op over fresh arguments, and room for the ops its rule builds."""

    def __init__(self, name: str, properties: dict[str, Attribute] | None = None):
        if name in CASTS:
            types, result = [CASTS[name][0]], CASTS[name][1]
        elif name == "arith.select":
            types, result = [i1, f64, f64], f64
        else:
            domain = PRIMALS[name].domain
            types, result = [i32 if isinstance(low, int) else f64 for low, _ in domain], f64
        self.block = Block(arg_types=[*types, *types, result, result])
        self.args = self.block.args[: len(types)]
        self.tangents = self.block.args[len(types) : 2 * len(types)]
        self.result, self.cotangent = self.block.args[2 * len(types) :]
        self.op = self.create(name, types, result, properties or {})
        self.op.location = HERE
        end = func.ReturnOp()
        self.block.add_ops([self.op, end])
        self.module = ModuleOp(
            [
                func.FuncOp.external(
                    name.replace(".", "_") if "." in name else name, types, [result]
                ),
                func.FuncOp("f", (self.block.arg_types, []), Region(self.block)),
            ]
        )
        next(iter(self.module.ops)).attributes["mlirad.pure"] = UnitAttr()
        self.builder = Builder(InsertPoint.before(end))

    def create(
        self,
        name: str,
        types: Sequence[Attribute],
        result: Attribute,
        properties: dict[str, Attribute],
    ) -> Operation:
        if name not in CLASSES:
            return func.CallOp(name, self.args, [result])
        return CLASSES[name].create(
            operands=self.args, result_types=[result], properties=properties
        )

    @property
    def rule(self) -> Rule:
        found = find_rule(self.op)
        assert found is not None
        return found

    @property
    def derived(self) -> list[Operation]:
        return list(self.block.ops)[1:-1]

    def pushforward(self, **options: bool):
        tangents = [t if t.type in (f32, f64) else None for t in self.tangents]
        return self.rule.pushforward(self.op, tangents, self.builder, **options)

    def pullback(self, active: Sequence[bool] | None = None, **options: bool):
        """Supplies just the primal values that the rule asked for."""
        read = self.rule.uses(self.op, active)
        operands = [o if o in read else None for o in self.op.operands]
        result = self.result if self.op.results[0] in read else None
        return self.rule.pullback(
            self.op, self.cotangent, operands, result, self.builder, active=active, **options
        )

    def values(
        self, point: Sequence[float], result: float, tangents: Sequence[float], cotangent: float
    ) -> dict[SSAValue, float]:
        """What everything built comes to."""
        known: dict[SSAValue, float] = dict(zip(self.args, point, strict=True))
        known |= dict(zip(self.tangents, tangents, strict=True))
        known |= {self.op.results[0]: result, self.result: result, self.cotangent: cotangent}
        run(self.derived, known)
        return known


def draw(name: str, seed: int) -> tuple[list[float], float]:
    rng = random.Random(seed)
    if name == "arith.select":
        point = [seed % 2, rng.uniform(-1, 1), rng.uniform(-1, 1)]
        return point, point[1] if point[0] else point[2]
    if name in CASTS:
        return [0.5], 0.5
    domain = PRIMALS[name].domain
    point = [rng.randint(*d) if isinstance(d[0], int) else rng.uniform(*d) for d in domain]
    return point, float(PRIMALS[name].compute(*point))


EVERY = [*PRIMALS, *CASTS, "arith.select"]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("strong_zero", [False, True])
def test_pullback_is_the_transpose_of_pushforward(name: str, strong_zero: bool):
    for seed in range(4):
        bench = Bench(name)
        tangent = bench.pushforward(strong_zero=strong_zero)
        cotangents = bench.pullback(strong_zero=strong_zero)
        point, result = draw(name, seed)
        tangents = [0.25 + 0.5 * i for i in range(len(point))]
        known = bench.values(point, result, tangents, 0.75)
        forward = known[tangent] if tangent else 0.0
        pairs = zip(cotangents, tangents, strict=True)
        reverse = sum(known[c] * t for c, t in pairs if c is not None)
        assert forward * 0.75 == pytest.approx(reverse, rel=1e-13, abs=1e-13)
        if isinstance(bench.rule, ScalarRule):
            terms = zip(bench.rule.partials, tangents, strict=True)
            expected = sum(evaluate(p, point, result) * t for p, t in terms if p is not None)
            assert forward == pytest.approx(expected, rel=1e-12, abs=1e-12)
        bench.module.verify()


def test_a_wrong_transpose_is_caught(monkeypatch: pytest.MonkeyPatch):
    wrong = rule(1, 1)
    monkeypatch.setattr(ScalarRule, "pullback", lambda self, *a, **k: (a[1],) * len(self.partials))
    assert wrong.partials
    with pytest.raises(AssertionError):
        test_pullback_is_the_transpose_of_pushforward("arith.mulf", False)


@pytest.mark.parametrize("name", EVERY)
def test_derived_ops_have_the_place_and_flags_of_their_cause(name: str):
    flags = FastMathFlagsAttr("fast")
    has_flags = name in PRIMALS and "." in name
    bench = Bench(name, {"fastmath": flags} if has_flags else {})
    bench.pushforward()
    bench.pullback()
    assert all(op.location == HERE for op in bench.derived)
    expected = flags if has_flags else FastMathFlagsAttr("none")
    got = {op.properties["fastmath"] for op in bench.derived if "fastmath" in op.properties}
    assert got <= {expected}


def test_inactive_operands_need_no_primal_values():
    bench = Bench("arith.mulf")
    assert bench.rule.uses(bench.op, (True, False)) == (bench.args[1],)
    assert bench.rule.uses(bench.op) == (bench.args[1], bench.args[0])
    first, second = bench.pullback((True, False))
    assert first is not None
    assert second is None
    assert len(bench.derived) == 1


def test_structural_zeros_build_nothing():
    bench = Bench("math.sin")
    assert bench.rule.pushforward(bench.op, [None], bench.builder) is None
    assert bench.rule.pullback(bench.op, None, bench.args, None, bench.builder) == (None,)
    assert bench.derived == []


@pytest.mark.parametrize(("strong_zero", "expected"), [(False, math.nan), (True, 0.0)])
def test_strong_zero(strong_zero: bool, expected: float):
    bench = Bench("math.sqrt")
    (cotangent,) = bench.pullback(strong_zero=strong_zero)
    assert cotangent is not None
    known = bench.values([0.0], 0.0, [0.0], 0.0)
    assert known[cotangent] == pytest.approx(expected, nan_ok=True)


def test_the_side_not_chosen_does_not_leak():
    bench = Bench("arith.maximumf")
    tangent = bench.pushforward()
    assert tangent is not None
    assert bench.values([2.0, 1.0], 2.0, [0.5, math.inf], 1.0)[tangent] == 0.5


@pytest.mark.parametrize(
    ("name", "point", "result"),
    [
        ("math.atan2", (0.0, 1.0), 0.0),
        ("math.atan2", (1.0, 0.0), math.pi / 2),
        ("math.powf", (0.0, 0.0), 1.0),
        ("math.powf", (0.0, 2.0), 0.0),
        ("math.fpowi", (0.0, 0), 1.0),
        ("hypot", (0.0, 0.0), 0.0),
    ],
)
def test_guarded_partials_hold_nothing_infinite(name: str, point: tuple[float, ...], result: float):
    """Else the reverse of the partial would multiply it by 0 and find NaN."""
    bench = Bench(name)
    bench.pushforward()
    known = bench.values(point, result, [1.0] * len(point), 1.0)
    assert all(math.isfinite(value) for value in known.values())


def test_a_function_of_the_user_is_not_libm():
    bench = Bench("hypot")
    next(iter(bench.module.ops)).attributes.pop("mlirad.pure")
    assert find_rule(bench.op) is None


def test_tables_of_the_user_win():
    bench = Bench("math.sin")
    assert find_rule(bench.op, [{math_dialect.SinOp: INACTIVE}]) is INACTIVE


def test_a_bitcast_has_no_rule():
    block = Block(arg_types=[f64])
    assert find_rule(arith.BitcastOp(block.args[0], f64)) is None


@pytest.mark.parametrize("name", EVERY)
def test_derivatives_can_be_differentiated_again(name: str):
    bench = Bench(name)
    bench.pushforward(strong_zero=True)
    bench.pullback(strong_zero=True)
    floats = [op for op in bench.derived if op.results[0].type in (f32, f64)]
    assert [op.name for op in floats if find_rule(op) is None] == []
