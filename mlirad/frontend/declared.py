"""
What a numba object was declared with that changes what it computes.

`fastmath`, `parallel`, `cache` and the like permit numba something, so that compiling without
them is right. Types that a declaration forces are compared with those that a call has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from mlirad.frontend.types import Array, NoneType, Tuple, Type

Problem = tuple[str, str]
"""What is wrong, and the way out."""

REFUSED = {
    "boundscheck": "leave it out: indices are not checked in compiled code yet",
    "forceobj": "leave it out: there is no object mode",
}
"""Options of numba that are refused if they are set, with the way out."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Types of arguments that a function was compiled for ahead of calls, and of its result."""

    arguments: tuple[str, ...]
    result: str | None

    def __str__(self) -> str:
        return f"({', '.join(self.arguments)}) -> {self.result or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration; without `signatures` the function takes the types that it is called with."""

    options: tuple[str, ...] = ()
    signatures: tuple[Signature, ...] = ()

    def lost(self, name: str) -> Problem | None:
        """An option whose meaning compiled code would not have."""
        for option in self.options:
            way_out = REFUSED.get(option, "leave it out: types follow from the arguments")
            return f"'{name}' was declared with '{option}'", way_out
        return None

    def converted(self, name: str, types: Sequence[Type], result: Type) -> Problem | None:
        """A call whose arguments or result numba would have converted."""
        called = tuple(map(spell, types))
        returned = None if isinstance(result, NoneType) else spell(result)
        fits = any(s.arguments == called and s.result == returned for s in self.signatures)
        if fits or not self.signatures:
            return None
        known = ", ".join(map(str, self.signatures))
        return (
            f"'{name}' was declared for {known}, but this call is {Signature(called, returned)}, "
            "which numba would convert",
            "pass arguments of the declared types, or leave the signature out",
        )


NOTHING = Declared()


def declared(found: object) -> Declared:
    """How a kernel, function or numba object was declared. numba need not be imported."""
    program = getattr(found, "program", None)
    if isinstance(held := getattr(program, "declared", None), Declared):
        return held
    if type(found).__module__.partition(".")[0] != "numba":
        return NOTHING
    targets = cast("Mapping[str, object]", getattr(found, "targetoptions", {}))
    options = [name for name in REFUSED if targets.get(name)]
    if getattr(found, "locals", None):
        options.append("locals")
    if getattr(found, "_can_compile", True):
        return Declared(tuple(options))
    overloads = cast("Mapping[Sequence[Any], Any]", getattr(found, "overloads", {}))
    signatures = [
        Signature(tuple(map(spell_numba, arguments)), returned(compiled))
        for arguments, compiled in overloads.items()
    ]
    return Declared(tuple(options), tuple(signatures))


def returned(compiled: Any) -> str | None:
    type_ = compiled.signature.return_type
    return None if str(type_) in ("none", "void") else spell_numba(type_)


def spell(type_: Type) -> str:
    """A type without its layout, which changes no value."""
    match type_:
        case Tuple(elements):
            return f"({', '.join(map(spell, elements))})"
        case Array():
            return f"{type_.element}[{', '.join([':'] * type_.ndim)}]"
        case _:
            return str(type_)


def spell_numba(type_: Any) -> str:
    """As `spell`, for a type of numba."""
    if hasattr(type_, "types"):
        return f"({', '.join(map(spell_numba, type_.types))})"
    if hasattr(type_, "ndim"):
        return f"{type_.dtype}[{', '.join([':'] * type_.ndim)}]"
    return str(type_)
