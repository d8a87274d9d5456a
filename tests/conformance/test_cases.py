"""
Kernels as people write them, with exact outputs, vjp and jvp.

What a case file holds is said in `check_mlirad.py`, which also runs alone. A case that needs what
is not built yet must be refused, and says which part of the plan it waits for: B for records, C
for shared memory, barriers and atomic maxima.
"""

from pathlib import Path

import pytest

from mlirad.errors import UnsupportedError
from tests.conformance import check_mlirad

REFUSED = {21: "C", 23: "C", 39: "B", 43: "C", 49: "C"}


def cases():
    for path in sorted(Path(__file__).parent.glob("case*.py")):
        number = int(path.stem.partition("_")[0].removeprefix("case"))
        waits = pytest.mark.xfail(
            reason=f"part {REFUSED.get(number)}", raises=UnsupportedError, strict=True
        )
        yield pytest.param(path, id=path.stem, marks=[waits] if number in REFUSED else [])


@pytest.mark.parametrize("path", list(cases()))
def test_case(path: Path):
    assert list(check_mlirad.check(check_mlirad.load(path))) == []
