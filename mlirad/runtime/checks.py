"""
Verification of derivative calls: everything is looked at before anything runs, and all
problems are reported in one error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.errors import AliasError, ArgumentTypeError, LaunchError, LaunchTypeError, MliradError
from mlirad.frontend import types as t
from mlirad.runtime import annotations as an
from mlirad.runtime import compounds
from mlirad.runtime.aliasing import overlapping_pairs
from mlirad.runtime.arguments import (
    AnyArray,
    Refused,
    address,
    is_array,
    item_names,
    items,
    leaf_names,
    leaves,
    overlaps_itself,
    type_of,
)
from mlirad.runtime.recording import Mode

Kind = type[an.Annotation]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: the class of its error, what it is, and the way out."""

    kind: type[MliradError]
    what: str
    way_out: str


def report(function: str, problems: Sequence[Problem]) -> None:
    """Raises all `problems` as one error: of the first one's class, which is often common."""
    if not problems:
        return
    if len(problems) == 1:
        raise problems[0].kind(f"{function}: {problems[0].what}\n  {problems[0].way_out}")
    lines = [f"{function}: {len(problems)} problems"]
    for number, problem in enumerate(problems, 1):
        lines += [f"  {number}. {problem.what}", f"     {problem.way_out}"]
    raise problems[0].kind("\n".join(lines))


def check_types(names: Sequence[str], values: Sequence[object]) -> Iterator[Problem]:
    """The values of a call without derivatives: whether native code can take each."""
    for name, value in zip(names, values, strict=True):
        try:
            type_ = type_of(value)
        except Refused as refused:
            yield Problem(refused.kind, f"argument {name!r} is {refused.what}", refused.way_out)
            continue
        if _holds_none(type_):
            yield Problem(
                ArgumentTypeError,
                f"argument {name!r} is {'None' if value is None else 'a tuple with None in it'}",
                "pass an array or a number",
            )


def _holds_none(type_: t.Type) -> bool:
    if isinstance(type_, t.Tuple):
        return any(map(_holds_none, type_.elements))
    return isinstance(type_, t.NoneType)


def check_kinds(names: Sequence[str], kinds: Sequence[object], mode: Mode) -> Iterator[Problem]:
    """Annotations against the parameters: how many, and whether they are of this mode."""
    if len(kinds) != len(names):
        yield Problem(
            LaunchTypeError,
            f"{_plural(len(names), 'argument')} ({', '.join(names) or 'none'}), "
            f"but {_plural(len(kinds), 'annotation')}",
            f"give one of {_choices(mode)} for each argument, in order",
        )
    for number, kind in enumerate(kinds):
        name = repr(names[number]) if number < len(names) else f"number {number + 1}"
        if not (isinstance(kind, type) and issubclass(kind, an.Annotation)):
            yield Problem(
                ArgumentTypeError,
                f"argument {name} has no annotation, but {kind!r}",
                f"annotate it: one of {_choices(mode)}",
            )
        elif mode not in kind.modes:
            yield Problem(
                ArgumentTypeError,
                f"argument {name} is annotated {kind.__name__}, which is for "
                f"{_other(mode)} mode, in a {mode.value} derivative",
                f"{mode.value} mode has {_choices(mode)}",
            )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _choices(mode: Mode) -> str:
    return "Const, Dual" if mode is Mode.FORWARD else "Const, Duplicated, Active"


def _other(mode: Mode) -> str:
    return "reverse" if mode is Mode.FORWARD else "forward"


@dataclass(frozen=True, slots=True)
class Argument:
    """One annotated argument of a call."""

    name: str
    kind: Kind
    value: Any
    shadow: Any = None


def check_values(arguments: Sequence[Argument]) -> Iterator[Problem]:
    """The values of one call against their annotations, and against each other."""
    for argument in arguments:
        yield from _check_argument(argument)
    yield from _check_overlaps(arguments)


def _check_argument(argument: Argument) -> Iterator[Problem]:
    try:
        type_ = type_of(argument.value)
    except Refused as refused:
        yield Problem(
            refused.kind, f"argument {argument.name!r} is {refused.what}", refused.way_out
        )
        return
    named, values = item_names(argument.name, type_), items([argument.value])
    if argument.kind.shadowed and not _same_structure(argument.value, argument.shadow):
        yield Problem(
            ArgumentTypeError,
            f"the shadow of argument {argument.name!r} is {_describe(argument.shadow)}, "
            f"but the argument is {_describe(argument.value)}",
            "a shadow has the type of its argument",
        )
        return
    shadows = items([argument.shadow]) if argument.kind.shadowed else [None] * len(values)
    carries = False
    for (name, item), value, shadow in zip(named, values, shadows, strict=True):
        if argument.kind is an.Const:
            continue
        if isinstance(item, t.Scalar) and item.kind != "f" and isinstance(type_, t.Tuple):
            continue  # an int among floats stays as it is
        carries = True
        yield from _CHECKS[argument.kind](Argument(name, argument.kind, value, shadow), item)
    if isinstance(type_, t.Tuple | t.Function) and argument.kind is not an.Const and not carries:
        yield _without_derivative(argument.name, type_, argument.kind)


