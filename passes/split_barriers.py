"""
A kernel with barriers as loops over the threads of a block, one for each part between barriers.

```mlir
%v = …  ; gpu.barrier ; use(%v)
  ==>
for each thread { %v = …; store %v, %slot[thread] }
for each thread { %v = load %slot[thread]; use(%v) }
```

Loops and branches around barriers stay outside of the loops over threads: all threads agree on
them. A value that is the same for all threads is computed once, outside; one that a later part
needs goes through a slot, an array over the threads, unless it is as quickly computed again.
Local arrays become one array over the threads. (The method of MCUDA: Stratton et al., 2008.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i8,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mlirad.errors import UnsupportedError, describe
from mlirad.passes.analysis import uniformity
from mlirad.passes.analysis.flow import location, terminator
from mlirad.passes.analysis.memory import REVERSED, is_memory, is_shared_allocation
from mlirad.passes.analysis.uniformity import has_barrier
from mlirad.passes.optimize.effects import Effects

INDEX = IndexType()
OpT = TypeVar("OpT", bound=Operation)


def needs_parts(kernel: gpu.FuncOp) -> bool:
    """Whether the threads of a block share anything but the arguments of `kernel`."""
    return any(isinstance(op, gpu.BarrierOp) or is_shared_allocation(op) for op in kernel.walk())


class Part:
    """One nest of loops over the threads of a block; ops go to the end of its innermost one."""

    def __init__(self, inner: Block, threads: dict[str, SSAValue], sizes: dict[str, SSAValue]):
        self.inner, self.threads, self.sizes = inner, threads, sizes
        self.known: dict[SSAValue, SSAValue] = {}
        self.end = terminator(inner)

    def add(self, op: OpT, like: Operation) -> OpT:
        op.location = like.location
        self.inner.insert_op_before(op, self.end)
        return op

    def number(self, like: Operation) -> SSAValue:
        """The number of the thread in its block, x fastest."""
        total = self.threads["z"]
        for axis in ("y", "x"):
            scaled = self.add(arith.MuliOp(total, self.sizes[axis]), like).result
            total = self.add(arith.AddiOp(scaled, self.threads[axis]), like).result
        return total


class Nest(Protocol):
    """Where the loops over threads come from."""

    def over_threads(self, block: Block) -> Part: ...


class Splitter:
    """
    Rebuilds the body of one kernel, whose ids other than `gpu.thread_id` are replaced.

    Args:
        storage: the block where slots and shared arrays are made, before the op `before`.
        threads: the number of threads in a block.
    """

    def __init__(
        self,
        kernel: gpu.FuncOp,
        effects: Effects,
        nest: Nest,
        storage: Block,
        before: Operation,
        threads: SSAValue,
    ):
        self.kernel, self.effects, self.nest = kernel, effects, nest
        self.storage, self.before, self.count = storage, before, threads
        self.answer = uniformity.analyze(kernel, effects.is_pure)
        self.uniform: dict[SSAValue, SSAValue] = {}
        self.slots: dict[SSAValue, SSAValue] = {}
        self.inside = {value for op in kernel.walk() for value in defined(op)}

    # Blocks

    def split(self, block: Block, target: Block) -> None:
        """Puts the ops of `block`, but not its terminator, at the end of `target`."""
        part: list[Operation] = []
        end = terminator(block)
        for op in block.ops:
            if op is end:
                continue
            if isinstance(op, gpu.BarrierOp) or has_barrier(op):
                self.run(part, target)
                part = []
                if not isinstance(op, gpu.BarrierOp):
                    self.split_regions(op, target)
            elif is_shared_allocation(op):
                copy = op.clone()
                self.storage.insert_op_before(copy, self.before)
                self.uniform[op.results[0]] = copy.results[0]
            elif self.is_uniform(op):
                self.copy(op, target, self.uniform)
            else:
                part.append(op)
        self.run(part, target)

    def is_uniform(self, op: Operation) -> bool:
        """Whether one computation of `op` serves all threads."""
        if not self.effects.is_pure(op):
            return False
        # Loop counters on which all threads agree make more values the same than was known before.
        inputs = bool(op.operands) and all(
            o not in self.inside or self.is_same(o) for o in op.operands
        )
        return inputs or all(map(self.answer.is_uniform, op.results))

    def is_same(self, value: SSAValue) -> bool:
        """Whether `value` is the same for all threads."""
        return value in self.uniform or self.answer.is_uniform(value)

    def copy(self, op: Operation, target: Block, known: dict[SSAValue, SSAValue]) -> None:
        copy = op.clone({o: known.get(o, o) for o in op.operands})
        target.add_op(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            new.name_hint = old.name_hint
            known[old] = new

    def run(self, ops: Sequence[Operation], target: Block) -> None:
        """All threads run `ops`, which hold no barrier."""
        ops = [op for op in ops if not self.is_repeated(op)]
        if not ops:
            return
        part, own = self.nest.over_threads(target), set(ops)
        for op in ops:
            inner = {value for nested in op.walk() for value in defined(nested)}
            for nested in op.walk():
                for operand in nested.operands:
                    if operand not in inner:
                        self.get(operand, part, op)
            copy = part.add(op.clone(part.known), op)
            for old, new in zip(op.results, copy.results, strict=True):
                new.name_hint = old.name_hint
                part.known[old] = new
                if any(anchor(use.operation, op.parent) not in own for use in old.uses):
                    self.keep(old, new, part, op)

    # Values of one thread

    def is_repeated(self, op: Operation) -> bool:
        """Whether every part that needs the results of `op` computes them again."""
        if isinstance(op, gpu.ThreadIdOp | memref.AllocaOp):
            return True
        if not self.effects.is_pure(op) or len(op.results) != 1:
            return False
        if is_memory(op.results[0]):
            return True
        whole = isinstance(op.results[0].type, IndexType | IntegerType)
        return whole and all(self.is_at_hand(operand) for operand in op.operands)

    def is_at_hand(self, value: SSAValue) -> bool:
        if value not in self.inside or self.is_same(value):
            return True
        return isinstance(value.owner, Operation) and self.is_repeated(value.owner)

    def get(self, value: SSAValue, part: Part, like: Operation) -> SSAValue:
        """`value` as this thread knows it in `part`."""
        if (found := part.known.get(value)) is not None:
            return found
        op = value.owner
        if value not in self.inside:
            found = value
        elif self.is_same(value):
            found = self.uniform[value]
        elif isinstance(op, gpu.ThreadIdOp):
            found = part.threads[str(op.dimension.data)]
        elif isinstance(op, memref.AllocaOp):
            found = self.own_array(op, part)
        elif isinstance(op, Operation) and self.is_repeated(op):
            for operand in op.operands:
                self.get(operand, part, like)
            found = part.add(op.clone(part.known), op).results[0]
        else:
            found = part.add(memref.LoadOp.get(self.slots[value], [part.number(like)]), like).res
        part.known[value] = found
        return found

    def keep(self, value: SSAValue, known: SSAValue, part: Part, like: Operation) -> None:
        part.add(memref.StoreOp.get(known, self.slot(value), [part.number(like)]), like)

    def slot(self, value: SSAValue) -> SSAValue:
        """An array with one element for each thread of a block."""
        if value not in self.slots:
            self.slots[value] = self.allocate(value.type, self.count)
        return self.slots[value]

    def allocate(self, element: Attribute, count: SSAValue) -> SSAValue:
        made = memref.AllocOp([count], [], MemRefType(element, [DYNAMIC_INDEX]))
        made.location = self.kernel.location
        self.storage.insert_op_before(made, self.before)
        return made.memref

    def own_array(self, op: memref.AllocaOp, part: Part) -> SSAValue:
        """The local array of this thread, in memory that lasts from part to part."""
        type_ = op.memref.type
        assert isinstance(type_, MemRefType)
        element = type_.element_type
        assert isinstance(element, FixedBitwidthType)
        size = max(element.size, 1)
        for length in type_.get_shape():
            size *= length
        size = -(-size // 16) * 16
        known = self.slots.get(op.memref)
        if known is None:
            bytes_each = arith.ConstantOp(IntegerAttr(size, INDEX))
            total = arith.MuliOp(bytes_each.result, self.count)
            for built in (bytes_each, total):
                built.location = op.location
                self.storage.insert_op_before(built, self.before)
            known = self.slots[op.memref] = self.allocate(i8, total.result)
        width = part.add(arith.ConstantOp(IntegerAttr(size, INDEX)), op).result
        shift = part.add(arith.MuliOp(part.number(op), width), op).result
        plain = MemRefType(element, type_.shape)
        return part.add(memref.ViewOp(known, shift, [], plain), op).result

    # Control flow that all threads share

    def split_regions(self, op: Operation, target: Block) -> None:
        match op:
            case scf.ForOp():
                self.split_for(op, target)
            case scf.IfOp():
                self.split_if(op, target)
            case scf.WhileOp():
                self.split_while(op, target)
            case _:
                raise self.refusal(op, f"a barrier inside '{op.name}' is not understood")

    def refusal(self, op: Operation, what: str) -> UnsupportedError:
        barrier = next(inner for inner in op.walk() if isinstance(inner, gpu.BarrierOp))
        way_out = "move the barrier out, and guard the work of single threads with 'if' instead"
        return UnsupportedError(describe(location(barrier), what, way_out))

    def agreed(self, value: SSAValue, op: Operation, target: Block) -> SSAValue:
        """A number that decides control flow around a barrier: that of any thread."""
        if value not in self.inside:
            return value
        if self.is_same(value):
            return self.uniform[value]
        # What a reverse sweep reads of a kernel whose barriers are right is the same everywhere.
        if value in self.answer.divergent and REVERSED not in self.kernel.attributes:
            raise self.refusal(
                op, "a barrier stands where not all threads of a block come: it depends on the id"
            )
        first = arith.ConstantOp(IntegerAttr(0, INDEX))
        load = memref.LoadOp.get(self.slots[value], [first.result])
        for built in (first, load):
            built.location = op.location
            target.add_op(built)
        return load.res

    def assign(
        self, pairs: Sequence[tuple[SSAValue, SSAValue]], target: Block, like: Operation
    ) -> None:
        """For each thread: the slot of each first value becomes the second one, all at once."""
        if pairs:
            part = self.nest.over_threads(target)
            found = [self.get(new, part, like) for _, new in pairs]
            for (old, _), new in zip(pairs, found, strict=True):
                self.keep(old, new, part, like)

    def shared(self, values: Sequence[SSAValue]) -> list[int]:
        """Positions of the values that are the same for all threads."""
        return [k for k, value in enumerate(values) if self.answer.is_uniform(value)]

    def of_all(self, value: SSAValue) -> SSAValue:
        return self.uniform.get(value, value)

    def private(self, values: Sequence[SSAValue], new: Sequence[SSAValue]):
        """The pairs whose first value is not the same for all threads."""
        pairs = zip(values, new, strict=True)
        return [pair for pair in pairs if not self.answer.is_uniform(pair[0])]

    def bind(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> None:
        for value, found in zip(old, new, strict=True):
            found.name_hint = value.name_hint
            self.uniform[value] = found

    def split_for(self, op: scf.ForOp, target: Block) -> None:
        counter, *carried = op.body.block.args
        bounds = [self.agreed(value, op, target) for value in (op.lb, op.ub, op.step)]
        same = self.shared(carried)
        self.assign(self.private(carried, op.iter_args), target, op)
        body = Block(arg_types=[counter.type, *(carried[k].type for k in same)])
        # The counter varies only where the bounds do, on which all threads agree.
        self.bind([counter, *(carried[k] for k in same)], body.args)
        self.split(op.body.block, body)
        yielded = terminator(op.body.block).operands
        self.assign(self.private(carried, yielded), body, op)
        self.end(body, scf.YieldOp(*(self.of_all(yielded[k]) for k in same)), op)
        initial = [self.of_all(op.iter_args[k]) for k in same]
        loop = scf.ForOp(*bounds, initial, Region(body))
        self.end(target, loop, op)
        self.bind([op.results[k] for k in same], loop.results)
        self.share_slots(op.results, carried)

    def share_slots(self, results: Sequence[SSAValue], carried: Sequence[SSAValue]) -> None:
        """The slots of a loop's carried values hold its results when it has ended."""
        for result, value in zip(results, carried, strict=True):
            if value in self.slots:
                self.slots[result] = self.slots[value]

    def split_if(self, op: scf.IfOp, target: Block) -> None:
        condition = self.agreed(op.cond, op, target)
        same = self.shared(op.results)
        regions: list[Region] = []
        for region in op.regions:
            block = Block()
            yielded: Sequence[SSAValue] = ()
            if region.blocks:
                self.split(region.block, block)
                yielded = terminator(region.block).operands
                self.assign(self.private(op.results, yielded), block, op)
            if region.blocks or same:
                self.end(block, scf.YieldOp(*(self.of_all(yielded[k]) for k in same)), op)
                regions.append(Region(block))
            else:
                regions.append(Region())
        types = [op.results[k].type for k in same]
        branch = scf.IfOp(condition, types, *regions)
        self.end(target, branch, op)
        self.bind([op.results[k] for k in same], branch.results)

    def split_while(self, op: scf.WhileOp, target: Block) -> None:
        before, after = op.before_region.block, op.after_region.block
        condition = terminator(before)
        assert isinstance(condition, scf.ConditionOp)
        entering, passing = self.shared(before.args), self.shared(after.args)
        self.assign(self.private(before.args, op.arguments), target, op)
        head = Block(arg_types=[before.args[k].type for k in entering])
        self.bind([before.args[k] for k in entering], head.args)
        self.split(before, head)
        self.assign(self.private(after.args, condition.args), head, op)
        decision = self.agreed(condition.condition, op, head)
        passed = [self.of_all(condition.args[k]) for k in passing]
        self.end(head, scf.ConditionOp(decision, *passed), op)
        tail = Block(arg_types=[after.args[k].type for k in passing])
        self.bind([after.args[k] for k in passing], tail.args)
        self.split(after, tail)
        yielded = terminator(after).operands
        self.assign(self.private(before.args, yielded), tail, op)
        self.end(tail, scf.YieldOp(*(self.of_all(yielded[k]) for k in entering)), op)
        loop = scf.WhileOp(
            [self.of_all(op.arguments[k]) for k in entering],
            [after.args[k].type for k in passing],
            Region(head),
            Region(tail),
        )
        self.end(target, loop, op)
        self.bind([op.results[k] for k in passing], loop.results)
        self.share_slots(op.results, after.args)

    def end(self, block: Block, op: Operation, like: Operation) -> None:
        op.location = like.location
        block.add_op(op)


def defined(op: Operation) -> list[SSAValue]:
    """The results of `op` and the arguments of its blocks."""
    arguments = [a for region in op.regions for block in region.blocks for a in block.args]
    return [*op.results, *arguments]


def anchor(op: Operation, block: Block | None) -> Operation | None:
    """The op of `block` itself that `op` is, or is inside of; None if it is outside."""
    found: Operation | None = op
    while found is not None and found.parent is not block:
        found = found.parent_op()
    return found
