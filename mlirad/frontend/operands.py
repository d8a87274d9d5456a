"""What an expression can be while compiling: numbers, arrays, tuples, and Python objects."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from xdsl.ir import SSAValue

from mlirad.frontend.builder import Value
from mlirad.frontend.types import (
    Array,
    Complex,
    Function,
    NoneType,
    Part,
    Record,
    Scalar,
    Tuple,
    Type,
    element_leaves,
)


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
class ComplexValue:
    """
    A complex number: two floats of one type.

    `constant` is set where the number is known while compiling.
    """

    real: Value
    imag: Value
    constant: complex | None = None

    @property
    def type(self) -> Complex:
        return Complex(2 * self.real.type.bits)


@dataclass(frozen=True, slots=True)
class Compound:
    """
    An array of complex numbers or records, or part of one.

    `parts` are the arrays of real numbers that it consists of, in the order of `leaves(array)`.
    The first indices of all of them may be given: `a[i]` of a record array is a reference.
    """

    parts: tuple[ArrayRef, ...]
    array: Array
    given: tuple[SSAValue, ...] = ()

    @property
    def rest(self) -> int:
        """How many more indices lead to an element."""
        return self.array.ndim - len(self.given)

    @property
    def type(self) -> Array | Part:
        return Part(self.array, len(self.given)) if self.given else self.array


@dataclass(frozen=True, slots=True)
class TupleValue:
    """
    A tuple; exists only while compiling, its elements are separate values.

    `names` and `home` are those of `Tuple`, for named tuples and instances of dataclasses.
    """

    elements: tuple[Operand, ...]
    names: tuple[str, ...] = ()
    home: type | None = None

    @property
    def is_object(self) -> bool:
        """As of `Tuple`."""
        return self.home is not None and not issubclass(self.home, tuple)


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


Number = Value | ComplexValue
Operand = Value | ComplexValue | ArrayRef | Compound | TupleValue | Static | RangeValue
NONE = Static(None)


def type_of(operand: Operand) -> Type | None:
    """The type of an operand; None for Python objects that are no values."""
    match operand:
        case Value() | ComplexValue() | ArrayRef() | Compound():
            return operand.type
        case TupleValue(elements, names, home):
            types = [type_of(element) for element in elements]
            known = tuple(t for t in types if t is not None)
            return Tuple(known, names, home) if len(known) == len(types) else None
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
        case ComplexValue(real, imag):
            return [real.ssa, imag.ssa]
        case Compound(parts, _, given):
            return [*(part.ssa for part in parts), *given]
        case TupleValue(elements):
            return [ssa for element in elements for ssa in flatten(element)]
        case RangeValue(start, stop, step):
            return [start.ssa, stop.ssa, step.ssa]
        case Static():
            return []


def rebuild(like: Type, values: Iterator[SSAValue]) -> Operand:
    """The inverse of `flatten` for a type without arrays; takes as many values as it needs."""
    match like:
        case Scalar():
            return Value(next(values), like)
        case Complex():
            return ComplexValue(Value(next(values), like.part), Value(next(values), like.part))
        case Tuple(elements, names, home):
            return TupleValue(tuple(rebuild(e, values) for e in elements), names, home)
        case Array() | Part():
            raise AssertionError("an array has more to it than its SSA value")
        case NoneType():
            return NONE
        case Function(found):
            return Static(found)


def part_of(whole: Operand, given: tuple[SSAValue, ...]) -> Compound:
    """A reference into an array."""
    if isinstance(whole, ArrayRef):
        return Compound((whole,), whole.type, given)
    assert isinstance(whole, Compound)
    return Compound(whole.parts, whole.array, (*whole.given, *given))


def field_of(base: Compound, number: int) -> ArrayRef | Compound:
    """One field of a record, or of all records of an array; sub-arrays have more axes."""
    element = base.array.element
    assert isinstance(element, Record)
    before = sum(len(list(element_leaves(f.element))) for f in element.fields[:number])
    field = element.fields[number]
    count = len(list(element_leaves(field.element)))
    ndim = base.array.ndim + len(field.shape)
    array = replace(base.array, element=field.element, ndim=ndim)
    return simplified(base.parts[before : before + count], array, base.given)


def simplified(
    parts: Sequence[ArrayRef], array: Array, given: tuple[SSAValue, ...]
) -> ArrayRef | Compound:
    """An array of real numbers is itself as long as no index is given."""
    if isinstance(array.element, Scalar) and not given:
        return parts[0]
    return Compound(tuple(parts), array, given)


def owners(array: ArrayRef) -> tuple[Origin, ...]:
    """The arrays that may own the elements of `array`."""
    return array.origin.origins if isinstance(array.origin, Selected) else (array.origin,)


def array_leaves(operand: Operand) -> list[ArrayRef]:
    """The arrays in an operand, in order."""
    match operand:
        case ArrayRef():
            return [operand]
        case Compound(parts):
            return list(parts)
        case TupleValue(elements):
            return [a for element in elements for a in array_leaves(element)]
        case _:
            return []
