"""The tool survives what a miscompiled program may do, and makes failing programs small."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.case import Case
from tests.fuzz.check import NEXT, make_case, write_case
from tests.fuzz.dual import Kink
from tests.fuzz.isolated import in_parallel, isolated
from tests.fuzz.quick import check_quickly
from tests.fuzz.shrink import category, shrink


def misbehave(work: str, folder: Path) -> None:
    match work:
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "leave":
            os._exit(3)
        case "hang":
            time.sleep(60)
        case "raise":
            raise ValueError("wrong")


def test_the_rest_of_a_batch_survives_what_one_program_does() -> None:
    works = ["good", "crash", "raise", "hang", "leave", "good"]
    outcomes = list(isolated(misbehave, works, patience=1.0))
    assert [outcome.work for outcome in outcomes] == works
    assert [outcome.failure for outcome in outcomes] == [
        *(None, "crash: SIGKILL", "ValueError: wrong", "hangs for 1 s", "crash: exit status 3"),
        None,
    ]


def test_several_jobs_do_all_the_work() -> None:
    works = ["good", "raise", "crash"] * 4
    outcomes = list(in_parallel(misbehave, works, batch=2, jobs=2))
    assert sorted(outcome.failure or "" for outcome in outcomes) == sorted(
        ["", "ValueError: wrong", "crash: SIGKILL"] * 4
    )


SOURCE = """
def program(a, b, idx, x, n):
    s0 = x
    for i0 in range(n):
        if b[0] > -5.0:
            s0 = math.sin(s0 + a[i0 % 5])
    a[1] = math.cos(b[2] * 0.5)
    b[3] = WRONG + s0 * 0.7
    return s0
"""


def wrong_about(case: Case, folder: Path) -> None:
    assert "WRONG" not in case.source, "jvp: 1.0 instead of 2.0"


def test_a_failing_program_is_made_small() -> None:
    source = SOURCE.replace("WRONG", "(0.5 if 'WRONG' else 0.0)")
    known = "AssertionError: jvp: 3.0 instead of 4.0"
    case, failure = shrink(Case(source, "same", "function", 1, n=4), known, wrong_about)
    assert category(failure) == category("AssertionError: jvp: 7.0 instead of 0.25")
    assert (case.layout, case.n) == ("apart", 1)
    assert len(case.source.splitlines()) <= 3


def test_quick_machine_code_is_compared_as_well(tmp_path: Path) -> None:
    case = make_case(3)
    check_quickly(case, tmp_path)
    case.slopes = case.slopes + 1e-6
    with pytest.raises(AssertionError, match="jvp"):
        case.check_forward()
    case.values = case.values + 1e-6
    with pytest.raises(AssertionError, match="value"):
        case.check_primal()


def test_a_program_on_a_kink_gives_way_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    interpret = Case.interpret

    def first_on_a_kink(case: Case) -> None:
        if case.seed == 5:
            raise Kink
        interpret(case)

    monkeypatch.setattr(Case, "interpret", first_on_a_kink)
    assert make_case(5).seed == 5 + NEXT
    assert make_case(5).source == write_case(5 + NEXT).source
    assert np.isfinite(make_case(5).values).all()
