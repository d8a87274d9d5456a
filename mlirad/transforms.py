"""
Derivatives of functions as in JAX: of numbers and arrays, with respect to chosen arguments.

All of them work on copies of their array arguments, so the caller's arrays stay as they are,
also where the function writes into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.api import as_callable
from mlirad.callables import Compiled, Function
from mlirad.derived import Kind, is_active
from mlirad.errors import ActivityError, ArgumentTypeError, LaunchTypeError
from mlirad.frontend.types import Complex, Scalar, Type
from mlirad.launchable import Recordable
from mlirad.runtime import compounds
from mlirad.runtime.aliasing import alias_partition
from mlirad.runtime.annotations import Active, Const, Dual, Duplicated
from mlirad.runtime.arguments import flat_types, is_array, items, leaves, type_of
from mlirad.runtime.copies import Copies
from mlirad.runtime.recording import Mode, carries_derivatives

Wrt = int | Sequence[int]


def grad(f: Callable[..., Any], wrt: Wrt = 0) -> Callable[..., Any]:
    """
    The gradient of a function that returns one float.

    Args:
        f: a compiled function, or a plain one, which is compiled.
        wrt: which argument, or which arguments, to differentiate with respect to: floats, float
            arrays, tuples of floats.

    Returns:
        A function of the same arguments. It returns the gradient with the shape and dtype of
        the argument, a new array; with several arguments, a tuple of them.

    Raises:
        ArgumentTypeError: the function returns no float, or an argument has no derivative.
    """
    with_value = value_and_grad(f, wrt)

    def gradient(*args: Any) -> Any:
        return with_value(*args)[1]

    return gradient


def value_and_grad(f: Callable[..., Any], wrt: Wrt = 0) -> Callable[..., tuple[float, Any]]:
    """As `grad`, but the function returned gives `(value, gradient)`."""
    base = _function(f)
    chosen = Chosen.of(base, wrt)

    def value_and_gradient(*args: Any) -> tuple[float, Any]:
        args = base.bind(args, {})
        base.program.verify(args)
        try:
            value, cotangents = _pull_back(base, chosen, args, Copies(args), 1.0)
        except ArgumentTypeError:
            if not isinstance(result := _result_type(base, args), Scalar):
                raise _not_one_float(base, result) from None  # a seed of 1 fits no structure
            raise
        if not isinstance(value, float):
            raise _not_one_float(base, _result_type(base, args))
        return value, chosen.pick(cotangents)

    return value_and_gradient


def _result_type(base: Compiled, args: Sequence[Any]) -> Type:
    request = base.request(args, alias_partition(leaves(args)))
    return base.program.lower(request.types, request.alias).result


def _not_one_float(base: Compiled, result: Type) -> ArgumentTypeError:
    way_out = "use vjp, which takes a seed for each result"
    if isinstance(result, Complex):
        way_out = "return a real number, such as abs(z), or use vjp, which takes a complex seed"
    return ArgumentTypeError(
        f"{base.name}: grad is for functions that return one float, not {result}\n  {way_out}"
    )


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], wrt: Wrt | None = None
) -> tuple[Any, Any]:
    """
    The value of `f` at `primals` and its derivative along `tangents`.

    Args:
        f: a compiled function, or a plain one, which is compiled.
        primals: its arguments.
        tangents: one per argument in `wrt`, of the argument's shape and dtype.
        wrt: the arguments that have tangents; by default all that hold floats.

    Returns:
        `(value, tangent)`, both of the structure of what `f` returns.
    """
    base = _function(f)
    args = base.bind(tuple(primals), {})
    base.program.verify(args)
    chosen = Chosen.of(base, _floats(args) if wrt is None else wrt)
    given: Sequence[Any] = tangents
    if wrt is None and len(tangents) == len(args):
        given = [tangents[k] for k in chosen.places]
    if len(given) != len(chosen.places):
        raise LaunchTypeError(
            f"{base.name}: {len(tangents)} tangents for {len(chosen.places)} arguments\n"
            "  pass one tangent for each argument that is differentiated"
        )
    copies = Copies(args)
    kinds = [Dual if k in chosen.places else Const for k in range(len(args))]
    shadows = {k: _own(args[k], x) for k, x in zip(chosen.places, given, strict=True)}
    return _run(base, Mode.FORWARD, kinds, args, copies, shadows, Dual, ())


def vjp(
    f: Callable[..., Any], *primals: Any, wrt: Wrt | None = None
) -> tuple[Any, Callable[[Any], Any]]:
    """
    The value of `f` at `primals`, and a function that pulls seeds back through it.

    Args:
        f: a compiled function, or a plain one, which is compiled.
        primals: its arguments; copied, so they may change before the pullback is called.
        wrt: the arguments to differentiate with respect to; by default all that hold floats.

    Returns:
        `(value, pullback)`. `pullback(seed)`, with a seed of the structure of the value, gives the
        cotangent of the argument `wrt`, or a tuple of them if `wrt` is a sequence or left out.
        It may be called any number of times; each call runs the function again.
    """
    base = _function(f)
    args = base.bind(primals, {})
    base.program.verify(args)
    chosen = Chosen.of(base, _floats(args) if wrt is None else wrt)
    copies = Copies(args)
    value = base.run((), copies.primals())

    def pullback(seed: Any) -> Any:
        _, cotangents = _pull_back(base, chosen, args, copies, _own(value, seed))
        return chosen.pick(cotangents)

    return value, pullback


@dataclass(frozen=True, slots=True)
class Chosen:
    """The arguments to differentiate with respect to; `single` if one was asked for by itself."""

    places: tuple[int, ...]
    single: bool

    @staticmethod
    def of(base: Compiled, wrt: Wrt) -> Chosen:
        count = len(base.program.parameters)
        asked = (wrt,) if isinstance(wrt, int) else tuple(wrt)
        for place in asked:
            if not -count <= place < count:
                raise LaunchTypeError(
                    f"{base.name}: wrt={place}, but it has {count} arguments, numbered from 0"
                )
        places = tuple(place % count for place in asked)
        if len(set(places)) < len(places):
            raise LaunchTypeError(f"{base.name}: wrt={wrt} names an argument twice")
        return Chosen(places, isinstance(wrt, int))

    def pick(self, cotangents: dict[int, Any]) -> Any:
        picked = tuple(cotangents[place] for place in self.places)
        return picked[0] if self.single else picked


def _function(f: Callable[..., Any]) -> Compiled:
    compiled = as_callable(f)
    if not isinstance(compiled, Function):
        raise ArgumentTypeError(
            f"{compiled.name} is a kernel, which returns nothing\n"
            "  write a mlirad.jit function that launches it and returns numbers, or use "
            "mlirad.autodiff"
        )
    return compiled


def _floats(args: Sequence[Any]) -> tuple[int, ...]:
    """The places of the arguments that hold floats."""
    return tuple(
        k
        for k, value in enumerate(args)
        if any(is_active(leaf, Dual) for leaf in flat_types([type_of(value)]))
    )


def _own(value: Any, tangent: Any) -> Any:
    """
    A tangent or seed of `value` as our own: copies of its arrays, which will be overwritten. A
    real number is one of a complex number too.
    """
    wanted, given = compounds.elements(value), compounds.elements(tangent)
    if wanted is not None and given is not None and len(wanted) == len(given):
        return compounds.made_like(tangent, list(map(_own, wanted, given)))
    if isinstance(value, (complex, np.complexfloating)) and type(tangent) in (int, float):
        return complex(tangent)
    return np.array(tangent) if is_array(tangent) else tangent


def _pull_back(
    base: Compiled, chosen: Chosen, args: Sequence[Any], copies: Copies, seed: Any
) -> tuple[Any, dict[int, Any]]:
    """The value, and the cotangent of each chosen argument by its place."""
    if any(compounds.is_structure(args[k]) and _has_arrays(args[k]) for k in chosen.places):
        return _pull_back_leaves(base, chosen, args, copies, seed)
    kinds = [_reverse_kind(value) if k in chosen.places else Const for k, value in enumerate(args)]
    kinds = _spread(kinds, args)
    try:
        return _reverse(base, kinds, args, copies, seed)
    except ActivityError:
        # An array that is only worked in carries derivatives all the same.
        kinds = [Duplicated if _is_float_array(v) else k for k, v in zip(kinds, args, strict=True)]
        return _reverse(base, kinds, args, copies, seed)


def _reverse(
    base: Compiled, kinds: Sequence[Kind], args: Sequence[Any], copies: Copies, seed: Any
) -> tuple[Any, dict[int, Any]]:
    shadows = copies.zeros([kind is Duplicated for kind in kinds])
    result = _run(base, Mode.REVERSE, kinds, args, copies, shadows, Active, (seed,))
    value, *numbers = result if Active in kinds else (result,)
    cotangents = iter(numbers)
    found = {k: next(cotangents) for k, kind in enumerate(kinds) if kind is Active}
    return value, found | shadows


def _run(
    base: Compiled,
    mode: Mode,
    kinds: Sequence[Kind],
    args: Sequence[Any],
    copies: Copies,
    shadows: dict[int, Any],
    returns: Kind,
    seeds: tuple[Any, ...],
) -> Any:
    derived = base.derivative(mode, tuple(kinds), returns)
    values: list[Any] = []
    for place, (kind, value) in enumerate(zip(kinds, copies.primals(), strict=True)):
        values += [value, shadows[place]] if kind.shadowed else [value]
    return derived.run((), (*values, *seeds))


def _reverse_kind(value: Any) -> Kind:
    return Duplicated if is_array(value) else Active


def _is_float_array(value: Any) -> bool:
    return is_array(value) and carries_derivatives(value.dtype)


def _has_arrays(value: Any) -> bool:
    return any(map(is_array, items([value])))


def _pull_back_leaves(
    base: Compiled, chosen: Chosen, args: Sequence[Any], copies: Copies, seed: Any
) -> tuple[Any, dict[int, Any]]:
    """
    As `_pull_back`, where arrays and numbers stand side by side in one argument.

    Each number and array is an argument of its own then; the cotangents are put together.
    """
    flat = Recordable.of(base, args).compiled
    primals = copies.primals()
    shadows = copies.item_zeros()
    kinds: list[Kind] = []
    values: list[Any] = []
    for place, (value, zeros) in enumerate(zip(primals, shadows, strict=True)):
        for item, shadow in zip(items([value]), zeros, strict=True):
            active = _floats([item]) and (place in chosen.places or shadow is not None)
            for leaf, leaf_shadow in zip(leaves([item]), leaves([shadow]) or [None] * 2):
                kind = _reverse_kind(leaf) if active and _floats([leaf]) else Const
                kinds.append(kind)
                values += [leaf, leaf_shadow] if kind is Duplicated else [leaf]
    result = flat.derivative(Mode.REVERSE, tuple(kinds), Active).run((), (*values, seed))
    value, *numbers = result if Active in kinds else (result,)
    rest = iter(numbers)
    found = {
        place: _gathered(args[place], iter(shadows[place]), rest) for place in sorted(chosen.places)
    }
    return value, found


def _gathered(value: Any, shadows: Iterator[Any], numbers: Iterator[Any]) -> Any:
    """The cotangent of an argument, of its structure; `None` where there is no derivative."""
    if (elements := compounds.elements(value)) is not None:
        return compounds.made_like(value, [_gathered(e, shadows, numbers) for e in elements])
    if value is None or callable(value):
        return None
    shadow = next(shadows)
    if is_array(value):
        return shadow
    if not _floats([value]):
        return None
    parts = [next(numbers) for _ in leaves([value])]
    return parts[0] if len(parts) == 1 else complex(*parts)


def _spread(kinds: Sequence[Kind], args: Sequence[Any]) -> list[Kind]:
    """`Duplicated` also for float arrays that overlap one that is."""
    places = [k for k, value in enumerate(args) if _is_float_array(value)]
    groups = dict(zip(places, alias_partition([args[k] for k in places]), strict=True))
    touched = {groups[k] for k in places if kinds[k] is Duplicated}
    return [Duplicated if groups.get(k) in touched else kind for k, kind in enumerate(kinds)]
