"""What README.md says is true: its code runs, its commands exist."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.M | re.S)
PROSE = re.sub(r"^```.*?^```", "", TEXT, flags=re.M | re.S)
PYTHON = [code for language, code in BLOCKS if language == "python"]
SHELL = [code for language, code in BLOCKS if language == "sh"]


def test_python_blocks_run(tmp_path, monkeypatch):
    """The blocks continue each other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "readme.py"  # a file, because the compiler reads the source
    path.write_text("\n".join(PYTHON))
    namespace = {"__name__": "readme"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)


def test_there_are_two_commands_that_set_themselves_up():
    first, second = (code.strip() for code in SHELL[:2])
    for command in (first, second):
        assert command.startswith("python3 -m venv ")
        assert "\n" not in command
    assert first.endswith("mlirad demo")
    assert "/pytest" in second


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", PROSE))
def test_links_lead_somewhere(link):
    assert (README.parent / link).exists()
