"""Runs `lit filecheck/`, so that one command runs everything."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "filecheck"
LIT = "import sys; from lit.main import main; main()"


def test_lit():
    done = subprocess.run(
        [sys.executable, "-c", LIT, "-q", "--workers=1", str(FOLDER)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
