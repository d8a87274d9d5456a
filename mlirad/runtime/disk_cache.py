"""
Keeps machine code on disk between processes.

A file per program, named by its key (`mlirad.runtime.cache_key`). A file that is not whole
and genuine is ignored and written anew; a folder that cannot be used costs time, never an
error.

`MLIRAD_CACHE=0` turns the cache off, `MLIRAD_CACHE_DIR` moves it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from mlirad.backends.native import EntrySignature, NativeObject, NativeType
from mlirad.frontend.types import (
    Array,
    Complex,
    Element,
    Field,
    Function,
    NoneType,
    Part,
    Record,
    Scalar,
    Tuple,
    Type,
)
from mlirad.runtime.cache_key import key as key

MAGIC = b"mlirad\x00\x01"
"""The last byte is the version of the format."""
HEADER = struct.Struct("<8sQQ32s")
"""Magic, lengths of metadata and code, and a hash of key, metadata and code."""
LIMIT = 512 * 2**20
STALE_SECONDS = 3600
"""Age at which an unfinished file is taken to be left by a process that died."""

Homes: TypeAlias = Mapping[str, type]
"""Classes by `class_name`."""
NO_HOMES: Homes = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Stored:
    """Machine code and the Python-level type of what its entry returns."""

    native: NativeObject
    result: Type


def load(key: bytes, homes: Homes = NO_HOMES) -> Stored | None:
    """
    What was stored under `key`, by this process or another; None if there is nothing.

    `homes` are the classes of named tuples and dataclasses that the types may mention.
    """
    folder = default_folder()
    return None if folder is None else DiskCache(folder).load(key, homes)


def store(key: bytes, native: NativeObject, result: Type) -> None:
    """Keeps `native` under `key`."""
    folder = default_folder()
    if folder is not None:
        DiskCache(folder).store(key, Stored(native, result))


def default_folder() -> Path | None:
    """Where the cache is, None if it is turned off."""
    if os.environ.get("MLIRAD_CACHE", "1").lower() in ("0", "off", "false", "no"):
        return None
    if chosen := os.environ.get("MLIRAD_CACHE_DIR"):
        return Path(chosen)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # no home
        return None
    return Path(base) / "mlirad"


class DiskCache:
    """A folder of machine code of at most `limit` bytes; the least recently used goes first."""

    def __init__(self, folder: Path, limit: int = LIMIT):
        self.folder = folder
        self.limit = limit

    def path(self, key: bytes) -> Path:
        return self.folder / f"{key.hex()}.code"

    def load(self, key: bytes, homes: Homes = NO_HOMES) -> Stored | None:
        """What was stored under `key`; None if nothing, or nothing whole, is there."""
        path = self.path(key)
        try:
            with path.open("rb") as file:
                if not is_ours(os.fstat(file.fileno())):
                    return None
                data = file.read()
        except OSError:
            return None
        stored = decode(key, data, homes)
        if stored is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # recently used
        return stored

    def store(self, key: bytes, stored: Stored) -> None:
        """Keeps `stored`. Readers see all of it or nothing; of several writers one wins."""
        path = self.path(key)
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}-{time.time_ns()}.part")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with open(part, "xb", opener=private) as file:
                    file.write(encode(key, stored))
                part.replace(path)
            except OSError:
                part.unlink(missing_ok=True)
                raise
            self._shrink()
        except OSError:
            return  # a full disk or a read-only home: nothing is kept

    def _shrink(self) -> None:
        """Removes the oldest files until a fifth of the limit is free, once it is passed."""
        files: list[tuple[float, int, str]] = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # removed by another process
                    status = entry.stat()
                    if entry.name.endswith(".code"):
                        files.append((status.st_mtime, status.st_size, entry.path))
                    elif entry.name.endswith(".part"):
                        if status.st_mtime < time.time() - STALE_SECONDS:
                            os.unlink(entry.path)
        total = sum(size for _, size, _ in files)
        if total <= self.limit:
            return
        for _, size, path in sorted(files):
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
            if total <= 0.8 * self.limit:
                return


def private(path: str, flags: int) -> int:
    """Opens a file that only this user can read or write, whatever the umask."""
    return os.open(path, flags, 0o600)


def is_ours(status: os.stat_result) -> bool:
    """Whether nobody but this user and root can have written the file: it will be executed."""
    if sys.platform == "win32":
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022


def encode(key: bytes, stored: Stored) -> bytes:
    """The contents of a file."""
    entries = {
        name: [[_native(t) for t in signature.args], [_native(t) for t in signature.results]]
        for name, signature in stored.native.entries.items()
    }
    metadata = {"entries": entries, "llvm": stored.native.llvm, "result": _pack(stored.result)}
    text, code = json.dumps(metadata).encode(), stored.native.code
    check = hashlib.sha256(key + text + code).digest()
    return HEADER.pack(MAGIC, len(text), len(code), check) + text + code


def decode(key: bytes, data: bytes, homes: Homes = NO_HOMES) -> Stored | None:
    """
    The inverse of `encode`; None unless `data` is exactly what it made for `key`, and mentions
    no class but those in `homes`.
    """
    if len(data) < HEADER.size:
        return None
    magic, text_size, code_size, check = HEADER.unpack_from(data)
    body = data[HEADER.size :]
    if magic != MAGIC or len(body) != text_size + code_size:
        return None
    if hashlib.sha256(key + body).digest() != check:
        return None
    metadata = json.loads(body[:text_size])
    entries = {
        name: EntrySignature(
            tuple(NativeType(*t) for t in args), tuple(NativeType(*t) for t in results)
        )
        for name, (args, results) in metadata["entries"].items()
    }
    native = NativeObject(body[text_size:], entries, metadata["llvm"])
    try:
        return Stored(native, _unpack(metadata["result"], homes))
    except LookupError:
        return None


def _native(type_: NativeType) -> list[object]:
    return [type_.kind, type_.element, type_.rank, type_.strided]


def _pack(type_: Type) -> list[Any]:
    match type_:
        case Scalar(kind, bits):
            return ["scalar", kind, bits]
        case Complex(bits):
            return ["complex", bits]
        case Array(element, ndim, contiguous, aligned, writable):
            return ["array", _pack_element(element), ndim, contiguous, aligned, writable]
        case Tuple(elements, names, home):
            return ["tuple", names, class_name(home), *map(_pack, elements)]
        case NoneType() | Function():  # which function it was is part of the key
            return ["none"]
        case Part():
            raise AssertionError("a reference is no argument")


def _pack_element(element: Element) -> list[Any]:
    if not isinstance(element, Record):
        return _pack(element)
    fields = [[f.name, _pack_element(f.element), f.shape] for f in element.fields]
    return ["record", *fields]


def homes_in(types: Iterable[Type]) -> dict[str, type]:
    """
    The classes in `types` by name.

    Raises `LookupError` where two have one name: what is stored would not say which it means.
    """
    found: dict[str, type] = {}
    for type_ in types:
        if isinstance(type_, Tuple):
            inner = homes_in(type_.elements)
            inner |= {class_name(type_.home) or "": type_.home} if type_.home else {}
            if any(found.get(name, home) is not home for name, home in inner.items()):
                raise LookupError("two classes have one name")
            found |= inner
    return found


def class_name(home: type | None) -> str | None:
    return None if home is None else f"{home.__module__}.{home.__qualname__}"


def _unpack_element(packed: list[Any]) -> Element:
    match packed:
        case ["record", *fields]:
            unpacked = [Field(n, _unpack_element(e), tuple(shape)) for n, e, shape in fields]
            return Record(tuple(unpacked))
        case _:
            return cast("Element", _unpack(packed, {}))


def _unpack(packed: list[Any], homes: Homes) -> Type:
    match packed:
        case ["scalar", kind, bits]:
            return Scalar(kind, bits)
        case ["array", element, *rest]:
            return Array(_unpack_element(element), *rest)
        case ["complex", bits]:
            return Complex(bits)
        case ["tuple", names, home, *elements]:
            if home is not None and home not in homes:
                raise LookupError(home)
            kind = None if home is None else homes[home]
            return Tuple(tuple(_unpack(e, homes) for e in elements), tuple(names), kind)
        case _:
            return NoneType()
