"""
Kernels as people write them, with exact outputs, vjp and jvp.

What a case file holds is said in `check_mlirad.py`, which also runs alone.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import check_mlirad

CHECKS = {
    "outputs": check_mlirad.check_outputs,
    "vjp": check_mlirad.check_vjp,
    "jvp": check_mlirad.check_jvp,
    "one launch": check_mlirad.check_direct,
    "hvp": check_mlirad.check_hvp,
    "errors": check_mlirad.check_errors,
}


def applies(check: str, case: Any) -> bool:
    if check in ("hvp", "errors"):
        return check in case.EXPECTED
    if check == "one launch":
        return bool(case.ACTIVE) and check_mlirad.single_launch(case) is not None
    return check == "outputs" or bool(case.ACTIVE)


def cases() -> Iterator[Any]:
    for path in sorted(Path(__file__).parent.glob("case*.py")):
        case = check_mlirad.load(path)
        for check in CHECKS:
            if applies(check, case):
                yield pytest.param(case, check, id=f"{path.stem}-{check}")


@pytest.mark.parametrize(("case", "check"), list(cases()))
def test_case(case: Any, check: str):
    assert list(CHECKS[check](case)) == []