def _same_structure(value: Any, shadow: Any) -> bool:
    inner, others = compounds.elements(value), compounds.elements(shadow)
    if inner is None or others is None:
        return inner is others and len(items([value])) == len(items([shadow]))
    return (
        type(value) is type(shadow)
        and len(inner) == len(others)
        and all(map(_same_structure, inner, others))
    )


def _without_derivative(name: str, type_: t.Type, kind: Kind) -> Problem:
    return Problem(
        ArgumentTypeError,
        f"argument {name!r} is {_a(type_)}, which has no derivative, but is annotated "
        f"{kind.__name__}",
        "annotate it Const",
    )


def _check_active(argument: Argument, type_: t.Type) -> Iterator[Problem]:
    if isinstance(type_, t.Array):
        yield Problem(
            ArgumentTypeError,
            f"argument {argument.name!r} is an array, but is annotated Active",
            "Active is for numbers: annotate arrays Duplicated, with a shadow",
        )
    elif isinstance(type_, t.Scalar) and type_.kind != "f":
        yield _integer_number(argument, type_)


def _integer_number(argument: Argument, type_: t.Scalar) -> Problem:
    way_out = "annotate it Const"
    if type_.kind in "iu":
        way_out += f", or pass a float: {argument.name}={float(argument.value)!r}"
    return Problem(
        ArgumentTypeError,
        f"argument {argument.name!r} is {_a(type_)}, which has no derivative, but is "
        f"annotated {argument.kind.__name__}",
        way_out,
    )


def _check_dual(argument: Argument, type_: t.Type) -> Iterator[Problem]:
    if isinstance(type_, t.Array):
        yield from _check_shadow(argument, type_)
    elif isinstance(type_, t.Scalar) and type_.kind != "f":
        yield _integer_number(argument, type_)
    elif not _is_tangent(argument.shadow, type_):
        way_out = "the tangent of a number is a number"
        if isinstance(type_, t.Complex):
            way_out = "the tangent of a complex number is one: write complex(…)"
        yield Problem(
            ArgumentTypeError,
            f"the tangent of argument {argument.name!r} is {_describe(argument.shadow)}, "
            f"but the argument is {_a(type_)}",
            way_out,
        )


def _check_duplicated(argument: Argument, type_: t.Type) -> Iterator[Problem]:
    if isinstance(type_, t.Array):
        yield from _check_shadow(argument, type_)
    else:
        way_out = "Duplicated is for arrays: annotate floats Active and other numbers Const"
        if not argument.name.isidentifier():
            way_out = (
                "numbers beside arrays have no shadow to add to: pass them apart, or as arrays of "
                "one element; grad and vjp take them as they are"
            )
        yield Problem(
            ArgumentTypeError,
            f"argument {argument.name!r} is {_a(type_)}, but is annotated Duplicated",
            way_out,
        )


_CHECKS: dict[Kind, Callable[[Argument, t.Type], Iterator[Problem]]] = {
    an.Active: _check_active,
    an.Dual: _check_dual,
    an.Duplicated: _check_duplicated,
}


def _check_shadow(argument: Argument, type_: t.Array) -> Iterator[Problem]:
    name, value, shadow = argument.name, argument.value, argument.shadow
    if not t.carries_derivatives(type_):
        yield _without_derivative(name, type_, argument.kind)
        return
    if not is_array(shadow):
        yield Problem(
            ArgumentTypeError,
            f"the shadow of argument {name!r} is {_describe(shadow)}, but the argument is an array",
            f"pass an array like it: np.zeros_like({name})",
        )
        return
    if shadow.dtype != value.dtype:
        yield Problem(
            ArgumentTypeError,
            f"the shadow of argument {name!r} has dtype {shadow.dtype}, "
            f"but the argument {value.dtype}",
            f"pass an array like it: np.zeros_like({name})",
        )
    if shadow.shape != value.shape:
        yield Problem(
            LaunchError,
            f"the shadow of argument {name!r} has shape {shadow.shape}, "
            f"but the argument {value.shape}",
            f"pass an array like it: np.zeros_like({name})",
        )
    if not shadow.flags.writeable and (argument.kind is an.Duplicated or value.flags.writeable):
        yield Problem(
            LaunchError,
            f"the shadow of argument {name!r} is read-only",
            "shadows are written: pass a writable array, such as shadow.copy()",
        )
    elif shadow.flags.writeable and overlaps_itself(shadow):
        yield Problem(
            AliasError,
            f"the shadow of argument {name!r} overlaps itself: its elements share memory",
            "pass a shadow whose elements are all different memory, such as shadow.copy()",
        )


