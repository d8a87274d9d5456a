"""The wrapper functions around requests: their arguments, results and attributes."""

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects import func

from mlirad.callables import Function, Kernel
from mlirad.derived import DerivedProgram, Kind
from mlirad.dialects.autodiff import FwdDiffOp, RevDiffOp, SplitOp
from mlirad.errors import ArgumentTypeError, LaunchTypeError
from mlirad.frontend import types as t
from mlirad.guarded import guarded
from mlirad.launchable import SplitProgram
from mlirad.program import Lowered, Program
from mlirad.runtime.annotations import Active, Const, Dual, Duplicated
from mlirad.runtime.recording import Mode
from tests.api.written import FILL, GLOBAL, PRODUCT, SCALE, WrittenProgram

VECTOR, STRIDED = t.Array(t.FLOAT64, 1), t.Array(t.FLOAT64, 1, contiguous=False)
PAIR = t.Tuple((t.FLOAT64, t.INT64))


def product(result: t.Type = PAIR) -> WrittenProgram:
    return WrittenProgram("product", ("x", "y"), PRODUCT, result)


def lower(program: Program, types: Sequence[t.Type], alias: Sequence[int] = ()) -> Lowered:
    lowered = program.lower(types, alias or [-1] * len(list(types)))
    lowered.module.verify()
    return lowered


def entry(lowered: Lowered) -> func.FuncOp:
    """The only function that Python can call."""
    (found,) = (
        op
        for op in lowered.module.body.block.ops
        if isinstance(op, func.FuncOp) and "mlirad.entry" in op.attributes
    )
    assert found.sym_name.data == lowered.symbol
    return found


def request(lowered: Lowered) -> FwdDiffOp | RevDiffOp:
    (found,) = (op for op in entry(lowered).walk() if isinstance(op, FwdDiffOp | RevDiffOp))
    return found


def kinds(op: FwdDiffOp | RevDiffOp) -> tuple[list[str], list[str]]:
    return [a.data.value for a in op.activity], [a.data.value for a in op.ret_activity]


def derive(
    base: Program, mode: Mode, *args: Kind, ret: Kind | None = None, immediate: bool = False
):
    return DerivedProgram(base, mode, args, ret, immediate)


def test_reverse_interleaves_shadows_and_returns_cotangents():
    program = derive(SCALE, Mode.REVERSE, Duplicated, Active, Const)
    assert program.parameters == ("x", "dx", "a", "n")
    lowered = lower(program, [VECTOR, VECTOR, t.FLOAT64, t.INT64], [0, 1, -1, -1])
    assert kinds(request(lowered)) == (["dup", "active", "const"], [])
    assert lowered.result == t.FLOAT64
    wrapper = entry(lowered)
    assert [a.name_hint for a in wrapper.body.block.args] == ["x", "dx", "a", "n"]
    assert str(wrapper.attributes["mlirad.alias"]) == "array<i64: 0, 1, -1, -1>"


def test_reverse_appends_seeds_of_float_results_only():
    program = derive(product(), Mode.REVERSE, Active, Const)
    lowered = lower(program, [t.FLOAT64, t.FLOAT64, t.Tuple((t.INT64, t.NoneType()))], [-1] * 3)
    assert kinds(request(lowered)) == (["active", "const"], ["active", "const"])
    assert len(request(lowered).inputs) == 3
    assert lowered.result == t.Tuple((PAIR, t.FLOAT64))
    assert lowered.types[-1] == t.Tuple((t.FLOAT64, t.NoneType()))  # an int seed becomes a float


def test_forward_returns_primals_then_tangents():
    program = derive(product(), Mode.FORWARD, Dual, Const)
    lowered = lower(program, [t.FLOAT64, t.FLOAT64, t.FLOAT64])
    assert kinds(request(lowered)) == (["dup", "const"], ["dup", "const"])
    assert lowered.result == t.Tuple((PAIR, t.Tuple((t.FLOAT64, t.NoneType()))))
    results = entry(lowered).body.block.last_op
    assert results is not None
    outputs = request(lowered).outputs
    assert list(results.operands) == [outputs[0], outputs[2], outputs[1]]


def test_a_constant_result_has_neither_tangent_nor_seed():
    forward = lower(derive(product(), Mode.FORWARD, Dual, Dual, ret=Const), [t.FLOAT64] * 4)
    assert forward.result == PAIR
    reverse = lower(derive(product(), Mode.REVERSE, Active, Const, ret=Const), [t.FLOAT64] * 2)
    assert reverse.result == t.Tuple((PAIR, t.FLOAT64))


def test_immediate_derivatives_have_unit_seeds_and_always_a_tuple():
    program = derive(product(), Mode.REVERSE, Const, Const, immediate=True)
    assert program.parameters == ("x", "y")
    lowered = lower(program, [t.FLOAT64, t.FLOAT64])
    assert lowered.result == t.Tuple((PAIR,))
    assert len(request(lowered).inputs) == 3


