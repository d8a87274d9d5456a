"""Runs `lit filecheck/`, so that one command runs everything; and the test format itself."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "filecheck"
LIT = "import sys; from lit.main import main; main()"
FUNCTION = "func.func @f() {\n  func.return\n}\n"


def lit(folder: Path, *options: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", LIT, *options, "--workers=1", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_lit():
    status, printed = lit(FOLDER, "-q")
    assert status == 0, printed


@pytest.fixture
def suite(tmp_path):
    """A folder with the configuration of the real one."""
    for name in ("lit.cfg.py", "lit_in_process.py"):
        shutil.copy(FOLDER / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"// RUN: mlirad-opt %s | filecheck %s\n// CHECK: func.return\n{FUNCTION}", "PASS"),
        (f"// RUN: mlirad-opt %s | filecheck %s\n// CHECK: func.call\n{FUNCTION}", "FAIL"),
        ("// RUN: mlirad-opt %s | filecheck %s\n// CHECK: x\nno.such_op\n", "FAIL"),
        (f"// RUN: mlirad-opt %s > %t && grep func.return %t\n{FUNCTION}", "PASS"),
        (f"// RUN: mlirad-opt %s > %t && grep func.call %t\n{FUNCTION}", "FAIL"),
        (f"// REQUIRES: nothing-has-this\n// RUN: mlirad-opt %s\n{FUNCTION}", "UNSUPPORTED"),
        (FUNCTION, "UNRESOLVED"),
    ],
    ids=["passes", "not found", "invalid", "shell", "shell fails", "unsupported", "no RUN"],
)
def test_the_format_says_what_became_of_a_file(suite, text, expected):
    (suite / "case.mlir").write_text(text)
    _, printed = lit(suite, "-a")
    assert f"{expected}: mlirad :: case.mlir" in printed
