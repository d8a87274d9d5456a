"""Imports point one way: a room may import itself and the rooms before it."""

import ast
from pathlib import Path

import pytest

import mlirad

# Modules beside each other in one line are of one room; names are as in `mlirad.<name>`.
ROOMS = (
    ("errors", "frontend.types"),
    ("dialects",),
    ("passes.analysis",),
    ("passes.derivatives",),
    ("passes",),
    ("frontend",),
    ("backends",),
    ("runtime",),
    ("pipeline",),
    (
        "api",
        "callables",
        "compiling",
        "derived",
        "devices",
        "explaining",
        "explanation",
        "extents",
        "gpu",
        "guarded",
        "launchable",
        "program",
        "requests",
        "thread_guard",
        "transforms",
    ),
    ("universe", "cli"),
    ("demo",),
)
# `mlirad` itself and `mlirad demo` are loaded when they are first asked for.
LAZY = {("cli.main", "demo.show"), ("universe", "cli.targets")}
ROOT = Path(mlirad.__file__).parent


def room(module: str) -> int:
    """The number of the room of `module`: that of the longest name in `ROOMS` that it is under."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        for number, names in enumerate(ROOMS):
            if name in names:
                return number
    raise AssertionError(f"mlirad.{module} is in no room; say in this file where it belongs")


def imports(path: Path):
    """The modules of mlirad that a file imports at run time, with the line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    only_for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in only_for_types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "mlirad":
            module = (node.module or "").partition(".")[2]
            for alias in node.names:
                inner = f"{module}.{alias.name}" if module else alias.name
                yield (inner if is_module(inner) else module), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("mlirad."):
                    yield alias.name.partition(".")[2], node.lineno


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def modules():
    # `rglob` does not follow the two links
    folders = (ROOT, ROOT / "dialects", ROOT / "passes")
    for path in sorted({path for folder in folders for path in folder.rglob("*.py")}):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__":
            yield name, path


FILES = dict(modules())


def test_all_rooms_are_seen():
    assert {"errors", "dialects.autodiff", "passes.autodiff_reverse"} <= FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_imports_point_backwards(name):
    for imported, line in imports(FILES[name]):
        if not imported or (name, imported) in LAZY:
            continue
        assert room(imported) <= room(name), f"{FILES[name]}:{line} imports mlirad.{imported}"
