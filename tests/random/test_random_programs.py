"""Random programs against the interpreter; `python -m tests.random.fuzz` runs many more."""

from pathlib import Path

import pytest

from tests.random.check import check


@pytest.mark.parametrize("seed", range(40))
def test_both_modes_agree_with_the_interpreter(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)
