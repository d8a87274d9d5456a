"""The public names, and what importing them costs."""

import subprocess
import sys

import pytest

import mlirad

HEAVY = ("xdsl", "llvmlite", "numba", "numpy", "scipy", "matplotlib", "rich")


def imported(statement: str) -> set[str]:
    """Which heavy packages a new process has loaded after `statement`."""
    code = f"{statement}\nimport sys\nprint(*(m for m in {HEAVY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import mlirad", "import mlirad.errors"])
def test_import_loads_no_compiler(statement):
    assert imported(statement) == set()


def test_a_pass_needs_neither_numpy_nor_a_back_end():
    assert imported("import mlirad.passes.autodiff_reverse") == {"xdsl"}


@pytest.mark.parametrize("name", mlirad.__all__)
def test_every_public_name_loads(name):
    assert getattr(mlirad, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mlirad.nothing
