"""The first op that a stage does not allow is named."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.utils.exceptions import PassFailedException

from mlirad.errors import MliradError
from mlirad.passes.check_stage import LEGAL, CheckStagePass, check
from mlirad.pipeline import STAGES
from tests.passes.interpreter import parse

REQUEST = """
func.func @f(%x : f64) -> f64 {
  %y, %dy = autodiff.fwddiff @f(%x, %x) [#autodiff<activity dup>]
    -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
  func.return %dy : f64
}
"""


def test_every_stage_says_what_is_legal():
    assert [stage.name for stage in STAGES] == list(LEGAL)


@pytest.mark.parametrize(
    ("stage", "legal"),
    [("python", True), ("optimized", True), ("differentiated", False), ("cpu", False)],
)
def test_requests_are_legal_until_they_are_expanded(stage, legal):
    module = parse(REQUEST)
    if legal:
        check(module, stage)
    else:
        with pytest.raises(MliradError, match=r"'autodiff\.fwddiff' may not be there"):
            check(module, stage)


def test_ops_without_a_source_location_are_found_on_demand():
    with pytest.raises(MliradError, match=r"'func\.func' has no source location"):
        check(parse(REQUEST), "python", locations=True)


def test_drivers_of_xdsl_see_a_failed_pass():
    with pytest.raises(PassFailedException, match="may not be there"):
        CheckStagePass(stage="lowered").apply(Context(), parse(REQUEST))
    with pytest.raises(PassFailedException, match="no stage 'later'"):
        CheckStagePass(stage="later").apply(Context(), parse(REQUEST))
