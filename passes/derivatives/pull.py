"""The reverse sweep: the primal's blocks visited backwards, each active op pulled back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import func, gpu, scf
from xdsl.dialects.builtin import FunctionType, MemRefType, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad.dialects.autodiff import AccumulateOp, FreeOp, PopOp
from mlirad.passes.analysis.activity import is_terminator
from mlirad.passes.analysis.flow import Function, body, carries_derivative, terminator
from mlirad.passes.analysis.memory import REVERSED, is_memory, is_view, viewed
from mlirad.passes.analysis.recompute import Residual, operands_of
from mlirad.passes.derivatives.augment import Iterations, add_iteration_arguments, thread_count
from mlirad.passes.derivatives.memref import MEMREF_RULES, AllocationRule
from mlirad.passes.derivatives.plan import Kept, Plan, allocations
from mlirad.passes.derivatives.rule import Shadow, add
from mlirad.passes.derivatives.signature import add_argument, annotate_arguments
from mlirad.passes.derivatives.snapshots import restore
from mlirad.passes.derivatives.structural import structural_rule
from mlirad.passes.derivatives.sweep import BaseSweep, rule_of
from mlirad.passes.derivatives.threads import thread_number


def build_reverse(
    plan: Plan,
    name: str,
    shadowed: Sequence[bool],
    wanted: Sequence[bool],
    seeds: Sequence[bool],
    depth: int = 0,
) -> Function:
    """
    The function or kernel that runs after the augmented primal.

    Args:
        shadowed: arguments that are followed by their shadow; for a number given to a kernel
            that is a cell in memory, which its cotangent is added to.
        wanted: of a host function, the arguments whose cotangents it returns.
        seeds: the results whose cotangents it takes.
    """
    primal = plan.function
    arguments = body(primal).args
    block = Block()
    sweep = CotangentSweep(plan, block)
    cells: dict[SSAValue, SSAValue] = {}
    for argument, has_shadow in zip(arguments, shadowed, strict=True):
        sweep.set_primal(argument, add_argument(block, argument))
        if not has_shadow:
            continue
        if is_memory(argument):
            sweep.set_shadow(argument, add_argument(block, argument, "d"))
        else:
            cells[argument] = block.insert_arg(MemRefType(argument.type, []), len(block.args))
    returned = terminator(body(primal))
    for value, seeded in zip(returned.operands, seeds, strict=True) if seeds else ():
        if seeded:
            sweep.at = returned
            sweep.add_cotangent(value, add_argument(block, value, "d"))
    if isinstance(primal, gpu.FuncOp):
        sweep.around = add_iteration_arguments(block, depth)
    for kept in plan.kept:
        sweep.caches[kept] = block.insert_arg(kept.type, len(block.args))
    if isinstance(primal, gpu.FuncOp):
        sweep.thread = thread_number(sweep.builder, primal.location)
    sweep.pull_block(body(primal))
    sweep.at = returned
    if isinstance(primal, gpu.FuncOp):
        for argument, cell in cells.items():
            if (cotangent := sweep.take_cotangent(argument)) is not None:
                sweep.insert(AccumulateOp(cotangent, cell, []))
        sweep.insert(gpu.ReturnOp([]))
        type = FunctionType.from_lists(list(block.arg_types), [])
        derived: Function = gpu.FuncOp(name, type, Region(block), kernel=True)
        derived.attributes[REVERSED] = UnitAttr()
    else:
        sweep.free_caches()
        results: list[SSAValue] = []
        for argument, is_wanted in zip(arguments, wanted, strict=True):
            if is_wanted:
                found = sweep.take_cotangent(argument)
                results.append(sweep.zero(argument.type) if found is None else found)
        sweep.insert(func.ReturnOp(*results))
        types = [value.type for value in results]
        derived = func.FuncOp(name, (list(block.arg_types), types), Region(block), "private")
    derived.location = primal.location
    interleaved = len(arguments) + sum(shadowed)
    annotate_arguments(derived, primal, shadowed, len(block.args) - interleaved)
    return derived


@dataclass(frozen=True)
class DerivedLaunch:
    """What the reverse of a launch runs, and what it takes beyond operands and shadows."""

    name: str
    extra: list[SSAValue]
    restored: dict[int, tuple[SSAValue, SSAValue]]
    """By position of the operand: memory with the array as it was, and it as an operand."""


@dataclass(frozen=True)
class Place:
    """Where the mirror image of a block is built, and the primal values known there."""

    builder: Builder
    values: dict[SSAValue, SSAValue]


class CotangentSweep(BaseSweep):
    """Visits the primal backwards; see `derivatives.context.ReverseSweep`."""

    def __init__(self, plan: Plan, block: Block):
        super().__init__(plan.activity, block)
        self.plan = plan
        self.caches: dict[Kept, SSAValue] = {}
        self.thread: SSAValue | None = None
        self.around = Iterations()
        self.counts: dict[Operation, SSAValue] = {}
        self.places: dict[Block, Place] = {}
        self.gathered: list[dict[SSAValue, Shadow]] = [{}]
        """Cotangents, by region: only the innermost may be added to."""

    def cotangent(self, value: SSAValue) -> Shadow:
        return self.gathered[-1].get(value)

    def take_cotangent(self, value: SSAValue) -> Shadow:
        return self.gathered[-1].pop(value, None)

    def add_cotangent(self, value: SSAValue, contribution: Shadow) -> None:
        if contribution is None or not carries_derivative(value.type):
            return
        if self.activity.is_active(value):
            assert self.at is not None
            location = self.at.location
            frame = self.gathered[-1]
            frame[value] = add(frame.get(value), contribution, self.builder, location)

    @contextmanager
    def frame(self, cotangents: dict[SSAValue, Shadow]) -> Iterator[None]:
        self.gathered.append(cotangents)
        try:
            yield
        finally:
            self.gathered.pop()

    @contextmanager
    def iteration(self, index: SSAValue, count: SSAValue) -> Iterator[None]:
        outer = self.around
        self.around = outer.inside(index, count)
        try:
            yield
        finally:
            self.around = outer

    def pull_block(self, block: Block) -> None:
        outer = self.at
        with self.mirroring(block):
            self.enter(block)
            for op in reversed(block.ops):
                if op in self.activity.active_ops and not is_terminator(op):
                    self.at = op
                    self.pull(op)
        self.at = outer

    @contextmanager
    def mirroring(self, block: Block) -> Iterator[None]:
        """
        Within it, what `block` defines is recomputed here, whatever loop inside asks for it.

        So nothing is computed more often than by the primal, nor where the primal would not.
        What is known of `block` is forgotten at the end: a `while` mirrors its condition twice.
        """
        self.values.append({})
        self.shadows.append({})
        outer = self.places.get(block)
        self.places[block] = Place(self.builder, self.values[-1])
        try:
            yield
        finally:
            self.values.pop()
            self.shadows.pop()
            del self.places[block]
            if outer is not None:
                self.places[block] = outer

    def enter(self, block: Block) -> None:
        """Fetches what the augmented primal kept of this block, and makes its shadows."""
        for value in self.plan.values_of(block):
            kept = self.plan.kept_of[value]
            self.at = kept.op
            popped = self.pop(kept)
            popped.name_hint = value.name_hint
            self.set_primal(value, popped)
        for op in block.ops:
            if isinstance(op, scf.WhileOp) and op in self.activity.active_ops:
                self.at = op
                self.counts[op] = self.pop(self.plan.kept_of[op])
        for op in allocations(block, self.activity):
            self.at = op
            rule = MEMREF_RULES[type(op)]
            assert isinstance(rule, AllocationRule)
            rule.enter_block(op, self)

    def pop(self, kept: Kept) -> SSAValue:
        around = self.around
        pop = PopOp(self.caches[kept], self.thread, around.indices, around.counts)
        return self.insert(pop).value

    def pull(self, op: Operation) -> None:
        if (rule := structural_rule(op)) is not None:
            rule.pull_back(op, self)
            return
        scalar = rule_of(op)
        if (cotangent := self.take_cotangent(op.results[0])) is None:
            return
        active = [self.activity.is_active(operand) for operand in op.operands]
        used = set(scalar.uses(op, active))
        operands = [self.primal(o) if o in used else None for o in op.operands]
        result = self.primal(op.results[0]) if op.results[0] in used else None
        shares = scalar.pullback(op, cotangent, operands, result, self.builder, active=active)
        for operand, share in zip(op.operands, shares, strict=True):
            self.add_cotangent(operand, share)

    def primal(self, value: SSAValue) -> SSAValue:
        """`value` as known here, recomputed if that was the decision."""
        pending = [value]
        while pending:
            wanted = pending[-1]
            if self.known(wanted) is not None:
                pending.pop()
                continue
            op = wanted.owner
            assert isinstance(op, Operation), f"{wanted} is not at hand in the reverse sweep"
            if not is_memory(wanted):
                decision = self.plan.residuals.decisions[wanted]
                assert decision.kind is Residual.RECOMPUTE, f"{wanted}: {decision}"
            missing = [o for o in operands_of(op) if self.known(o) is None]
            if missing:
                pending += missing
            else:
                self.recompute(op)
        return super().primal(value)

    def recompute(self, op: Operation) -> None:
        """Repeats `op`, whose operands are known, where the block that it is in is mirrored."""
        assert op.parent is not None
        place = self.places[op.parent]
        mapping = {
            operand: super(CotangentSweep, self).primal(operand) for operand in operands_of(op)
        }
        copy = place.builder.insert(op.clone(mapping))
        for result, seen in zip(op.results, copy.results, strict=True):
            place.values[result] = seen

    def shadow(self, memory: SSAValue) -> SSAValue:
        """The shadow; of a view, the same view of the shadow of what it views."""
        op = memory.owner
        if (
            self.known_shadow(memory) is not None
            or not isinstance(op, Operation)
            or not is_view(op)
        ):
            return super().shadow(memory)
        sources = viewed(op)
        mapping = {o: self.shadow(o) if o in sources else self.primal(o) for o in op.operands}
        view = op.clone(mapping)
        self.set_shadow(memory, self.builder.insert(view).results[0])
        return self.shadow(memory)

    def trip_count(self, loop: scf.WhileOp) -> SSAValue:
        return self.counts[loop]

    def reverse_launch(self, launch: gpu.LaunchFuncOp) -> DerivedLaunch:
        caches = [self.caches[kept] for kept in self.plan.launch_caches(launch)]
        extra = [*self.around.flat(), *caches]
        restored: dict[int, tuple[SSAValue, SSAValue]] = {}
        for copied, kept in self.plan.snapshots(launch):
            array, around = self.primal(copied.operand), self.around
            restored[copied.position] = restore(
                array, self.caches[kept], around.indices, around.counts, self
            )
        return DerivedLaunch(self.plan.kernels[launch].reverse, extra, restored)

    def free_caches(self) -> None:
        for kept, cache in self.caches.items():
            threads = None
            if isinstance(kept.of, gpu.LaunchFuncOp):
                threads = thread_count(kept.of, self.plan, self)
            self.at = kept.op
            self.insert(FreeOp(cache, threads))
