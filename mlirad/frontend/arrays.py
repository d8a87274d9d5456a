"""Array elements and attributes: indices with Python's negative ones, loads, stores, shapes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from mlirad.frontend import casts
from mlirad.frontend.body import INDEX, Body
from mlirad.frontend.builder import Value
from mlirad.frontend.ir_types import INTEGERS
from mlirad.frontend.operands import (
    ArrayRef,
    ComplexValue,
    Compound,
    Operand,
    Static,
    TupleValue,
    spell,
)
from mlirad.frontend.types import BOOL

T = TypeVar("T")
SIGNED_LESS, NOT_EQUAL = 2, 1


class Arrays(Body):
    """What can be done with arrays, and with tuples by index."""

    def size(self, array: ArrayRef, axis: int) -> SSAValue:
        """The number of elements along one axis, as an `index`."""
        axis = array.type.axis(axis)
        known = self.sizes.get((array.ssa, axis))
        if known is None:
            with self.at_entry():
                number = self.op(arith.ConstantOp(IntegerAttr(axis, INDEX)))
                op = memref.DimOp.create(operands=[array.ssa, number], result_types=[INDEX])
                known = self.op(op)
            self.sizes[array.ssa, axis] = known
        return known

    def shape(self, array: ArrayRef) -> TupleValue:
        sizes = (self.count_value(self.size(array, axis)) for axis in range(array.type.ndim))
        return TupleValue(tuple(sizes))

    def length(self, operand: Operand, node: ast.AST) -> Value:
        """`len(operand)`."""
        if isinstance(operand, TupleValue) and not operand.is_object:
            return self.constant(len(operand.elements))
        if isinstance(operand, ArrayRef) and operand.type.ndim:
            return self.count_value(self.size(operand, 0))
        if isinstance(operand, Compound) and operand.rest:
            return self.count_value(self.size(operand.parts[0], len(operand.given)))
        raise self.typing_error(node, f"{spell(operand)} has no len()")

    def array_attribute(self, array: ArrayRef, name: str, node: ast.AST) -> Operand:
        match name:
            case "shape":
                return self.shape(array)
            case "ndim":
                return self.constant(array.type.ndim)
            case "size":
                total = self.index_constant(1)
                for axis in range(array.type.ndim):
                    size = self.size(array, axis)
                    total = size if axis == 0 else self.op(arith.MuliOp(total, size))
                return self.count_value(total)
            case "dtype":
                return Static(np.dtype(str(array.type.element)))
            case "itemsize":
                return self.constant(np.dtype(str(array.type.element)).itemsize)
            case "T":
                return self.transposed(array)
            case _:
                way_out = "write a 'for' loop over its elements"
                what = f"'.{name}' of an array is not compiled"
                raise self.unsupported(node, what, way_out)

    def transposed(self, array: ArrayRef) -> ArrayRef:
        """The same memory, its axes counted from the last to the first."""
        axes = tuple(array.type.axis(k) for k in reversed(range(array.type.ndim)))
        identity = tuple(range(array.type.ndim))
        return replace(array, type=replace(array.type, axes=None if axes == identity else axes))

    # Elements

    def must_be_array(self, array: Operand, node: ast.Subscript) -> ArrayRef:
        if isinstance(array, ArrayRef):
            return array
        if isinstance(array, Static) and hasattr(array.object, "__array_interface__"):
            what = f"'{ast.unparse(node.value)}' is an array from outside the function"
            raise self.unsupported(node, what, "pass it as an argument")
        what = f"'{ast.unparse(node.value)}' is {spell(array)} and cannot be indexed"
        if isinstance(array, TupleValue):
            what = "the elements of a tuple cannot be assigned"
        raise self.typing_error(node, what, "only arrays can be")

    def index_values(self, node: ast.expr) -> list[tuple[Value, ast.AST]]:
        """The indices of `atomic.add`: a number or a tuple of numbers."""
        if isinstance(node, ast.Tuple):
            return [(self.value(item), item) for item in node.elts]
        operand = self.expression(node)
        if isinstance(operand, TupleValue):
            return [(self.as_value(e, node), node) for e in operand.elements]
        return [(self.as_value(operand, node), node)]

    def indices(
        self,
        array: ArrayRef,
        values: Sequence[tuple[Value, ast.AST]],
        node: ast.AST,
        given: Sequence[SSAValue] = (),
    ) -> list[SSAValue]:
        """One index per axis, in the order of memory; `given` are those of the first axes."""
        wanted, got = array.type.ndim - len(given), len(values)
        self.check_count(array, len(given) + got, node)
        if got < wanted:
            what = f"{got} index for an array of {wanted} dimensions is no single element"
            raise self.typing_error(node, what, "give one index per dimension")
        self.locate(node)
        wrapped = [self.wrapped(array, axis, *v) for axis, v in enumerate(values, len(given))]
        return self.in_memory_order(array, [*given, *wrapped])

    def check_count(self, array: ArrayRef, count: int, node: ast.AST) -> None:
        if count > array.type.ndim:
            what = f"{count} indices for an array of {array.type.ndim} dimension(s), {array.type}"
            raise self.typing_error(node, what, "remove the extra ones")

    def in_memory_order(self, array: ArrayRef, by_axis: Sequence[T]) -> list[T]:
        """One thing per axis, reordered as the axes lie in memory."""
        if array.type.axes is None:
            return list(by_axis)
        return [by_axis[array.type.axes.index(axis)] for axis in range(array.type.ndim)]

    def wrapped(self, array: ArrayRef, axis: int, value: Value, node: ast.AST) -> SSAValue:
        """An index as Python means it: negative ones count from the end."""
        index = self.index(value, node)
        if self.is_nonnegative(value):
            return index
        from_end = self.op(arith.AddiOp(index, self.size(array, axis)))
        if value.constant is not None:
            return from_end
        negative = self.op(arith.CmpiOp(index, self.index_constant(0), SIGNED_LESS))
        return self.op(arith.SelectOp(negative, from_end, index))

    def load(self, array: ArrayRef, indices: Sequence[SSAValue]) -> Value:
        element = array.type.scalar
        loaded = self.op(memref.LoadOp.get(array.ssa, indices))
        if element.kind == "b":
            zero = self.op(arith.ConstantOp(IntegerAttr(0, INTEGERS[8])))
            loaded = self.op(arith.CmpiOp(loaded, zero, NOT_EQUAL))
        return Value(loaded, element)

    def stored(self, array: ArrayRef, operand: Operand, node: ast.AST) -> SSAValue:
        """`operand` converted to the element type, as it lies in memory."""
        element = array.type.scalar
        if not isinstance(operand, Value):
            what = f"an element of {array.type} cannot hold {spell(operand)}"
            way_out = "store one number per element"
            if isinstance(operand, ComplexValue):
                way_out = "store its .real, its .imag or its abs()"
            raise self.typing_error(node, what, way_out)
        converted = casts.convert(operand, element, self.builder).ssa
        if element == BOOL:
            converted = self.op(arith.ExtUIOp(converted, INTEGERS[8]))
        return converted

    def store(
        self, array: ArrayRef, indices: Sequence[SSAValue], operand: Operand, node: ast.AST
    ) -> None:
        self.must_be_writable(array, node)
        stored = self.stored(array, operand, node)
        self.builder.insert(memref.StoreOp.get(stored, array.ssa, indices))

    def must_be_writable(self, array: ArrayRef, node: ast.AST) -> None:
        if not array.type.writable:
            what = f"a read-only array ({array.type}) is written"
            raise self.typing_error(node, what, "pass an array that may be written")

    # Tuples

    def tuple_element(self, base: TupleValue, node: ast.Subscript) -> Operand:
        """`t[k]`; an index known only at run time needs elements of one type."""
        if base.is_object:
            what = f"{spell(base)} cannot be indexed"
            raise self.typing_error(node, what, "name the field: 'a.field'")
        position = self.value(node.slice)
        count = len(base.elements)
        self.locate(node)
        if isinstance(position.constant, int):
            if not -count <= position.constant < count:
                what = f"index {position.constant} is outside a tuple of {count} elements"
                raise self.typing_error(node, what)
            return base.elements[position.constant]
        place = self.wrapped_position(position, count, node.slice)
        return self.one_of(base.elements, place, node)

    def wrapped_position(self, position: Value, count: int, node: ast.AST) -> SSAValue:
        """An index into a tuple, as an `index` that is not negative."""
        index = self.index(position, node)
        if self.is_nonnegative(position):
            return index
        negative = self.op(arith.CmpiOp(index, self.index_constant(0), SIGNED_LESS))
        from_end = self.op(arith.AddiOp(index, self.index_constant(count)))
        return self.op(arith.SelectOp(negative, from_end, index))

    def one_of(self, elements: Sequence[Operand], position: SSAValue, node: ast.AST) -> Operand:
        """The element of a tuple at a position known at run time: all have one type."""
        raise NotImplementedError
