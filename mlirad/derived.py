"""Programs that are derivatives of other programs: a wrapper function around one request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlirad.errors import ArgumentTypeError, LaunchTypeError
from mlirad.frontend import types as t
from mlirad.program import Lowered, Program
from mlirad.runtime.annotations import Active, Annotation, Const, Dual
from mlirad.runtime.arguments import flat_types, is_array
from mlirad.runtime.checks import Argument, check_values, report
from mlirad.runtime.compounds import is_structure
from mlirad.runtime.recording import Mode

Kind = type[Annotation]
SEED = "dret"
"""The name of the last parameter of a reverse derivative, the seed of the result."""


def is_active(type_: t.Type, kind: Kind) -> bool:
    """Whether (part of) an argument or result annotated `kind` has a derivative."""
    return kind is not Const and t.carries_derivatives(type_)


def shadow_type(type_: t.Type) -> t.Type:
    """The type of the derivative of a value: the same structure, `None` where there is none."""
    if isinstance(type_, t.Tuple):
        return replace(type_, elements=tuple(map(shadow_type, type_.elements)))
    return type_ if is_active(type_, Dual) else t.NoneType()


def bundle(parts: Sequence[t.Type]) -> t.Type:
    """The type of a result with these parts: one is bare, several are a tuple."""
    present = [part for part in parts if not isinstance(part, t.NoneType)]
    if len(present) == 1:
        return present[0]
    return t.Tuple(tuple(present)) if present else t.NoneType()


def fit_shadow(primal: t.Type, shadow: t.Type) -> t.Type:
    """The type as which a shadow is passed: that of its primal where there is a derivative."""
    if isinstance(primal, t.Tuple) and isinstance(shadow, t.Tuple):
        pairs = zip(primal.elements, shadow.elements, strict=True)
        return replace(shadow, elements=tuple(fit_shadow(p, s) for p, s in pairs))
    return primal if is_active(primal, Dual) else shadow


def fit_primal(primal: t.Type, shadow: t.Type) -> t.Type:
    """The type of a primal that has the layout of its shadow in common with it."""
    if isinstance(primal, t.Tuple) and isinstance(shadow, t.Tuple):
        pairs = zip(primal.elements, shadow.elements, strict=True)
        return replace(primal, elements=tuple(fit_primal(p, s) for p, s in pairs))
    if isinstance(primal, t.Array) and isinstance(shadow, t.Array):
        return replace(
            primal,
            contiguous=primal.contiguous and shadow.contiguous,
            aligned=primal.aligned and shadow.aligned,
        )
    return primal


@dataclass(frozen=True, slots=True)
class Part:
    """One parameter of the base program with what the derived program has for it."""

    name: str
    kind: Kind
    primal: Any
    shadow: Any


@dataclass(eq=False)
class DerivedProgram(Program):
    """
    The derivative of `base` in one mode. Its parameters are those of `base`, each followed by
    a shadow where its annotation says so, and the seed of the result if that is `Active`.

    `returns` says how the result takes part; None stands for `Active` or `Dual` where it holds
    floats, else `Const`.
    """

    base: Program
    mode: Mode
    kinds: tuple[Kind, ...]
    returns: Kind | None = None
    immediate: bool = False
    """As `autodiff` wants it: seeds are 1, the result is always a tuple `(primal, …)`."""
    deterministic: bool = False
    """Whether one worker runs all launches."""
    name: str = field(init=False)
    is_kernel: bool = field(init=False)
    parameters: tuple[str, ...] = field(init=False)
    optional: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.name = f"{self.mode.value}_{self.base.name}"
        self.is_kernel = self.base.is_kernel
        names: list[str] = []
        for name, kind in zip(self.base_parameters, self.kinds, strict=True):
            names += [name, f"d{name}"] if kind.shadowed else [name]
        seeded = self.mode is Mode.REVERSE and not self.is_kernel and not self.immediate
        if seeded and self.returns is Active:
            names.append(SEED)
        self.parameters = tuple(names)
        self.optional = (SEED,) if seeded and self.returns is None else ()

    @property
    def base_parameters(self) -> tuple[str, ...]:
        """The parameters of `base` that the annotations are for."""
        return (*self.base.parameters, *self.base.optional)[: len(self.kinds)]

    @property
    def sizes(self) -> int:
        return self.base.sizes

    def fingerprint(self) -> bytes:
        kinds = ",".join(kind.__name__ for kind in self.kinds)
        returns = self.returns.__name__ if self.returns else "default"
        flags = f"{self.immediate},{self.deterministic}"
        text = f"{self.mode.value}({kinds})->{returns},{flags}|"
        return text.encode() + self.base.fingerprint()

    def arguments(self, args: Sequence[Any]) -> list[Argument]:
        """The values of a call, by parameter of `base`; then the seed."""
        parts, seeds = self.parts(args)
        found = [Argument(p.name, p.kind, p.primal, p.shadow) for p in parts]
        return [*found, *(Argument(SEED, Const, seed) for seed in seeds)]

    def verify(self, args: Sequence[Any]) -> None:
        report(self.name, list(check_values(self.arguments(args))))
        self.base.verify([part.primal for part in self.parts(args)[0]])

    def verify_again(self, args: Sequence[Any], alias: Sequence[int]) -> None:
        if not self._is_plain(args, alias):
            self.verify(args)
            return
        # What is differentiated may be a derivative, whose shadows are primals here.
        self.base.verify_again([part.primal for part in self.parts(args)[0]], ())

    def _is_plain(self, args: Sequence[Any], alias: Sequence[int]) -> bool:
        """Whether nothing overlaps, and shadows have the shapes of their arrays."""
        used = [number for number in alias if number >= 0]
        if used and max(used) + 1 < len(used):
            return False
        values = iter(args)
        for kind in self.kinds:
            value = next(values)
            if kind.shadowed:
                shadow = next(values)
                if is_structure(value):
                    return False
                if is_array(value) and value.shape != shadow.shape:
                    return False
        return True

    def parts(self, values: Sequence[Any]) -> tuple[list[Part], list[Any]]:
        """`values` (or types) by parameter of `base`, and the seeds that follow them."""
        rest: Iterator[Any] = iter(values)
        found: list[Part] = []
        for name, kind in zip(self.base_parameters, self.kinds, strict=True):
            primal = next(rest)
            found.append(Part(name, kind, primal, next(rest) if kind.shadowed else t.NoneType()))
        return found, list(rest)

    def agree(self, types: Sequence[t.Type]) -> tuple[t.Type, ...]:
        parts, seeds = self.parts(types)
        primals = self.base.agree([fit_primal(part.primal, part.shadow) for part in parts])
        agreed: list[t.Type] = []
        for part, primal in zip(parts, primals, strict=True):
            agreed.append(primal)
            if part.kind.shadowed:
                agreed.append(fit_shadow(primal, part.shadow))
        return (*agreed, *seeds)

    def lower(self, types: Sequence[t.Type], alias: Sequence[int]) -> Lowered:
        from mlirad.requests import Wrapping, keep_order, wrap

        parts, seeds = self.parts(self.agree(types))
        numbers = iter(alias)
        primal_alias: list[int] = []
        for part in parts:
            primal_alias += [next(numbers) for _ in flat_types([part.primal])]
            for _ in flat_types([part.shadow]):
                next(numbers)
        base = self.base.lower([part.primal for part in parts], primal_alias)
        if self.deterministic:
            keep_order(base.module)
        parts = [replace(p, primal=type_) for p, type_ in zip(parts, base.types, strict=True)]
        parts = [
            replace(p, shadow=fit_shadow(p.primal, p.shadow)) if p.kind.shadowed else p
            for p in parts
        ]
        returns = self.result_kind(base.result)
        seed = self._seed_type(base.result, returns, seeds)
        return wrap(Wrapping(self, base, parts, primal_alias, returns, seed))

    def result_kind(self, result: t.Type) -> Kind:
        """How the result of `base` takes part, which its type may decide."""
        differentiable = any(is_active(leaf, Dual) for leaf in flat_types([result]))
        if self.returns is None:
            default = Active if self.mode is Mode.REVERSE else Dual
            return default if differentiable else Const
        if self.returns is not Const and not differentiable:
            raise ArgumentTypeError(
                f"{self.base.name}: ret={self.returns.__name__}, but the result is of type "
                f"{result}, which has no derivative\n  leave 'ret' out, or say ret=Const"
            )
        return self.returns

    def _seed_type(self, result: t.Type, returns: Kind, seeds: Sequence[t.Type]) -> t.Type:
        """The type of the seed, which `seeds`, the types passed, must agree with."""
        if self.immediate:
            return t.NoneType()
        expected = shadow_type(result) if returns is Active else t.NoneType()
        given = seeds[0] if seeds else t.NoneType()
        if isinstance(expected, t.NoneType):
            if seeds and not isinstance(given, t.NoneType):
                raise LaunchTypeError(
                    f"{self.name}: a seed was passed, but the result of {self.base.name} "
                    f"takes none: it is {'Const' if result != t.NoneType() else 'None'}\n"
                    "  leave the last argument out"
                )
            return expected
        if not seeds:
            raise LaunchTypeError(
                f"{self.name}: argument {SEED!r} is missing, the seed of the result\n"
                "  pass it last (1.0 gives the gradient), or build the derivative with ret=ad.Const"
            )
        if not _seeds(expected, given):
            raise ArgumentTypeError(
                f"{self.name}: argument {SEED!r} is of type {given}, but the result is {result}\n"
                "  pass one number per float in the result, in the same structure; for a complex "
                "number a complex one: complex(1)"
            )
        return fit_shadow(result, given)


def _seeds(expected: t.Type, given: t.Type) -> bool:
    """Whether a value of type `given` can be the seed of a result with shadow `expected`."""
    match expected, given:
        case t.Tuple(), t.Tuple():
            return len(expected.elements) == len(given.elements) and all(
                map(_seeds, expected.elements, given.elements)
            )
        case t.Scalar(), t.Scalar():
            return given.kind != "b"
        case t.Complex(), t.Complex():
            return True
        case t.NoneType(), _:
            return not isinstance(given, (t.Tuple, t.Array))
        case _:
            return False
