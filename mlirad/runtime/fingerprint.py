"""
A hash of everything in Python that can change what a function compiles to.

It covers the source text of the function and of every function it can reach by the names it
uses, the values of the globals, closure cells, module attributes and defaults that it reads,
and where each source stands (file and line are part of error messages and of the IR). What
has no such hash, an array or an object of unknown kind, makes the function `NotCacheable`.

No compiler is imported: a hit in the disk cache must not pay for one.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import struct
import sys
import textwrap
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from mlirad.frontend.declared import declared
from mlirad.frontend.source import parse_text, unwrap

LIBRARIES = frozenset(
    {"builtins", "math", "cmath", "operator", "numpy", "numba", "numba_cuda", "numba_cuda_mlir"}
    | {"mlirad"}
)
"""Packages whose functions the frontend knows by name; their versions are in the cache key."""

OWN_PROGRAMS = frozenset({"cli", "demo"})
"""Parts of this package that hold kernels, which count like those of a user."""

CONSTANTS = (bool, int, float, complex, str, bytes, tuple, list, np.generic, np.dtype, np.ndarray)


class NotCacheable(Exception):
    """What a function compiles to depends on something that has no fingerprint."""


def fingerprint(function: object) -> bytes:
    """
    32 bytes that are equal only if `function` compiles to the same code.

    `function` is a Python function or anything with a `py_func` (a kernel, a numba object).
    An object may add to its fingerprint by a method `__mlirad_fingerprint__()` that returns a
    value of the kinds that a global may have.

    Raises:
        NotCacheable: there is no telling, and the function must be compiled.
    """
    walk = _Walk()
    walk.value(function, "the function")
    return walk.hash.digest()


class _Walk:
    """One traversal of what a function can reach; each function is visited once."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._numbers: dict[int, int] = {}
        self._held: list[object] = []  # no id may be reused while this lives

    def put(self, tag: str, *parts: bytes | str) -> None:
        """Adds parts in a form from which they could be read back, so none run together."""
        self.hash.update(f"{tag}{len(parts)}".encode())
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            self.hash.update(struct.pack("<Q", len(data)))
            self.hash.update(data)

    def value(self, value: object, name: str) -> None:
        """Adds a value that the code reads under `name`."""
        if self._plain(value, name):
            return
        inner = unwrap(value)
        if inner is not None and library(inner.__module__) is None:
            if inner is not value:
                self._wrapper(value)
            self._function(inner)
        elif isinstance(value, ModuleType):
            # Which of its attributes are read cannot be seen; those of a library do not vary.
            if library(value.__name__) is None:
                raise NotCacheable(f"module {value.__name__!r} is used as a value")
            self.put("module", value.__name__)
        elif (known := library_name(value)) is not None:
            self.put("library", known)
        else:
            kind = type(value)
            raise NotCacheable(f"{name!r} is a {kind.__module__}.{kind.__qualname__}")

    def _plain(self, value: object, name: str) -> bool:
        """Adds a constant and its type (1, True and 1.0 differ); False if `value` is none."""
        kind = type(value)
        if value is None or value is Ellipsis:
            self.put("singleton", repr(value))
        elif kind in (bool, int, str):
            self.put(kind.__name__, repr(value))
        elif kind is float:
            self.put("float", struct.pack("<d", value))
        elif kind is complex:
            number = cast(complex, value)
            self.put("complex", struct.pack("<dd", number.real, number.imag))
        elif kind is bytes:
            self.put("bytes", cast(bytes, value))
        elif kind in (tuple, list):
            elements = cast("tuple[object, ...] | list[object]", value)
            self.put(kind.__name__, str(len(elements)))
            if kind is list and self._hold(value):  # it may contain itself
                return True
            for element in elements:
                self.value(element, name)
        elif isinstance(value, np.dtype):
            self.put("dtype", repr(cast(object, value)))
        elif isinstance(value, np.generic) and kind.__module__ == "numpy":
            scalar = cast("np.generic[Any]", value)
            if scalar.dtype.hasobject:
                raise NotCacheable(f"{name!r} is a numpy scalar of Python objects")
            self.put("scalar", repr(scalar.dtype), scalar.tobytes())
        else:
            return False
        return True

    def _hold(self, value: object) -> bool:
        """Whether `value` was met before; it is numbered and kept alive if not."""
        if id(value) in self._numbers:
            self.put("again", str(self._numbers[id(value)]))
            return True
        self._numbers[id(value)] = len(self._held)
        self._held.append(value)
        return False

    def _wrapper(self, value: object) -> None:
        """The object around a function: a kernel, or what numba makes of one."""
        kind = type(value)
        self.put("wrapper", kind.__module__, kind.__qualname__, repr(declared(value)))
        more = getattr(value, "__mlirad_fingerprint__", None)
        if more is not None and not self._hold(value):
            self.value(more(), kind.__qualname__)

    def _function(self, function: FunctionType) -> None:
        if self._hold(function):
            return
        code = function.__code__
        source = source_of(function)
        self.put("function", code.co_filename, str(code.co_firstlineno), code.co_qualname, source)
        self.put("code", code.co_code, *code.co_names)
        self.value(function.__defaults__, "a default")
        for name, default in sorted((function.__kwdefaults__ or {}).items()):
            self.put("default", name)
            self.value(default, name)
        for chain in sorted(set(chains(source, code))):
            self._chain(function, chain)

    def _chain(self, function: FunctionType, chain: tuple[str, ...]) -> None:
        """Adds what `a.b.c` means inside `function`, or `a.b` if `c` is asked of a constant."""
        self.put("name", *chain)
        name = chain[0]
        value: object
        try:
            value = look_up(function, name)
        except NameError:
            self.put("unbound")
            return
        for attribute in chain[1:]:
            if is_known(value):
                break
            if not hasattr(value, attribute):
                self.put("missing")
                return
            name, value = attribute, getattr(value, attribute)
        self.value(value, name)


