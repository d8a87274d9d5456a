"""
Elements of arrays of complex numbers and records.

`a[i]` of an array of records is a reference, as in numba: it reads and writes the array. Fields
may be asked for before or after the index. An element that is a number is loaded at once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product, takewhile
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import SSAValue

from mlirad.frontend import complex_operators
from mlirad.frontend.builder import Value
from mlirad.frontend.complex_numbers import ComplexNumbers
from mlirad.frontend.operands import (
    ArrayRef,
    ComplexValue,
    Compound,
    Operand,
    Static,
    TupleValue,
    field_of,
    part_of,
    simplified,
    spell,
)
from mlirad.frontend.types import Complex, Element, Record, element_leaves
from mlirad.frontend.views import Cut, Slice, Subscript

Place: TypeAlias = ArrayRef | Compound
"""Where an assignment writes: a window, or a compound with all indices given."""

MOST_COPIED = 256
"""Numbers in a record that `a[i] = b[j]` copies one by one."""

ARRAY_ATTRIBUTES = ("shape", "ndim", "size", "dtype")


class Compounds(ComplexNumbers):
    """Reads and writes elements of all arrays, and their fields."""

    # Attributes and indices

    def compound_attribute(self, base: Compound, name: str, node: ast.Attribute) -> Operand:
        """`a.shape`, `a.field`, `a.real`."""
        if base.rest and name in ARRAY_ATTRIBUTES:
            return self.compound_shape(base, name, node)
        return self.read(self.component(base, name, node))

    def compound_shape(self, base: Compound, name: str, node: ast.AST) -> Operand:
        first, skipped = base.parts[0], len(base.given)
        axes = range(skipped, base.array.ndim)
        sizes = [self.count_value(self.size(first, axis)) for axis in axes]
        match name:
            case "shape":
                return TupleValue(tuple(sizes))
            case "ndim":
                return self.constant(base.rest)
            case "size":
                total = self.size(first, skipped)
                for axis in axes[1:]:
                    total = self.op(arith.MuliOp(total, self.size(first, axis)))
                return self.count_value(total)
            case _ if isinstance(base.array.element, Complex):
                return Static(np.dtype(str(base.array.element)))
            case _:
                what = f"'.dtype' of {spell(base)} is not compiled"
                raise self.unsupported(node, what, "ask for that of one field")

    def component(self, base: Compound, name: str, node: ast.AST) -> ArrayRef | Compound:
        """A field of records, or one part of complex numbers, not loaded yet."""
        element = base.array.element
        if isinstance(element, Complex) and name in ("real", "imag"):
            part = base.parts[name == "imag"]
            return simplified([part], part.type, base.given)
        number = element.find(name) if isinstance(element, Record) else None
        if isinstance(element, Complex):
            what = f"'.{name}' of an array of complex numbers is not compiled"
            raise self.unsupported(node, what, "write a 'for' loop over its elements")
        if number is None:
            way_out = "arrays have shape, ndim, size and dtype here"
            if isinstance(element, Record):
                way_out = f"its fields are {', '.join(field.name for field in element.fields)}"
            what = f"{spell(base)} has no field or attribute '{name}'"
            raise self.typing_error(node, what, way_out)
        return field_of(base, number)

    def compound_item(self, base: Compound, node: ast.Subscript) -> ArrayRef | Compound:
        """`base[i, j]`, `base[1:n]` or `base['field']`, not loaded yet."""
        name = self.field_name(node.slice)
        if name is not None:
            return self.component(base, name, node)
        element = base.array.element
        if not base.rest and isinstance(element, Record):
            return self.numbered_field(base, element, node)
        like = replace(base.parts[0], type=replace(base.array, ndim=base.rest))
        found = self.subscripts(like, node)
        self.locate(node)
        singles = list(takewhile(lambda item: not isinstance(item, Slice), found))
        if all(isinstance(item, Slice) and is_whole(item) for item in found[len(singles) :]):
            first, skipped = base.parts[0], len(base.given)
            indices = [
                self.wrapped(first, skipped + axis, *item)
                for axis, item in enumerate(singles)
                if not isinstance(item, Slice)
            ]
            return part_of(base, tuple(indices)) if indices else base
        return self.compound_window(base, found)

    def numbered_field(
        self, base: Compound, element: Record, node: ast.Subscript
    ) -> ArrayRef | Compound:
        """`record[k]`: a field by its position."""
        operand = self.expression(node.slice)
        number = operand.constant if isinstance(operand, Value) else None
        count = len(element.fields)
        if not isinstance(number, int) or not -count <= number < count:
            what = f"'{ast.unparse(node.slice)}' is no field of {spell(base)}"
            raise self.typing_error(node, what, "name one of its fields")
        return field_of(base, number % count)

    def compound_window(self, base: Compound, found: Sequence[Subscript]) -> ArrayRef | Compound:
        """The same window of each part; given indices are part of it."""
        first, skipped, zero = base.parts[0], len(base.given), self.index_constant(0)
        cuts = [Cut(index) for index in base.given]
        cuts += [self.cut(first, skipped + axis, item) for axis, item in enumerate(found)]
        kept = sum(cut.size is not None for cut in cuts)
        parts: list[ArrayRef] = []
        for part in base.parts:
            inner = range(base.array.ndim, part.type.ndim)
            whole = [Cut(zero, None, self.size(part, axis)) for axis in inner]
            parts.append(self.window(part, [*cuts, *whole]))
        return simplified(parts, replace(base.array, ndim=kept), ())

    def as_window(self, base: ArrayRef | Compound) -> ArrayRef | Compound:
        """An array without given indices."""
        if isinstance(base, ArrayRef) or not base.given:
            return base
        return self.compound_window(base, [Slice(None, None, None, ast.Pass())] * base.rest)

    def field_name(self, node: ast.expr) -> str | None:
        """The string that an index is, written down or known from outside."""
        match node:
            case ast.Constant(value=str() as name):
                return name
            case ast.Name(id=name) if name not in self.locals:
                found = self.expression(node)
                if isinstance(found, Static) and isinstance(found.object, str):
                    return found.object
            case _:
                pass
        return None

    # Places

    def target(self, node: ast.Subscript | ast.Attribute, statement: ast.stmt) -> Place:
        """Where an assignment writes: an element, or a window of an array."""
        base = self.expression(node.value)
        if isinstance(node, ast.Attribute):
            return self.target_field(base, node, statement)
        if isinstance(base, Compound):
            found = self.compound_item(base, node)
            if self.field_name(node.slice) is None:
                return (
                    found
                    if isinstance(found, Compound) and not found.rest
                    else self.as_window(found)
                )
            return self.target_number(found, node, statement)
        array = self.must_be_array(base, node)
        subscripts = self.subscripts(array, node)
        self.locate(statement)
        if (indices := self.single(array, subscripts)) is not None:
            return Compound((array,), array.type, tuple(indices))
        return self.window_of(array, subscripts)

    def target_field(self, base: Operand, node: ast.Attribute, statement: ast.stmt) -> Place:
        """The place of `base.name`."""
        if isinstance(base, Compound):
            return self.target_number(self.component(base, node.attr, node), node, statement)
        what = f"'{ast.unparse(node)}' cannot be assigned"
        way_out = "use a variable or an array element"
        if isinstance(base, ComplexValue):
            way_out = "assign a whole complex number"
        raise self.unsupported(statement, what, way_out)

    def target_number(self, found: Place, node: ast.expr, statement: ast.stmt) -> Place:
        if isinstance(found, ArrayRef) or found.rest:
            what = f"'{ast.unparse(node)}' is {spell(found)} and cannot be assigned as a whole"
            raise self.unsupported(statement, what, "assign its elements: …[:] = …")
        return found

    def read(self, found: ArrayRef | Compound) -> Operand:
        """The number at a place; what is no single number stays a reference."""
        if isinstance(found, ArrayRef) or found.rest or isinstance(found.array.element, Record):
            return found
        if isinstance(found.array.element, Complex):
            real, imag = (self.load(part, found.given) for part in found.parts)
            return ComplexValue(real, imag)
        return self.load(found.parts[0], found.given)

    def write(self, place: Place, operand: Operand, node: ast.stmt) -> None:
        if isinstance(place, ArrayRef):
            self.update(place, operand, node)
            return
        if place.rest:
            self.write_window(place, operand, node)
            return
        element = place.array.element
        if isinstance(element, Record):
            self.copy_record(place, operand, node)
        elif isinstance(element, Complex):
            if not isinstance(operand, (Value, ComplexValue)):
                what = f"an element of {place.array} cannot hold {spell(operand)}"
                raise self.typing_error(node, what, "store one number per element")
            number = complex_operators.convert(operand, element, self.builder)
            for part, value in zip(place.parts, (number.real, number.imag), strict=True):
                self.store(part, place.given, value, node)
        else:
            self.store(place.parts[0], place.given, operand, node)

    def write_window(self, place: Compound, operand: Operand, node: ast.stmt) -> None:
        """`a[1:n] = …`: part by part, which do not overlap each other."""
        values: Sequence[Operand]
        element = place.array.element
        source = self.as_window(operand) if isinstance(operand, Compound) else operand
        if isinstance(element, Complex) and isinstance(source, (Value, ComplexValue)):
            number = complex_operators.convert(source, element, self.builder)
            values = number.real, number.imag
        elif isinstance(source, Compound) and (
            source.array.element == element
            or (isinstance(source.array.element, Complex) and isinstance(element, Complex))
        ):
            values = source.parts
        else:
            what = f"elements of {place.array} cannot hold {spell(operand)}"
            raise self.typing_error(node, what, "assign an array of such elements, or in a loop")
        for part, value in zip(place.parts, values, strict=True):
            self.update(part, value, node)

    def copy_record(self, place: Compound, operand: Operand, node: ast.stmt) -> None:
        """`a[i] = b[j]`: all fields are read before the first is written."""
        wanted = place.array.element
        if not isinstance(operand, Compound) or operand.rest or operand.array.element != wanted:
            what = f"an element of {place.array} cannot hold {spell(operand)}"
            way_out = "assign an element of an array with the same fields, or field by field"
            raise self.typing_error(node, what, way_out)
        cells = list(record_cells(wanted))
        if len(cells) > MOST_COPIED:
            what = f"a record of {len(cells)} numbers is copied as a whole"
            raise self.unsupported(node, what, "copy its fields in loops")
        values = [
            self.load(operand.parts[leaf], [*operand.given, *self.constants_at(inner)])
            for leaf, inner in cells
        ]
        for (leaf, inner), value in zip(cells, values, strict=True):
            indices = [*place.given, *self.constants_at(inner)]
            self.store(place.parts[leaf], indices, value, node)

    def constants_at(self, indices: Sequence[int]) -> list[SSAValue]:
        return [self.index_constant(index) for index in indices]


def is_whole(item: Slice) -> bool:
    return item.start is item.stop is item.step is None


def record_cells(element: Element) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each number of a record: which of its leaves, and where in a sub-array."""
    assert isinstance(element, Record)
    for leaf, (_, _, shape) in enumerate(element_leaves(element)):
        for indices in product(*map(range, shape)):
            yield leaf, indices
