"""What an expression can be while compiling: numbers, arrays, tuples, and Python objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import SSAValue

from mlirad.frontend.builder import Value
from mlirad.frontend.types import Array, NoneType, Tuple, Type


@dataclass(frozen=True, slots=True)
class ArrayRef:
    """
    An array argument, under whatever name. `group` is its number in `mlirad.alias`: arrays of
    different groups never overlap; None where nothing is known.
    """

    ssa: SSAValue
    type: Array
    group: int | None = None


@dataclass(frozen=True, slots=True)
class TupleValue:
    """A tuple; exists only while compiling, its elements are separate values."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Static:
    """
    A Python object known while compiling: a module, function, type or None.

    `path` is set for the names of the GPU language, e.g. `threadIdx.x`, whatever module they
    came from.
    """

    object: object
    path: str | None = None


Operand = Value | ArrayRef | TupleValue | Static
NONE = Static(None)


def type_of(operand: Operand) -> Type | None:
    """The type of an operand; None for Python objects that are no values."""
    match operand:
        case Value() | ArrayRef():
            return operand.type
        case TupleValue(elements):
            types = [type_of(element) for element in elements]
            known = tuple(t for t in types if t is not None)
            return Tuple(known) if len(known) == len(types) else None
        case Static():
            return NoneType() if operand.object is None else None


def spell(operand: Operand) -> str:
    """How a message names the type of an operand."""
    if (type_ := type_of(operand)) is not None:
        return str(type_)
    if isinstance(operand, TupleValue):
        return f"({', '.join(map(spell, operand.elements))})"
    assert isinstance(operand, Static)
    name = operand.path or getattr(operand.object, "__name__", None)
    return f"'{name}'" if name else f"a '{type(operand.object).__name__}'"


def flatten(operand: Operand) -> list[SSAValue]:
    """The SSA values of an operand, in the order of `flatten_type`."""
    match operand:
        case Value() | ArrayRef():
            return [operand.ssa]
        case TupleValue(elements):
            return [ssa for element in elements for ssa in flatten(element)]
        case Static():
            return []


def rebuild(
    like: Type, values: Iterator[SSAValue], groups: Iterator[int | None] | None = None
) -> Operand:
    """The inverse of `flatten` for a type; takes as many of `values` as it needs."""
    match like:
        case Tuple(elements):
            return TupleValue(tuple(rebuild(e, values, groups) for e in elements))
        case Array():
            return ArrayRef(next(values), like, next(groups) if groups else None)
        case NoneType():
            return NONE
        case _:
            if groups:
                next(groups)
            return Value(next(values), like)


def array_leaves(operand: Operand) -> list[ArrayRef]:
    """The arrays in an operand, in order."""
    match operand:
        case ArrayRef():
            return [operand]
        case TupleValue(elements):
            return [a for element in elements for a in array_leaves(element)]
        case _:
            return []
