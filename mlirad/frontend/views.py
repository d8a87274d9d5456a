"""
Windows of arrays: `a[i]`, `a[1:n, ::2]`, and assignments to them.

A window shares the memory of its array. Each axis of the array gets a `Cut`: a single index
drops it, a slice keeps part of it, as Python's `slice.indices` says.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, SSAValue

from mlirad.frontend.arrays import SIGNED_LESS, Arrays
from mlirad.frontend.body import INDEX
from mlirad.frontend.builder import Value
from mlirad.frontend.ir_types import memref_type
from mlirad.frontend.operands import (
    ArrayRef,
    Operand,
    TupleValue,
    Window,
    owners,
    spell,
)

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Slice:
    """`start:stop:step`, evaluated."""

    start: Value | None
    stop: Value | None
    step: Value | None
    node: ast.AST


@dataclass(frozen=True, slots=True)
class Cut:
    """What remains of one axis; a `size` of None drops it, a `step` of None is 1."""

    start: SSAValue
    step: SSAValue | None = None
    size: SSAValue | None = None


Subscript = tuple[Value, ast.AST] | Slice
"""One index, with its place, or one slice."""


class Views(Arrays):
    """Evaluates subscripts of arrays."""

    def subscripts(self, array: ArrayRef, node: ast.Subscript) -> list[Subscript]:
        """What stands in the brackets, one for each axis of `array`, left to right."""
        found: list[Subscript | str] = []
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for item in items:
            found += self.subscript_items(item)
        given = len(found) - found.count(ELLIPSIS)
        if found.count(ELLIPSIS) > 1:
            raise self.typing_error(node, "'...' may stand in an index only once")
        self.check_count(array, given, node)
        missing: list[Subscript] = [Slice(None, None, None, node)] * (array.type.ndim - given)
        at = found.index(ELLIPSIS) if ELLIPSIS in found else len(found)
        filled = [*found[:at], *missing, *found[at + 1 :]]
        return [item for item in filled if not isinstance(item, str)]

    def subscript_items(self, node: ast.expr) -> list[Subscript | str]:
        if isinstance(node, ast.Slice):
            start, stop, step = map(self.bound, (node.lower, node.upper, node.step))
            if step is not None and step.constant == 0:
                raise self.typing_error(node, "the step of a slice is 0", "use 1 or -1")
            return [Slice(start, stop, step, node)]
        if isinstance(node, ast.Constant) and node.value is ...:
            return [ELLIPSIS]
        if isinstance(node, ast.Constant) and node.value is None:
            what = "a new axis (None in an index) is not compiled"
            raise self.unsupported(node, what, "leave it out, and index the array without it")
        operand = self.expression(node)
        if isinstance(operand, TupleValue):
            return [(self.as_value(e, node), node) for e in operand.elements]
        if isinstance(operand, ArrayRef):
            what = f"an index that is itself an array ({operand.type}) is not compiled"
            raise self.unsupported(node, what, "write a 'for' loop over the indices")
        return [(self.as_value(operand, node), node)]

    def bound(self, node: ast.expr | None) -> Value | None:
        """An end of a slice: an int, or None."""
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return None
        return self.value(node)

    def item(self, array: ArrayRef, node: ast.Subscript) -> Value | ArrayRef:
        """`array[…]`: an element, or a window."""
        found = self.subscripts(array, node)
        self.locate(node)
        if (indices := self.single(array, found)) is not None:
            return self.load(array, indices)
        return self.window_of(array, found)

    def single(self, array: ArrayRef, found: Sequence[Subscript]) -> list[SSAValue] | None:
        """The indices of one element, in the order of memory; None for a window."""
        if any(isinstance(item, Slice) for item in found):
            return None
        pairs = [item for item in found if not isinstance(item, Slice)]
        wrapped = [self.wrapped(array, axis, *pair) for axis, pair in enumerate(pairs)]
        return self.in_memory_order(array, wrapped)

    # Windows

    def window_of(self, array: ArrayRef, found: Sequence[Subscript]) -> ArrayRef:
        whole = all(
            isinstance(item, Slice) and item.start is item.stop is item.step is None
            for item in found
        )
        if whole:
            return array
        cuts = [self.cut(array, axis, item) for axis, item in enumerate(found)]
        return self.window(array, cuts)

    def cut(self, array: ArrayRef, axis: int, item: Subscript) -> Cut:
        if not isinstance(item, Slice):
            return Cut(self.wrapped(array, axis, *item))
        return self.slice(item, self.size(array, axis))

    def slice(self, given: Slice, length: SSAValue) -> Cut:
        """The elements of an axis of `length` that a slice means: Python's rules."""
        step = None if given.step is None else self.index(given.step, given.node)
        if given.step is not None and given.step.constant == 1:
            step = None
        zero, one = self.index_constant(0), self.index_constant(1)
        if step is None:
            least, most = zero, length
            start, stop = zero, length
        else:
            last, before = self.op(arith.SubiOp(length, one)), self.index_constant(-1)
            falls = self.op(arith.CmpiOp(step, zero, SIGNED_LESS))
            least = self.op(arith.SelectOp(falls, before, zero))
            most = self.op(arith.SelectOp(falls, last, length))
            start = self.op(arith.SelectOp(falls, most, least))
            stop = self.op(arith.SelectOp(falls, least, most))
        if given.start is not None:
            start = self.clamped(given.start, length, least, most, given.node)
        if given.stop is not None:
            stop = self.clamped(given.stop, length, least, most, given.node)
        if start is zero and step is None:
            return Cut(zero, None, stop)
        size = self.op(arith.SubiOp(stop, start))
        if step is not None:
            size = self.op(arith.CeilDivSIOp(size, step))
        return Cut(start, step, self.op(arith.MaxSIOp(size, zero)))

    def clamped(
        self, value: Value, length: SSAValue, least: SSAValue, most: SSAValue, node: ast.AST
    ) -> SSAValue:
        """An end of a slice: negative ones count from the end, others beyond it are cut."""
        index = self.index(value, node)
        if value.constant == 0 and least is self.index_constant(0):
            return least
        if not self.is_nonnegative(value):
            negative = self.op(arith.CmpiOp(index, self.index_constant(0), SIGNED_LESS))
            from_end = self.op(arith.AddiOp(index, length))
            index = self.op(arith.SelectOp(negative, from_end, index))
            index = self.op(arith.MaxSIOp(index, least))
        return self.op(arith.MinSIOp(index, most))

    def window(self, array: ArrayRef, by_axis: Sequence[Cut]) -> ArrayRef:
        """The window that `by_axis` cuts out of `array`, one cut per axis as the user counts."""
        cuts = self.in_memory_order(array, by_axis)
        one = self.index_constant(1)
        kept = tuple(axis for axis, cut in enumerate(cuts) if cut.size is not None)
        order = [array.type.axis(k) for k, cut in enumerate(by_axis) if cut.size is not None]
        axes = tuple(kept.index(axis) for axis in order)
        window = Window(
            array,
            tuple(cut.start for cut in cuts),
            tuple(cut.step or one for cut in cuts),
            tuple(cut.size or one for cut in cuts),
            kept,
        )
        return self.make_window(window, None if axes == tuple(range(len(axes))) else axes)

    def make_window(self, window: Window, axes: tuple[int, ...] | None) -> ArrayRef:
        base, one = window.base, self.index_constant(1)
        last = base.type.ndim - 1
        steps = [1 if step is one else step for step in window.steps]
        dense = base.type.contiguous or base.type.unit
        type_ = replace(
            base.type,
            ndim=len(window.kept),
            contiguous=False,
            unit=dense and last in window.kept and steps[last] == 1,
            axes=axes,
        )
        sizes = [s if axis in window.kept else 1 for axis, s in enumerate(window.sizes)]
        view = memref.SubviewOp.get(base.ssa, window.starts, sizes, steps, memref_type(type_))
        ssa = self.op(view)
        for position, axis in enumerate(window.kept):
            self.sizes[ssa, position] = window.sizes[axis]
        return ArrayRef(ssa, type_, base.group, base.origin, window)

    # Assignments

    def each(
        self,
        sizes: Sequence[SSAValue],
        body: Callable[[list[SSAValue]], None],
        outer: Sequence[SSAValue] = (),
    ) -> None:
        """Loops over all indices below `sizes`, the last axis innermost."""
        if not sizes:
            body(list(outer))
            return
        block = Block(arg_types=[INDEX])
        location = self.builder.location
        with self.inside(block):
            self.each(sizes[1:], body, [*outer, block.args[0]])
            self.builder.location = location
            self.builder.insert(scf.YieldOp())
        zero, one = self.index_constant(0), self.index_constant(1)
        self.builder.insert(scf.ForOp(zero, sizes[0], one, [], block))

    def update(
        self,
        target: ArrayRef,
        operand: Operand,
        node: ast.AST,
        combine: Callable[[Value, Value], Value] | None = None,
    ) -> None:
        """`target[…] = operand` for every element; with `combine`, of the old one and it."""
        self.must_be_writable(target, node)
        if isinstance(operand, ArrayRef):
            if operand.type.ndim > target.type.ndim:
                what = f"{operand.type} does not fit into {target.type}"
                raise self.typing_error(node, what, "index it to get fewer dimensions")
            operand = self.apart(operand, target, node)
        elif not isinstance(operand, Value):
            what = f"elements of {target.type} cannot hold {spell(operand)}"
            raise self.typing_error(node, what, "assign a number or an array")
        source = operand
        sizes = [self.size(target, axis) for axis in range(target.type.ndim)]
        element = target.type.scalar

        def one_element(indices: list[SSAValue]) -> None:
            new = source if isinstance(source, Value) else self.broadcast(source, indices)
            at = self.in_memory_order(target, indices)
            if combine is not None:
                new = combine(self.load(target, at), new)
            if element.kind != "f" and new.type.kind == "f" and combine is not None:
                what = f"{new.type} elements do not fit into {target.type}"
                raise self.typing_error(node, what, "convert in a loop, with int(…)")
            self.locate(node)
            self.store(target, at, new, node)

        self.each(sizes, one_element)

    def broadcast(self, source: ArrayRef, indices: Sequence[SSAValue]) -> Value:
        """The element of `source` for these indices: axes of one element are repeated."""
        count = source.type.ndim
        own: list[SSAValue] = []
        for axis, index in enumerate(indices[len(indices) - count :]):
            size = self.size(source, axis)
            single = self.op(arith.CmpiOp(size, self.index_constant(1), 0))
            own.append(self.op(arith.SelectOp(single, self.index_constant(0), index)))
        return self.load(source, self.in_memory_order(source, own))

    def apart(self, source: ArrayRef, target: ArrayRef, node: ast.AST) -> ArrayRef:
        """`source`, or a copy of it where writing `target` might change it."""
        if source.ssa is target.ssa and source.type.axes == target.type.axes:
            return source
        if not self.may_overlap(source, target):
            return source
        return self.copied(source, node)

    def may_overlap(self, a: ArrayRef, b: ArrayRef) -> bool:
        """Whether two arrays may share memory, as far as the frontend knows."""
        pairs = [(x, y) for x in owners(a) for y in owners(b)]
        for x, y in pairs:
            if x == y:
                return True
            groups = [self.origins[key].group for key in (x, y) if key.is_argument]
            if len(groups) == 2 and (None in groups or groups[0] == groups[1]):
                return True
        return False

    def copied(self, source: ArrayRef, node: ast.AST) -> ArrayRef:
        """A new array with the elements of `source`."""
        raise NotImplementedError
