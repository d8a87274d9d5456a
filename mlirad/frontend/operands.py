"""What an expression can be while compiling: numbers, arrays, tuples, and Python objects."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.ir import SSAValue

from mlirad.frontend.builder import Value
from mlirad.frontend.types import Array, Function, NoneType, Scalar, Tuple, Type


class Origin(NamedTuple):
    """Names an array that owns its elements: an argument, or what a call in the source made."""

    is_argument: bool
    key: Hashable


@dataclass(frozen=True, slots=True)
class Selected:
    """
    Stands for the array of `origins` that has this `number`, known at run time only.

    `windows` says for each which part of it the array is; None is the whole.
    """

    number: SSAValue
    origins: tuple[Origin, ...]
    windows: tuple[Window | None, ...]


@dataclass(frozen=True, slots=True)
class ArrayRef:
    """
    An array, under whatever name.

    `group` is the number in `mlirad.alias` of the argument that it is or is a window of: arrays
    of different groups never overlap; None where nothing is known. `origin` names the array
    that owns the elements, in the same way in every walk of the function.
    """

    ssa: SSAValue
    type: Array
    group: int | None
    origin: Origin | Selected
    window: Window | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Window:
    """
    Which part of `base` an array is: elements `start + k * step`, `k < size`, along each axis
    of the base in memory. `kept` lists those that the array has; along the others `size` is 1.
    """

    base: ArrayRef
    starts: tuple[SSAValue, ...]
    steps: tuple[SSAValue, ...]
    sizes: tuple[SSAValue, ...]
    kept: tuple[int, ...]


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


@dataclass(frozen=True, slots=True)
class RangeValue:
    """`range(start, stop, step)`, whose elements have this `type`."""

    start: Value
    stop: Value
    step: Value
    type: Scalar


Operand = Value | ArrayRef | TupleValue | Static | RangeValue
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
        case RangeValue():
            return None


def spell(operand: Operand) -> str:
    """How a message names the type of an operand."""
    if (type_ := type_of(operand)) is not None:
        return str(type_)
    if isinstance(operand, TupleValue):
        return f"({', '.join(map(spell, operand.elements))})"
    if isinstance(operand, RangeValue):
        return "a 'range'"
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
        case RangeValue(start, stop, step):
            return [start.ssa, stop.ssa, step.ssa]
        case Static():
            return []


def rebuild(like: Type, values: Iterator[SSAValue]) -> Operand:
    """The inverse of `flatten` for a type without arrays; takes as many values as it needs."""
    match like:
        case Tuple(elements):
            return TupleValue(tuple(rebuild(e, values) for e in elements))
        case Array():
            raise AssertionError("an array has more to it than its SSA value")
        case NoneType():
            return NONE
        case Function(found):
            return Static(found)
        case Scalar():
            return Value(next(values), like)


def owners(array: ArrayRef) -> tuple[Origin, ...]:
    """The arrays that may own the elements of `array`."""
    return array.origin.origins if isinstance(array.origin, Selected) else (array.origin,)


def array_leaves(operand: Operand) -> list[ArrayRef]:
    """The arrays in an operand, in order."""
    match operand:
        case ArrayRef():
            return [operand]
        case TupleValue(elements):
            return [a for element in elements for a in array_leaves(element)]
        case _:
            return []
