"""What `mlirad demo` prints and writes."""

import io

import numpy as np
import pytest
from rich.console import Console

from mlirad.demo.show import show
from mlirad.demo.square import gradients


def test_demo_prints_all_fits_and_writes_a_picture(tmp_path):
    picture = tmp_path / "fits.png"
    console = Console(file=io.StringIO(), width=120)
    assert show(picture, console) == 0
    printed = console.file.getvalue()
    assert "54 of 54 fits" in printed
    assert str(picture) in printed
    assert "x[i] = x[i] * x[i]" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("found", gradients(), ids=lambda found: found.title)
def test_square_example(found):
    twice = found.title == "square_twice"
    np.testing.assert_array_equal(found.dx, [0, 32] if twice else [0, 4])
    np.testing.assert_array_equal(found.x, [16, 16] if twice else [4, 4])
