"""Stages run in order, only as far as asked, and without passes that nothing needs."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from mlirad import pipeline
from mlirad.dialects.autodiff import Autodiff
from mlirad.errors import MliradError

TEXT = """
func.func @f(%x : f64) -> f64 attributes {mlirad.entry} {
  %unused = arith.mulf %x, %x : f64
  %y = func.call @g(%x) : (f64) -> f64
  func.return %y : f64
}
func.func private @g(%x : f64) -> f64 { func.return %x : f64 }
"""


REQUEST = """
func.func @g(%x : f64) -> f64 { func.return %x : f64 }
func.func @d(%x : f64, %dx : f64) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @g(%x, %dx) [#autodiff<activity dup>]
      -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}
"""


def parse(text=TEXT):
    context = Context()
    for dialect in (Builtin, func.Func, arith.Arith, Autodiff):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def test_the_stages():
    assert pipeline.stages() == ("python", "optimized", "differentiated", "lowered", "cpu")


def test_running_to_a_stage_changes_the_module_in_place():
    module, passes = parse(), []
    result = pipeline.run(module, "cpu", callback=lambda name, _: passes.append(name))
    assert result is module
    assert [op.name for op in module.walk()] == ["builtin.module", "func.func", "func.return"]
    assert passes[0] == "inline-calls"
    assert passes[-1] == "gpu-to-scf"
    assert not any(name.startswith("autodiff") for name in passes)


def test_the_first_stage_changes_nothing():
    module = parse()
    before = str(module)
    assert str(pipeline.run(module, "python")) == before


def test_an_unknown_stage_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"no stage 'gpu'; the stages are python, optimized"):
        pipeline.run(parse(), "gpu")


def test_a_module_at_the_last_stage_is_finished_as_it_is():
    module = parse()
    before = str(module)
    assert str(pipeline.finish(module)) == before


@pytest.mark.parametrize("stage", ["python", "differentiated", "lowered"])
def test_a_module_is_finished_from_where_it_is(stage):
    module = pipeline.finish(pipeline.run(parse(REQUEST), stage))
    assert not any(op.dialect_name() == "autodiff" for op in module.walk())


def test_a_module_of_no_stage_is_refused():
    # Requests and what they expand to are never there together.
    push = 'func.func @c() {%c = autodiff.init [] : !autodiff.cache<f64, "growable"> func.return}'
    with pytest.raises(MliradError, match=r"'autodiff\.init' may not be there"):
        pipeline.finish(parse(REQUEST + push))
