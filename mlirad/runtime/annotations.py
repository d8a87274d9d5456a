"""
How arguments and results take part in a derivative.

Each class is used in two ways: bare, to describe a parameter (`ad.reverse(f, ad.Duplicated)`),
and holding values (`ad.autodiff(ad.Reverse, f, ad.Duplicated(x, dx))`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from mlirad.runtime.recording import Mode

Forward, Reverse = Mode.FORWARD, Mode.REVERSE


class Annotation:
    """Base of all annotations."""

    modes: ClassVar[frozenset[Mode]] = frozenset()
    shadowed: ClassVar[bool] = False

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    @property
    def values(self) -> tuple[Any, ...]:
        """What the derived function takes for this argument."""
        return (self.value,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.values))})"


class _Shadowed(Annotation):
    """An annotation that carries a shadow after its value."""

    shadowed: ClassVar[bool] = True

    __slots__ = ("shadow",)

    def __init__(self, value: Any, shadow: Any):
        super().__init__(value)
        self.shadow = shadow

    @property
    def values(self) -> tuple[Any, ...]:
        return self.value, self.shadow


class Const(Annotation):
    """Held fixed, in both modes. The only annotation for ints and bools."""

    modes = frozenset(Mode)
    __slots__ = ()


class Active(Annotation):
    """
    Reverse mode: a float whose cotangent is returned, or a result whose seed is passed in.
    """

    modes = frozenset({Mode.REVERSE})
    __slots__ = ()


class Dual(_Shadowed):
    """
    Forward mode: a float or an array and its tangent. Tangents of arrays are overwritten as
    their arrays are; a `Dual` result is returned as `(primal, tangent)`.
    """

    modes = frozenset({Mode.FORWARD})
    __slots__ = ()


class Duplicated(_Shadowed):
    """
    Reverse mode: an array and its shadow. On entry the shadow holds the cotangent of the final
    contents, on return that of the initial contents; the array ends as the primal leaves it.
    """

    modes = frozenset({Mode.REVERSE})
    __slots__ = ()


def name_of(annotation: object) -> str:
    """How a message calls an annotation, class or instance."""
    kind = annotation if isinstance(annotation, type) else type(annotation)
    return kind.__name__
