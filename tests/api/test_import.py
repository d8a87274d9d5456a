"""What importing the package costs."""

import subprocess
import sys

HEAVY = ("numpy", "xdsl", "llvmlite", "numba")


def imported(code: str) -> set[str]:
    """Which of the heavy packages are loaded after running `code` in a fresh process."""
    script = f"{code}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_the_package_and_its_errors_load_nothing():
    assert imported("import mlirad; mlirad.errors") == set()


def test_decorating_loads_no_compiler():
    assert imported("import mlirad; mlirad.kernel(lambda x: None); mlirad.gpu") <= {"numpy"}
