"""A key changes with each thing that code depends on."""

import math
import shutil
import subprocess
import sys
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

import mlirad
from mlirad.frontend import types as t
from mlirad.runtime import cache_key
from mlirad.runtime.annotations import Const, Duplicated
from mlirad.runtime.recording import Mode

PARTS = {
    "fingerprint": b"0123",
    "types": (t.Array(t.FLOAT64, 1), t.INT64),
    "alias": (0, -1),
    "kinds": (Duplicated, Const),
    "mode": Mode.REVERSE,
    "options": {"fastmath": False, "boundscheck": None},
}
OTHERS = {
    "fingerprint": [b"0124", "0123", b""],
    "types": [
        (t.Array(t.FLOAT32, 1), t.INT64),
        (t.Array(t.FLOAT64, 1, contiguous=False), t.INT64),
        (t.Array(t.FLOAT64, 1, aligned=False), t.INT64),
        (t.Array(t.FLOAT64, 2), t.INT64),
        (t.Tuple((t.Array(t.FLOAT64, 1), t.INT64)),),
    ],
    "alias": [(0, 0), (), (0.0, -1), (False, -1), [0, -1]],
    "kinds": [(Const, Duplicated), (Duplicated,)],
    "mode": [Mode.FORWARD, "reverse", None],
    "options": [{"fastmath": True, "boundscheck": None}, {"fastmath": False}],
}


def test_equal_parts_have_equal_keys():
    options = dict(reversed(PARTS["options"].items()))
    assert cache_key.key(*PARTS.values()) == cache_key.key(*(PARTS | {"options": options}).values())


@pytest.mark.parametrize("name", OTHERS)
def test_each_part_matters(name):
    keys = [cache_key.key(*(PARTS | {name: other}).values()) for other in OTHERS[name]]
    assert len({cache_key.key(*PARTS.values()), *keys}) == len(keys) + 1


def test_parts_do_not_run_together():
    parts = [("ab", "c"), ("a", "bc"), ("abc",), (("ab", "c"),), ("ab", ("c",)), ("ab", "c", "")]
    parts += [(0.0,), (-0.0,), (math.nan,), (1,), (True,), ((),), ([],), ({},), (frozenset(),)]
    assert len({cache_key.key(*part) for part in parts}) == len(parts)


def test_what_has_no_canonical_form_is_refused():
    for part in (object(), np.ones(2), lambda: 0, [object()], {1: object()}):
        with pytest.raises(TypeError, match="cannot be part of a cache key"):
            cache_key.key(part)


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize("name", ["own_source", "tools", "processor"])
def test_each_part_of_the_environment_matters(name, monkeypatch):
    before = cache_key.key(Colour.RED)
    value = getattr(cache_key, name)()
    monkeypatch.setattr(cache_key, name, lambda: (value, "changed"))
    cache_key.environment.cache_clear()
    try:
        assert cache_key.key(Colour.RED) != before
    finally:
        cache_key.environment.cache_clear()


def test_a_change_in_any_rule_or_pass_changes_the_hash_of_our_source(tmp_path, monkeypatch):
    root = tmp_path / "mlirad"
    ignore = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(Path(mlirad.__path__[0]), root, ignore=ignore)
    monkeypatch.setattr(cache_key, "__file__", str(root / "runtime" / "cache_key.py"))
    seen = {cache_key.own_source()}
    changed = ["dialects/autodiff.py", "passes/derivatives/arith.py", "frontend/types.py"]
    for count, name in enumerate(changed, 2):
        path = root / name
        path.write_text(path.read_text() + "\n")
        seen.add(cache_key.own_source())
        assert len(seen) == count


def test_versions_are_those_of_the_packages():
    from importlib.metadata import version

    for package in cache_key.TOOLS:
        assert cache_key.version(package) == version(package)
    assert cache_key.version("no_such_package") == "missing"


def test_keys_are_the_same_in_every_process_and_need_no_compiler():
    code = (
        "import sys\n"
        "from mlirad.runtime import cache_key, disk_cache\n"
        "print(cache_key.key('x', 1.5, {'a': None}, frozenset('abc')).hex())\n"
        "print({'xdsl', 'numba', 'importlib.metadata'} & {*sys.modules})\n"
    )
    run = [sys.executable, "-c", code]
    lines = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split("\n")
    assert lines[0] == cache_key.key("x", 1.5, {"a": None}, frozenset("abc")).hex()
    assert "xdsl" not in lines[1]
    assert "numba" not in lines[1]
