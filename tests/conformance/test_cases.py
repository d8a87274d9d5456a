"""
The conformance cases: kernels as people write them, with exact outputs, vjp and jvp.

`check_mlirad.py` says what is checked; here each check of each case is one test.
"""

from pathlib import Path

import pytest

from tests.conformance import check_mlirad

CASES = sorted(Path(__file__).parent.glob("case*.py"))

LATER = {
    "case21": "C: atomic.max",
    "case23": "C: shared memory and barriers",
    "case39": "B: record arrays",
    "case43": "C: barriers",
    "case49": "C: barriers",
}
"""Cases that need parts of the language that are not there yet, by part."""


def cases():
    for path in CASES:
        reason = LATER.get(path.stem[:6])
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        yield pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("path", list(cases()))
def test_case(path: Path) -> None:
    problems = list(check_mlirad.check(check_mlirad.load(path)))
    assert not problems, "\n".join(problems)


def test_what_is_not_compiled_yet_is_refused_with_a_place() -> None:
    for path in CASES:
        if path.stem[:6] in LATER:
            with pytest.raises(check_mlirad.ad.errors.UnsupportedError):
                list(check_mlirad.check(check_mlirad.load(path)))
