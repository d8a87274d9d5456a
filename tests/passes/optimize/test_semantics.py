"""No pass changes what a program computes: every bit of results and arrays stays the same."""

from __future__ import annotations

import numpy as np
import pytest

from mlirad.passes.base import Pass
from mlirad.passes.optimize.cse import CsePass
from mlirad.passes.optimize.dce import DcePass
from mlirad.passes.optimize.forward_stores import ForwardStoresPass
from mlirad.passes.optimize.inline import InlinePass
from mlirad.passes.optimize.licm import LicmPass
from mlirad.passes.optimize.simplify import SimplifyPass
from tests.passes.interpreter import parse, run
from tests.passes.optimize.programs import SIZE, program

PASSES = [InlinePass, SimplifyPass, CsePass, LicmPass, ForwardStoresPass, DcePass]


def outcome(module, overlap: bool, flag: bool) -> bytes:
    x = np.array([1.5, -2.0, 0.0, 3.25, -0.0])
    y = x if overlap else np.array([0.5, np.inf, 4.0, -1.0, 2.0])
    results = run(module, "f", x, y, 1.25, -0.75, flag)
    assert len(x) == SIZE
    return np.array([*results, *x, *y]).tobytes()


def check(text: str, passes: list[type[Pass]], overlap: bool) -> None:
    module = parse(text)
    expected = [outcome(module, overlap, flag) for flag in (False, True)]
    for made in passes:
        made().rewrite(module)
        module.verify()
    assert [outcome(module, overlap, flag) for flag in (False, True)] == expected, text


@pytest.mark.parametrize("made", PASSES, ids=lambda p: p.name)
@pytest.mark.parametrize("overlap", [False, True])
def test_each_pass_keeps_what_the_program_computes(made, overlap):
    for seed in range(80):
        check(program(seed, overlap), [InlinePass, made], overlap)


@pytest.mark.parametrize("overlap", [False, True])
def test_all_passes_together_keep_what_the_program_computes(overlap):
    for seed in range(1000, 1100):
        check(program(seed, overlap), [*PASSES, *PASSES], overlap)
