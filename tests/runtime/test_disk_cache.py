"""What is read is what was written, or nothing."""

import os
import subprocess
import sys

import pytest

from mlirad.backends.native import EntrySignature, NativeObject, NativeType
from mlirad.frontend import types as t
from mlirad.runtime import disk_cache
from mlirad.runtime.disk_cache import DiskCache, Stored

KEY, OTHER = b"\1" * 32, b"\2" * 32
ARRAY = NativeType("memref", "f64", 2, strided=True)
NATIVE = NativeObject(
    bytes(range(256)) * 20,
    {
        "f": EntrySignature((ARRAY, NativeType("scalar", "index")), ()),
        "f_reverse": EntrySignature((), (NativeType("scalar", "f32"),)),
    },
    "define void @f()",
)
RESULTS = [
    t.NoneType(),
    t.FLOAT32,
    t.Array(t.BOOL, 3, contiguous=False, aligned=False, writable=False),
    t.Tuple((t.INT64, t.Tuple(()), t.Array(t.FLOAT64, 1))),
]


@pytest.fixture
def cache(tmp_path) -> DiskCache:
    return DiskCache(tmp_path / "made" / "when needed")


@pytest.mark.parametrize("result", RESULTS, ids=str)
def test_what_was_stored_is_loaded(cache, result):
    assert cache.load(KEY) is None
    cache.store(KEY, Stored(NATIVE, result))
    assert cache.load(KEY) == Stored(NATIVE, result)
    assert cache.load(KEY).native.llvm == NATIVE.llvm
    assert cache.load(OTHER) is None


def damage(data: bytes, kind: str) -> bytes:
    match kind:
        case "empty":
            return b""
        case "cut in the header":
            return data[:20]
        case "cut":
            return data[:-1]
        case "longer":
            return data + b"\0"
        case "of another format":
            return data[:7] + b"\2" + data[8:]
        case "no cache file":
            return b"hello" * 100
    place = {"metadata": 60, "code": -5, "lengths": 9, "check": 30}[kind]
    changed = bytearray(data)
    changed[place] ^= 1
    return bytes(changed)


@pytest.mark.parametrize(
    "kind",
    "empty/cut in the header/cut/longer/of another format/no cache file/metadata/code/lengths/check"
    "".split("/"),
)
def test_a_damaged_file_is_ignored_and_written_anew(cache, kind):
    cache.store(KEY, Stored(NATIVE, t.INT64))
    path = cache.path(KEY)
    path.write_bytes(damage(path.read_bytes(), kind))
    assert cache.load(KEY) is None
    cache.store(KEY, Stored(NATIVE, t.INT64))
    assert cache.load(KEY) == Stored(NATIVE, t.INT64)


def test_a_file_under_another_key_is_ignored(cache):
    cache.store(KEY, Stored(NATIVE, t.INT64))
    cache.path(KEY).rename(cache.path(OTHER))
    assert cache.load(OTHER) is None


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_lax_umask_does_not_matter(cache):
    before = os.umask(0)
    try:
        cache.store(KEY, Stored(NATIVE, t.INT64))
    finally:
        os.umask(before)
    assert cache.load(KEY) is not None


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_files_that_others_can_write_are_ignored(cache):
    cache.store(KEY, Stored(NATIVE, t.INT64))
    cache.path(KEY).chmod(0o666)
    assert cache.load(KEY) is None


def test_two_processes_writing_at_once(cache):
    code = f"""if True:
        import sys
        from pathlib import Path
        from mlirad.backends.native import NativeObject
        from mlirad.frontend.types import INT64
        from mlirad.runtime.disk_cache import DiskCache, Stored
        cache = DiskCache(Path({str(cache.folder)!r}))
        for n in range(150):
            code = bytes([n]) * 50_000
            cache.store({KEY!r}, Stored(NativeObject(code, {{}}), INT64))
            stored = cache.load({KEY!r})
            assert stored is not None, n
            assert len(set(stored.native.code)) == 1
    """
    writers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert os.listdir(cache.folder) == [cache.path(KEY).name]


def test_the_least_recently_used_goes_first(tmp_path):
    cache = DiskCache(tmp_path, limit=20_000)  # three of 5 kB fit after a clean-up
    keys = [bytes([n]) * 32 for n in range(5)]
    for n, key in enumerate(keys[:3]):
        cache.store(key, Stored(NATIVE, t.INT64))
        os.utime(cache.path(key), (n + 1, n + 1))
    assert cache.load(keys[0]) is not None  # used again
    for key in keys[3:]:
        cache.store(key, Stored(NATIVE, t.INT64))
    assert [cache.load(key) is not None for key in keys] == [True, False, False, True, True]


def test_unfinished_files_of_dead_processes_are_removed(cache):
    cache.store(KEY, Stored(NATIVE, t.INT64))
    old, new = cache.folder / "a.part", cache.folder / "b.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    cache.store(OTHER, Stored(NATIVE, t.INT64))
    assert (old.exists(), new.exists()) == (False, True)


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file" / "cache")
    cache.store(KEY, Stored(NATIVE, t.INT64))
    assert cache.load(KEY) is None


def test_a_folder_that_cannot_be_written_is_no_error(cache, monkeypatch):
    def refuse(path, flags):
        raise PermissionError

    monkeypatch.setattr(disk_cache, "private", refuse)
    cache.store(KEY, Stored(NATIVE, t.INT64))
    assert cache.load(KEY) is None


def test_the_environment_chooses_the_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("MLIRAD_CACHE", raising=False)
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path / "chosen"))
    disk_cache.store(KEY, NATIVE, t.INT64)
    assert disk_cache.load(KEY) == Stored(NATIVE, t.INT64)
    assert DiskCache(tmp_path / "chosen").load(KEY) is not None
    monkeypatch.setenv("MLIRAD_CACHE", "0")
    assert disk_cache.load(KEY) is None
    disk_cache.store(OTHER, NATIVE, t.INT64)
    monkeypatch.delenv("MLIRAD_CACHE")
    assert disk_cache.load(OTHER) is None
    monkeypatch.delenv("MLIRAD_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert disk_cache.default_folder() == tmp_path / "mlirad"
