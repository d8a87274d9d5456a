"""`forward-stores`: a load of what was just stored or loaded needs no memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from mlirad.dialects.autodiff import AccumulateOp, FreeOp, InitOp, PopOp, PushOp, TakeOp
from mlirad.passes.analysis.memory import UNKNOWN, Root, find_roots
from mlirad.passes.base import Pass
from mlirad.passes.optimize.effects import ALLOCATIONS, Effects
from mlirad.passes.optimize.folding import known_integer
from mlirad.passes.optimize.symbols import functions, is_declaration, tables

CACHE_OPS = (InitOp, PushOp, PopOp, FreeOp)
"""Their memory is their own: no load or store touches it."""
READ_AND_WRITE = (AccumulateOp, TakeOp, memref.AtomicRMWOp)
BRANCHES = (scf.IfOp, scf.ForOp, scf.WhileOp)
LARGEST = 256
"""So many known cells are copied into a branch or loop; with more, the copy starts empty."""

Bases = tuple[SSAValue | None, ...]
Offsets = tuple[int, ...]
Written = dict[SSAValue, None] | None
"""The memrefs that may be written, in order; None for all memory."""


@dataclass(frozen=True)
class ForwardStoresPass(Pass):
    """
    Replaces loads by the value known to be in memory; removes stores that are overwritten
    before anything reads them, and stores of what is there already.

    Looks into branches and loops from around them, not out of them. Uses the classes of
    `mlirad.alias`; without them any two arrays may overlap.
    """

    name = "forward-stores"

    def rewrite(self, module: ModuleOp) -> None:
        effects = Effects(module)
        for table in tables(module):
            for function in functions(table):
                if not is_declaration(function):
                    forwarder = Forwarder(effects, find_roots(function))
                    forwarder.visit(function.body.block, Cells())


@dataclass
class Cells:
    """The values known to be in memory: by memref, by base of each index, by offset."""

    known: dict[SSAValue, dict[Bases, dict[Offsets, SSAValue]]] = field(
        default_factory=dict[SSAValue, dict[Bases, dict[Offsets, SSAValue]]]
    )

    def get(self, memory: SSAValue, bases: Bases, offsets: Offsets) -> SSAValue | None:
        return self.known.get(memory, {}).get(bases, {}).get(offsets)

    def put(self, memory: SSAValue, bases: Bases, offsets: Offsets, value: SSAValue) -> None:
        self.known.setdefault(memory, {}).setdefault(bases, {})[offsets] = value

    def copy(self) -> Cells:
        cells = [o for b in self.known.values() for o in b.values()]
        if sum(map(len, cells)) > LARGEST:
            return Cells()
        return Cells(
            {m: {b: dict(o) for b, o in by_base.items()} for m, by_base in self.known.items()}
        )


class Forwarder:
    """Forwards within one function, whose memrefs name the memory in `roots`."""

    def __init__(self, effects: Effects, roots: dict[SSAValue, frozenset[Root]]):
        self.effects = effects
        self.roots = roots
        self.summaries: dict[Operation, Written] = {}

    def may_overlap(self, a: SSAValue, b: SSAValue) -> bool:
        if a is b:
            return True
        unknown = frozenset({UNKNOWN})
        first, second = self.roots.get(a, unknown), self.roots.get(b, unknown)
        return bool(first & second) or UNKNOWN in first or UNKNOWN in second

    def visit(self, block: Block, cells: Cells) -> None:
        """Forwards in `block`, at whose start memory holds `cells`."""
        waiting: dict[tuple[SSAValue, Bases, Offsets], Operation] = {}
        for op in tuple(block.ops):
            if isinstance(op, memref.LoadOp):
                self.visit_load(op, cells, waiting)
            elif isinstance(op, memref.StoreOp):
                self.visit_store(op, cells, waiting)
            elif isinstance(op, READ_AND_WRITE):
                memory = changed_memory(op)
                self.forget(cells, (memory,))
                for key in [k for k in waiting if self.may_overlap(k[0], memory)]:
                    del waiting[key]
            elif isinstance(op, BRANCHES):
                waiting.clear()
                self.visit_regions(op, cells)
            elif not self.keeps_memory(op):
                cells.known.clear()
                waiting.clear()

    def keeps_memory(self, op: Operation) -> bool:
        allocates = isinstance(op, (*ALLOCATIONS, memref.DeallocOp, *CACHE_OPS))
        return allocates or isinstance(op, scf.YieldOp) or self.effects.is_pure(op)

    def visit_load(
        self,
        op: memref.LoadOp,
        cells: Cells,
        waiting: dict[tuple[SSAValue, Bases, Offsets], Operation],
    ) -> None:
        memory, (bases, offsets) = op.operands[0], address(op.operands[1:])
        known = cells.get(memory, bases, offsets)
        if known is not None:
            op.results[0].replace_all_uses_with(known)
            op.detach()
            op.erase()
            return
        cells.put(memory, bases, offsets, op.results[0])
        for key in [k for k in waiting if self.may_overlap(k[0], memory)]:
            if not (key[0] is memory and key[1] == bases and key[2] != offsets):
                del waiting[key]

    def visit_store(
        self,
        op: memref.StoreOp,
        cells: Cells,
        waiting: dict[tuple[SSAValue, Bases, Offsets], Operation],
    ) -> None:
        value, memory = op.operands[0], op.operands[1]
        bases, offsets = address(op.operands[2:])
        if cells.get(memory, bases, offsets) is value:
            op.detach()
            op.erase()
            return
        key = (memory, bases, offsets)
        overwritten = waiting.pop(key, None)
        if overwritten is not None:
            overwritten.detach()
            overwritten.erase()
        same_base = cells.known.get(memory, {}).get(bases)
        self.forget(cells, (memory,))
        if same_base is not None:  # other offsets from the same base are other cells
            cells.known[memory] = {bases: same_base}
        cells.put(memory, bases, offsets, value)
        waiting[key] = op

    def visit_regions(self, op: Operation, cells: Cells) -> None:
        written = self.summary(op)
        if isinstance(op, scf.IfOp):
            for region in op.regions:
                for block in region.blocks:
                    self.visit(block, cells.copy())
            self.forget(cells, written)
            return
        self.forget(cells, written)
        for region in op.regions:
            self.visit(region.block, cells.copy())

    def forget(self, cells: Cells, written: Sequence[SSAValue] | Written) -> None:
        if written is None:
            cells.known.clear()
            return
        for memory in written:
            for other in [m for m in cells.known if self.may_overlap(m, memory)]:
                del cells.known[other]

    def summary(self, op: Operation) -> Written:
        """What the regions of `op` may write."""
        if op in self.summaries:
            return self.summaries[op]
        written: Written = {}
        for region in op.regions:
            for inner in region.block.ops if region.blocks else ():
                more = self.writes(inner)
                written = None if written is None or more is None else written | more
        self.summaries[op] = written
        return written

    def writes(self, op: Operation) -> Written:
        if isinstance(op, (memref.StoreOp, *READ_AND_WRITE)):
            return {changed_memory(op): None}
        if isinstance(op, BRANCHES):
            return self.summary(op)
        reads = isinstance(op, memref.LoadOp | scf.ConditionOp)
        return {} if reads or self.keeps_memory(op) else None


def changed_memory(op: Operation) -> SSAValue:
    match op:
        case memref.StoreOp() | memref.AtomicRMWOp():
            return op.memref
        case AccumulateOp() | TakeOp():
            return op.shadow
        case _:
            raise AssertionError(op.name)


def address(indices: Sequence[SSAValue]) -> tuple[Bases, Offsets]:
    """Each index as base plus constant offset; the base of a constant is None."""
    parts = [split(index) for index in indices]
    return tuple(base for base, _ in parts), tuple(offset for _, offset in parts)


def split(index: SSAValue) -> tuple[SSAValue | None, int]:
    offset = 0
    while True:
        if (known := known_integer(index)) is not None:
            return None, offset + known
        if not isinstance(index, OpResult) or not isinstance(index.op, arith.AddiOp):
            return index, offset
        first, second = index.op.operands
        if (known := known_integer(second)) is None:
            return index, offset
        index, offset = first, offset + known
