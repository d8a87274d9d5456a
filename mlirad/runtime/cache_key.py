"""
The key of a program in the disk cache: a hash over everything that can change its code.

That is what the caller gives (fingerprint, types, alias partition, activities, options) and
the environment: this package's own source, the versions of its tools, the processor. A key
that missed something would lead to code for another program, and to a wrong derivative.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from mlirad.frontend.types import Function
from mlirad.runtime.fingerprint import fingerprint

TOOLS = ("xdsl", "llvmlite", "numpy", "numba")
WITHOUT_CODE = frozenset({"__pycache__", "cli", "data", "demo"})
"""Folders of this package that have no part in compiling."""


def key(*parts: object) -> bytes:
    """
    32 bytes for `parts` in the present environment.

    Parts are numbers, strings, bytes, None, enums, classes, and tuples, lists, mappings and
    dataclasses of them; anything else is a TypeError, because its `repr` may not say all.
    A function that has no fingerprint raises `NotCacheable`.
    """
    return hashlib.sha256(environment() + canonical(parts)).digest()


def canonical(part: object) -> bytes:
    """Bytes that are equal only for equal parts of equal types."""
    kind = type(part)
    tag = f"{kind.__module__}.{kind.__qualname__}".encode()
    if part is None or kind in (bool, int, str):
        return framed(tag, repr(part).encode())
    if kind is float:
        return framed(tag, struct.pack("<d", part))
    if kind is bytes:
        return framed(tag, cast(bytes, part))
    if isinstance(part, Enum):
        return framed(tag, part.name.encode())
    if isinstance(part, type):
        return framed(b"class", f"{part.__module__}.{part.__qualname__}".encode())
    if kind in (tuple, list):
        return framed(tag, *map(canonical, cast("tuple[object, ...]", part)))
    if kind is dict:
        items = sorted((canonical(k), canonical(v)) for k, v in cast(Any, part).items())
        return framed(tag, *(word for item in items for word in item))
    if kind is frozenset:
        return framed(tag, *sorted(map(canonical, cast("frozenset[object]", part))))
    if isinstance(part, Function):
        return framed(b"function", fingerprint(part.object))
    if is_dataclass(part):
        return framed(tag, *(canonical(getattr(part, field.name)) for field in fields(part)))
    raise TypeError(f"{part!r} cannot be part of a cache key")


def framed(tag: bytes, *words: bytes) -> bytes:
    """Words with their number and lengths, so that none run together."""
    lengths = struct.pack(f"<{len(words) + 2}Q", len(tag), len(words), *map(len, words))
    return lengths + tag + b"".join(words)


@cache
def environment() -> bytes:
    """A hash of what code depends on besides the program: our own source, tools, processor."""
    return canonical((own_source(), tools(), processor()))


def own_source() -> bytes:
    """
    A hash of every Python file of this package: all rules, passes and emitters are in there.

    Of the contents, because files of a wheel may all have the same time.
    """
    root = str(Path(__file__).parents[1])
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(root, followlinks=True):
        folders[:] = sorted(set(folders) - WITHOUT_CODE)
        for name in sorted(files):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    digest.update(framed(b"file", path[len(root) :].encode(), file.read()))
    return digest.digest()


def tools() -> tuple[str, ...]:
    """The interpreter, the C library, and the versions of the packages we compile with."""
    libc = os.confstr("CS_GNU_LIBC_VERSION") if hasattr(os, "confstr") else None
    versions = (f"{name} {version(name)}" for name in TOOLS)
    return (sys.version, sys.platform, libc or "", *versions)


def version(package: str) -> str:
    """
    The version of an installed package, which is not imported.

    From the name of its metadata folder; `importlib.metadata` takes ten times as long.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return "missing"
    prefix, suffix = f"{package}-", ".dist-info"
    for name in os.listdir(Path(spec.origin).parents[1]):
        if name.startswith(prefix) and name.endswith(suffix):
            return name.removeprefix(prefix).removesuffix(suffix)
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as slow_version

    try:
        return slow_version(package)
    except PackageNotFoundError:  # a source tree on the path
        return f"{spec.origin} {os.stat(spec.origin).st_mtime_ns}"


def processor() -> tuple[str, ...]:
    """The processor that code is compiled for, and the LLVM that does it."""
    llvm: Any = import_module("llvmlite.binding")  # has no types
    features = llvm.get_host_cpu_features().flatten()
    return (
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        features,
        ".".join(map(str, llvm.llvm_version_info)),
    )
