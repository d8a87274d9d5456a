"""
Array variables where control flow meets: which array they are is carried as numbers.

MLIR could carry the memref itself, but a reverse loop then could not tell whose shadow to use.
Numbers are residuals like others, and `arith.select` between arrays has the same select
between their shadows as its derivative.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from mlirad.frontend.choice import SELECTOR, Alternative, Choice, join
from mlirad.frontend.ir_types import memref_type
from mlirad.frontend.operands import (
    ArrayRef,
    Operand,
    Origin,
    Selected,
    Window,
    flatten,
    owners,
)
from mlirad.frontend.types import Array
from mlirad.frontend.views import Views

EQUAL = 0


class Choices(Views):
    """Takes array variables apart and puts them together."""

    def here(self) -> Block:
        """The block that ops go to."""
        return self.builder.builder.insertion_point.block

    def is_visible(self, operand: Operand, place: Block) -> bool:
        """Whether `operand` may be used in `place`."""
        return all(self.is_known(ssa, place) for ssa in flatten(operand))

    def is_known(self, ssa: SSAValue, place: Block) -> bool:
        home = ssa.owner if isinstance(ssa.owner, Block) else ssa.owner.parent
        block: Block | None = place
        while block is not None and block is not home:
            # A block that is still being filled has no parent yet.
            block = self.outer_blocks.get(block)
        return block is not None

    def choice_of(self, array: ArrayRef, name: str, place: Block, node: ast.AST) -> Choice:
        """The choice that has only `array`, to be known in `place`."""
        if not all(self.is_visible(self.origins[origin], place) for origin in owners(array)):
            what = f"'{name}' is an array that is made anew in a branch or an iteration"
            way_out = "make the array before, and assign its elements here"
            raise self.unsupported(node, what, way_out)
        type_, alternatives = array.type, [a for a, _ in self.described(array)]
        if any(a.kept is not None for a in alternatives):
            type_ = replace(type_, contiguous=False, unit=False)
        return self.joined([Choice(type_, (a,)) for a in alternatives], name, node)

    def described(self, array: ArrayRef) -> list[tuple[Alternative, Sequence[Window]]]:
        """What `array` can be, each with the windows that lead there, outermost first."""
        path: list[Window] = []
        while array.window is not None:
            path.insert(0, array.window)
            array = array.window.base
        pairs: list[tuple[Origin, Window | None]] = [(owners(array)[0], None)]
        if isinstance(array.origin, Selected):
            pairs = list(zip(array.origin.origins, array.origin.windows, strict=True))
        found: list[tuple[Alternative, Sequence[Window]]] = []
        for origin, first in pairs:
            windows = path if first is None else [first, *path]
            kept: tuple[int, ...] | None = None
            for window in windows:
                kept = window.kept if kept is None else tuple([kept[k] for k in window.kept])
            found.append((Alternative(origin, self.origins[origin].type.ndim, kept), windows))
        return found

    def joined(self, choices: Sequence[Choice], name: str, node: ast.AST) -> Choice:
        def both(a: Choice, b: Choice) -> Choice:
            if (found := join(a, b)) is not None:
                return found
            if str(a) != str(b):
                self.unified(name, a.array, b.array, node)
            what = f"'{name}' is a different kind of window depending on what ran"
            way_out = "use each under its own name, inside the branch or loop"
            raise self.unsupported(node, what, way_out)

        return reduce(both, choices)

    def numbers(self, array: ArrayRef, choice: Choice) -> list[SSAValue]:
        """What `choice` carries for `array`."""
        root = array
        while root.window is not None:
            root = root.window.base
        selected = root.origin if isinstance(root.origin, Selected) else None
        count = len(choice.alternatives)
        which: SSAValue | None = None
        places: list[list[SSAValue]] = [
            [self.index_constant(0)] * a.numbers for a in choice.alternatives
        ]
        for number, (alternative, windows) in enumerate(self.described(array)):
            if alternative not in choice.alternatives:
                alternative = alternative.as_window()
            if self.widened and alternative not in choice.alternatives:
                # Later in the body it can be more than the type says: the next walk knows.
                return self.no_choice(choice)
            position = choice.alternatives.index(alternative)
            place = self.place(alternative, windows)
            if which is None or selected is None:
                which, places[position] = self.selector(position), place
                continue
            here = self.op(arith.CmpiOp(selected.number, self.selector(number), EQUAL))
            which = self.op(arith.SelectOp(here, self.selector(position), which))
            places[position] = [
                self.op(arith.SelectOp(here, new, old))
                for new, old in zip(place, places[position], strict=True)
            ]
        assert which is not None
        return [*([which] if count > 1 else []), *(n for place in places for n in place)]

    def place(self, alternative: Alternative, windows: Sequence[Window]) -> list[SSAValue]:
        """The first index, step and size along each axis of the owner, all through `windows`."""
        if alternative.kept is None:
            return []
        axes = range(alternative.ndim)
        starts, steps = [self.index_constant(0)] * len(axes), [self.index_constant(1)] * len(axes)
        sizes, kept = self.memory_sizes(self.origins[alternative.origin]), list(axes)
        for window in windows:
            for axis, start, step, size in zip(
                kept, window.starts, window.steps, window.sizes, strict=True
            ):
                moved = self.op(arith.MuliOp(start, steps[axis]))
                starts[axis] = self.op(arith.AddiOp(starts[axis], moved))
                steps[axis] = self.op(arith.MuliOp(steps[axis], step))
                sizes[axis] = size
            kept = [kept[axis] for axis in window.kept]
        return [*starts, *steps, *sizes]

    def pick_array(self, condition: SSAValue, a: ArrayRef, b: ArrayRef, node: ast.AST) -> ArrayRef:
        """`a` if the condition holds, else `b`."""
        both = [self.choice_of(array, "a value", self.here(), node) for array in (a, b)]
        choice = self.joined(both, "a value", node)
        pairs = zip(self.numbers(a, choice), self.numbers(b, choice), strict=True)
        return self.chosen(choice, [self.op(arith.SelectOp(condition, *pair)) for pair in pairs])

    def selector(self, number: int) -> SSAValue:
        with self.at_entry():
            return self.op(arith.ConstantOp(IntegerAttr(number, SELECTOR)))

    def no_choice(self, choice: Choice) -> list[SSAValue]:
        """What is carried where the variable was never assigned: an empty window."""
        count = sum(a.numbers for a in choice.alternatives)
        first = [self.selector(0)] if len(choice.alternatives) > 1 else []
        return first + [self.index_constant(0)] * count

    def chosen(self, choice: Choice, numbers: Sequence[SSAValue]) -> ArrayRef:
        """The array that `numbers` describe."""
        rest = iter(numbers)
        number = next(rest) if len(choice.alternatives) > 1 else None
        candidates = [self.candidate(a, choice, rest) for a in choice.alternatives]
        if number is None:
            return candidates[0]
        axes = range(choice.array.ndim)
        ssa = self.as_type(candidates[0], choice.array)
        sizes = self.memory_sizes(candidates[0])
        for position, candidate in enumerate(candidates[1:], 1):
            here = self.op(arith.CmpiOp(number, self.selector(position), EQUAL))
            ssa = self.op(arith.SelectOp(here, self.as_type(candidate, choice.array), ssa))
            others = self.memory_sizes(candidate)
            sizes = [self.op(arith.SelectOp(here, others[k], sizes[k])) for k in axes]
        for axis in axes:
            self.sizes[ssa, axis] = sizes[axis]
        groups = {candidate.group for candidate in candidates}
        group = groups.pop() if len(groups) == 1 else None
        origins = tuple(a.origin for a in choice.alternatives)
        windows = tuple(candidate.window for candidate in candidates)
        return ArrayRef(ssa, choice.array, group, Selected(number, origins, windows))

    def memory_sizes(self, array: ArrayRef) -> list[SSAValue]:
        """The sizes along the axes in memory."""
        plain = replace(array, type=replace(array.type, axes=None))
        return [self.size(plain, axis) for axis in range(array.type.ndim)]

    def candidate(
        self, alternative: Alternative, choice: Choice, numbers: Iterator[SSAValue]
    ) -> ArrayRef:
        """The array that a variable of type `choice` is if it is this alternative."""
        owner = self.origins[alternative.origin]
        if alternative.kept is None:
            type_ = replace(owner.type, axes=choice.array.axes)
            return replace(owner, type=type_)
        found = [next(numbers) for _ in range(alternative.numbers)]
        starts, steps, sizes = (
            tuple(found[k * alternative.ndim : (k + 1) * alternative.ndim]) for k in range(3)
        )
        window = Window(owner, starts, steps, sizes, alternative.kept)
        return self.make_window(window, choice.array.axes)

    def as_type(self, array: ArrayRef, type_: Array) -> SSAValue:
        wanted = memref_type(type_)
        if array.ssa.type == wanted:
            return array.ssa
        return self.op(memref.CastOp.get(array.ssa, wanted))