@dataclass(frozen=True, slots=True)
class _Buffer:
    """An array of the call: the argument it is of, and its shadow if it has one."""

    name: str
    kind: Kind
    array: AnyArray
    shadow: AnyArray | None


def _buffers(arguments: Sequence[Argument]) -> Iterator[_Buffer]:
    for argument in arguments:
        try:
            type_ = type_of(argument.value)
        except Refused:
            continue
        names, values = leaf_names(argument.name, type_), leaves([argument.value])
        shadows: list[Any] = leaves([argument.shadow])
        if not argument.kind.shadowed or len(shadows) != len(values):
            shadows = [None] * len(values)
        whole = not isinstance(type_, t.Array) or isinstance(type_.element, t.Scalar)
        for name, value, shadow, leaf in zip(names, values, shadows, t.leaves(type_), strict=True):
            if is_array(value):
                usable = is_array(shadow) and shadow.shape == value.shape
                # Ints in a record have no derivative and stay as they are.
                kind = argument.kind if whole or t.is_float(leaf) else an.Const
                yield _Buffer(name, kind, value, shadow if usable else None)


def _check_overlaps(arguments: Sequence[Argument]) -> Iterator[Problem]:
    buffers = list(_buffers(arguments))
    shadowed = [buffer for buffer in buffers if buffer.shadow is not None]
    count = len(buffers)
    arrays = [b.array for b in buffers] + [b.shadow for b in shadowed if b.shadow is not None]
    pairs = set(overlapping_pairs(arrays))
    numbers = {id(buffer): k for k, buffer in enumerate(buffers)}
    primal_of = [numbers[id(buffer)] for buffer in shadowed]
    for i, j in sorted(pairs):
        if i < count <= j:
            of, primal = shadowed[j - count].name, buffers[i].name
            yield Problem(
                AliasError,
                f"the shadow of argument {of!r} overlaps argument {primal!r} in memory",
                "give every shadow memory of its own",
            )
        elif j < count:
            yield from _check_primals(buffers[i], buffers[j])
        elif (primal_of[i - count], primal_of[j - count]) not in pairs:
            first, second = shadowed[i - count].name, shadowed[j - count].name
            yield Problem(
                AliasError,
                f"the shadows of arguments {first!r} and {second!r} overlap, "
                "but the arguments do not",
                "give every shadow memory of its own",
            )


def _check_primals(a: _Buffer, b: _Buffer) -> Iterator[Problem]:
    """Two arguments that overlap: their shadows must overlap in exactly the same way."""
    if a.kind is an.Const and b.kind is an.Const:
        return
    if a.kind is an.Const or b.kind is an.Const:
        const, other = (a, b) if a.kind is an.Const else (b, a)
        yield Problem(
            AliasError,
            f"argument {const.name!r} is Const, but overlaps argument {other.name!r}, "
            f"which is {other.kind.__name__}",
            f"annotate both {other.kind.__name__}, with shadows that overlap in the same way, "
            "or pass a copy",
        )
        return
    if a.shadow is not None and b.shadow is not None and not _overlap_alike(a, b):
        yield Problem(
            AliasError,
            f"arguments {a.name!r} and {b.name!r} overlap in memory, but their shadows do not "
            "overlap in the same way",
            "take the shadows from one array as the arguments are taken from theirs",
        )


def _overlap_alike(a: _Buffer, b: _Buffer) -> bool:
    assert a.shadow is not None
    assert b.shadow is not None
    offsets = address(b.array) - address(a.array), address(b.shadow) - address(a.shadow)
    if offsets[0] != offsets[1]:
        return False
    if a.array.strides == a.shadow.strides and b.array.strides == b.shadow.strides:
        return True
    # The same array twice: its shadow may be laid out in another way, twice.
    return (
        offsets == (0, 0)
        and a.array.shape == b.array.shape
        and a.array.strides == b.array.strides
        and a.shadow.strides == b.shadow.strides
    )


def _is_tangent(value: object, type_: t.Type) -> bool:
    if isinstance(type_, t.Complex):
        return isinstance(value, (complex, np.complexfloating))
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _describe(value: object) -> str:
    if is_array(value):
        return f"an array of dtype {value.dtype}"
    return "None" if value is None else _a(type(value).__name__)


def _a(what: object) -> str:
    text = str(what)
    return f"{'an' if text[:1] in 'aeiou' else 'a'} {text}"
