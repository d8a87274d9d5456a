"""The command `mlirad`, and its subcommand `demo`."""

import sys
from pathlib import Path

import pytest

from mlirad.cli.main import main, parser


def test_demo_writes_its_picture_where_it_is_told():
    assert parser().parse_args(["demo"]).output == Path("mlirad-demo.png")
    assert parser().parse_args(["demo", "--output", "a/b.png"]).output == Path("a/b.png")


def test_demo_without_its_packages_says_what_to_install(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "mlirad.demo.show", raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert main(["demo"]) == 1
    assert "pip install 'mlirad[demo]'" in capsys.readouterr().err


def test_a_command_is_needed(capsys):
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "COMMAND" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.startswith("mlirad ")