def test_kernels_take_six_sizes_first():
    program = derive(FILL, Mode.REVERSE, Duplicated)
    lowered = lower(program, [VECTOR, VECTOR], [0, 1])
    assert kinds(request(lowered))[0] == ["const"] * 6 + ["dup"]
    assert str(entry(lowered).attributes["mlirad.alias"]).endswith("-1, 0, 1>")
    assert lowered.result == t.NoneType()


def test_derivatives_nest():
    inner = derive(SCALE, Mode.REVERSE, Duplicated, Const, Const)
    outer = derive(inner, Mode.FORWARD, Dual, Dual, Const, Const)
    assert outer.parameters == ("x", "dx", "dx", "ddx", "a", "n")
    types = [VECTOR] * 4 + [t.FLOAT64, t.INT64]
    lowered = lower(outer, types, [0, 1, 2, 3, -1, -1])
    assert lowered.symbol == "forward_reverse_scale"
    assert kinds(request(lowered))[0] == ["dup", "dup", "const", "const"]


def test_shadows_overlap_where_their_primals_do():
    text = "func.func @two(%x : memref<?xf64>, %y : memref<?xf64>, %z : memref<?xf64>) "
    two = WrittenProgram("two", ("x", "y", "z"), text + "{\n  func.return\n}")
    program = derive(two, Mode.REVERSE, Duplicated, Duplicated, Duplicated)
    lowered = lower(program, [VECTOR] * 6, [0, 1, 0, 1, 2, 3])
    assert str(entry(lowered).attributes["mlirad.alias"]) == "array<i64: 0, 3, 0, 3, 2, 5>"


def test_layouts_of_primal_and_shadow_agree():
    program = derive(SCALE, Mode.REVERSE, Duplicated, Const, Const)
    misaligned = t.Array(t.FLOAT64, 1, aligned=False)
    agreed = program.agree([misaligned, STRIDED, t.FLOAT64, t.INT64])
    both = t.Array(t.FLOAT64, 1, contiguous=False, aligned=False)
    assert agreed[:2] == (both, both)
    nested = derive(program, Mode.FORWARD, Dual, Dual, Const, Const)
    assert nested.agree([VECTOR, VECTOR, VECTOR, STRIDED, t.FLOAT64, t.INT64])[:4] == (STRIDED,) * 4


def test_no_two_functions_share_a_symbol():
    text = "func.func private @reverse_f()\nfunc.func @f() {\n  func.return\n}"
    program = derive(WrittenProgram("f", (), text), Mode.REVERSE)
    assert lower(program, []).symbol == "reverse_f_"


def test_a_split_names_both_halves():
    program = SplitProgram(FILL, (True,))
    lowered = lower(program, [VECTOR], [0])
    (found,) = (op for op in lowered.module.walk() if isinstance(op, SplitOp))
    assert found.augmented.string_value() == program.augmented == "fill.augmented"
    assert [a.data.value for a in found.activity] == ["const"] * 6 + ["dup"]


def test_a_seed_is_asked_for_and_checked():
    program = derive(product(t.FLOAT64), Mode.REVERSE, Active, Active)
    assert program.optional == ("dret",)
    with pytest.raises(LaunchTypeError, match="'dret' is missing"):
        program.lower([t.FLOAT64, t.FLOAT64], [-1, -1])
    with pytest.raises(ArgumentTypeError, match="'dret' is of type"):
        program.lower([t.FLOAT64, t.FLOAT64, VECTOR], [-1, -1, 0])
    silent = derive(product(t.INT64), Mode.REVERSE, Active, Active)
    with pytest.raises(LaunchTypeError, match="takes none"):
        silent.lower([t.FLOAT64] * 3, [-1] * 3)
    asked = derive(product(t.INT64), Mode.REVERSE, Active, Active, ret=Active)
    with pytest.raises(ArgumentTypeError, match="no derivative"):
        asked.lower([t.FLOAT64] * 3, [-1] * 3)


def test_derived_objects_are_of_the_kind_of_their_base():
    assert isinstance(Kernel(FILL).derivative(Mode.REVERSE, (Duplicated,), None), Kernel)
    assert isinstance(Function(SCALE).derivative(Mode.REVERSE, (Const,) * 3, None), Function)


def test_forall_ends_where_it_is_told():
    kernel = Kernel(GLOBAL)
    for count in (0, 1, 100, 128, 200):
        x = np.zeros(256)
        kernel.forall(count)(x)
        assert x.sum() == x[:count].sum() == count


def test_derivatives_of_forall_have_seven_sizes():
    program = guarded(derive(FILL, Mode.REVERSE, Duplicated))
    lowered = lower(program, [VECTOR, VECTOR], [0, 1])
    assert kinds(request(lowered))[0] == ["const"] * 7 + ["dup"]