def source_of(function: FunctionType) -> str:
    """The source text of a function, decorators included."""
    if hasattr(function, "__wrapped__"):
        raise NotCacheable(f"{function.__qualname__} has the source of another function")
    try:
        lines, _ = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise NotCacheable(f"{function.__qualname__} has no source text") from error
    return textwrap.dedent("".join(lines))


def chains(source: str, code: CodeType) -> Iterator[tuple[str, ...]]:
    """Every name that the body reads and does not bind itself, with the attributes behind it."""
    try:
        tree = parse_text(source)
    except SyntaxError as error:  # a lambda in the middle of an expression
        raise NotCacheable(f"the source of {code.co_qualname} is part of a statement") from error
    # In Python 3.12 a name may be a variable of a comprehension and a global as well.
    bound = {*code.co_varnames, *code.co_cellvars} - {*code.co_names, *code.co_freevars}
    for body in bodies(tree):
        yield from (chain for chain in chains_in(body) if chain[0] not in bound)


def bodies(tree: ast.Module) -> Iterator[ast.AST]:
    """What runs when the function is called: no decorators, defaults and annotations of it."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield from statement.body
        else:
            yield statement


def chains_in(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The maximal `a.b.c` below `node`."""
    attributes: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        attributes.append(inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name):
        yield (inner.id, *reversed(attributes))
        return
    for child in ast.iter_child_nodes(inner):
        yield from chains_in(child)


def look_up(function: FunctionType, name: str) -> object:
    """The value of a free name; raises `NameError` if it has none."""
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            raise NameError(name) from None
    if name in function.__globals__:
        return function.__globals__[name]
    if hasattr(builtins, name):
        return getattr(builtins, name)
    raise NameError(name)


def library(module: str | None) -> str | None:
    """The package of `LIBRARIES` that a module belongs to; kernels of our own are user code."""
    package, _, inner = (module or "").partition(".")
    if package == "mlirad" and inner.partition(".")[0] in OWN_PROGRAMS:
        return None
    return package if package in LIBRARIES else None


def is_known(value: object) -> bool:
    """Whether `value` says all about its attributes: a constant, a function, part of a library."""
    if isinstance(value, ModuleType):
        return False
    if isinstance(value, CONSTANTS) or unwrap(value) is not None:
        return True
    return library_name(value) is not None


def library_name(value: object) -> str | None:
    """The full name of something that a library defines."""
    if isinstance(value, np.ufunc):
        if getattr(np, value.__name__, None) is value:
            return f"numpy.{value.__name__}"
    elif isinstance(value, type | FunctionType | BuiltinFunctionType):
        if library(value.__module__) is not None and "<" not in value.__qualname__:
            return f"{value.__module__}.{value.__qualname__}"
    elif library(type(value).__module__) is not None:
        # An object, such as `numba.float64`: it must be what the library knows by some name.
        for home in (type(value).__module__, getattr(value, "__module__", None) or ""):
            while library(home) is not None:
                for known, candidate in vars(sys.modules.get(home, builtins)).items():
                    if candidate is value:
                        return f"{home}.{known}"
                home = home.rpartition(".")[0]
    return None
