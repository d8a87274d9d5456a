"""The augmented primal: a copy of the primal that also keeps what the reverse sweep needs."""

from collections import Counter
from dataclasses import dataclass

from xdsl.dialects import arith, func, gpu, scf
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad.dialects.autodiff import InitOp, PushOp
from mlirad.errors import UnsupportedError, describe
from mlirad.passes.analysis.activity import is_terminator
from mlirad.passes.analysis.flow import Function, body, location, name_of, terminator
from mlirad.passes.derivatives.fill import INDEX, index_constant
from mlirad.passes.derivatives.gpu import launch, launch_sizes
from mlirad.passes.derivatives.hoist import hoist
from mlirad.passes.derivatives.plan import Kept, Plan
from mlirad.passes.derivatives.scf import as_index, trip_count
from mlirad.passes.derivatives.signature import (
    add_argument,
    add_function,
    annotate_arguments,
    fresh_name,
)
from mlirad.passes.derivatives.snapshots import save
from mlirad.passes.derivatives.sweep import BaseSweep
from mlirad.passes.derivatives.threads import thread_number
from mlirad.passes.derivatives.watch import label, mark


@dataclass
class Iterations:
    """The loops around a place: number of the iteration and how many there are, outermost first."""

    indices: tuple[SSAValue, ...] = ()
    counts: tuple[SSAValue, ...] = ()

    def inside(self, index: SSAValue, count: SSAValue) -> "Iterations":
        return Iterations((*self.indices, index), (*self.counts, count))

    def flat(self) -> list[SSAValue]:
        return [v for pair in zip(self.indices, self.counts, strict=True) for v in pair]


def add_iteration_arguments(block: Block, depth: int) -> Iterations:
    """Arguments that tell a kernel where in the loops of its host function it runs."""
    values = [block.insert_arg(INDEX, len(block.args)) for _ in range(2 * depth)]
    return Iterations(tuple(values[0::2]), tuple(values[1::2]))


def build_augmented(plan: Plan, name: str, depth: int) -> Function:
    """
    Args:
        depth: for a kernel, the number of host loops around its launch.
    """
    primal = plan.function
    block = Block()
    sweep = Augmenter(plan, block)
    for argument in body(primal).args:
        sweep.set_primal(argument, add_argument(block, argument))
    if isinstance(primal, gpu.FuncOp):
        around = add_iteration_arguments(block, depth)
        for kept in plan.kept:
            sweep.caches[kept] = block.insert_arg(kept.type, len(block.args))
        sweep.thread = thread_number(sweep.builder, primal.location)
        sweep.visit(body(primal), around)
        sweep.insert(gpu.ReturnOp([]))
        type = FunctionType.from_lists(list(block.arg_types), [])
        derived: Function = gpu.FuncOp(name, type, Region(block), kernel=True)
    else:
        sweep.make_caches(name)
        sweep.visit(body(primal), Iterations())
        caches = [sweep.caches[kept] for kept in plan.kept]
        results = [*sweep.primals(terminator(body(primal)).operands), *caches]
        sweep.insert(func.ReturnOp(*results))
        types = [value.type for value in results]
        derived = func.FuncOp(name, (list(block.arg_types), types), Region(block), "private")
    derived.location = primal.location
    arguments = len(body(primal).args)
    annotate_arguments(derived, primal, [False] * arguments, len(block.args) - arguments)
    return derived


class Augmenter(BaseSweep):
    """Copies the primal in order, with a push after each value that is kept."""

    def __init__(self, plan: Plan, block: Block):
        super().__init__(plan.activity, block)
        self.plan = plan
        self.caches: dict[Kept, SSAValue] = {}
        self.thread: SSAValue | None = None

    def make_caches(self, name: str) -> None:
        """Creates all caches, at the top of the host function `name`."""
        numbers = Counter[Operation]()
        for number, kept in enumerate(self.plan.kept):
            threads, text = None, label(name, number)
            if isinstance(kept.of, gpu.LaunchFuncOp):
                threads = thread_count(kept.of, self.plan, self)
                text = label(self.plan.kernels[kept.of].augmented, numbers[kept.of])
                numbers[kept.of] += 1
            self.at = kept.op
            init = self.insert(InitOp(kept.type, threads))
            mark(init, text)
            self.caches[kept] = init.cache

    def visit(self, block: Block, around: Iterations) -> None:
        for argument in block.args:
            self.keep(argument, around)
        for op in block.ops:
            if not is_terminator(op):
                self.at = op
                self.visit_op(op, around)
                for result in op.results:
                    self.keep(result, around)

    def keep(self, value: SSAValue, around: Iterations) -> None:
        if (kept := self.plan.kept_of.get(value)) is not None:
            self.push(self.primal(value), kept, around)

    def push(self, value: SSAValue, kept: Kept, around: Iterations) -> None:
        cache = self.caches[kept]
        self.insert(PushOp(value, cache, self.thread, around.indices, around.counts))

    def visit_op(self, op: Operation, around: Iterations) -> None:
        match op:
            case _ if op not in self.activity.active_ops:
                self.copy(op)
            case scf.ForOp():
                self.visit_for(op, around)
            case scf.IfOp():
                self.visit_if(op, around)
            case scf.WhileOp():
                self.visit_while(op, around)
            case gpu.LaunchFuncOp():
                pair = self.plan.kernels[op]
                for copied, kept in self.plan.snapshots(op):
                    array, cache = self.primal(copied.operand), self.caches[kept]
                    save(array, cache, around.indices, around.counts, self)
                caches = [self.caches[kept] for kept in self.plan.launch_caches(op)]
                operands = [*self.primals(op.kernelOperands), *around.flat(), *caches]
                self.insert(launch(pair.augmented, self.primals(launch_sizes(op)), operands, op))
            case _:
                self.copy(op)

    def visit_for(self, op: scf.ForOp, around: Iterations) -> None:
        lb, ub, step = self.primals((op.lb, op.ub, op.step))
        count = trip_count(lb, ub, step, self)
        block = Block()
        with self.at_end(block):
            for argument in op.body.block.args:
                self.set_primal(argument, add_argument(block, argument))
            offset = self.insert(arith.SubiOp(as_index(block.args[0], self), as_index(lb, self)))
            index = self.insert(arith.DivSIOp(offset.result, as_index(step, self))).result
            self.visit(op.body.block, around.inside(index, count))
            self.finish(op.body.block)
        loop = scf.ForOp(lb, ub, step, self.primals(op.iter_args), Region(block))
        self.bind(op, self.insert(loop))

    def visit_if(self, op: scf.IfOp, around: Iterations) -> None:
        regions: list[Region] = []
        for region in op.regions:
            if not region.blocks:
                regions.append(Region())
                continue
            block = Block()
            with self.at_end(block):
                self.visit(region.block, around)
                self.finish(region.block)
            regions.append(Region(block))
        self.bind(op, self.insert(scf.IfOp(self.primal(op.cond), op.result_types, *regions)))

    def visit_while(self, op: scf.WhileOp, around: Iterations) -> None:
        """The copy carries a counter as its last value; what it ends with is kept."""
        before, after = op.before_region.block, op.after_region.block
        head, tail = Block(), Block()
        with self.at_end(head):
            for argument in before.args:
                self.set_primal(argument, add_argument(head, argument))
            counter = head.insert_arg(INDEX, len(head.args))
            self.visit(before, around.inside(counter, counter))
            condition = terminator(before)
            assert isinstance(condition, scf.ConditionOp)
            passed = [*self.primals(condition.args), counter]
            self.insert(scf.ConditionOp(self.primal(condition.condition), *passed))
        with self.at_end(tail):
            for argument in after.args:
                self.set_primal(argument, add_argument(tail, argument))
            counter = tail.insert_arg(INDEX, len(tail.args))
            self.visit(after, around.inside(counter, counter))
            self.at = op
            following = self.insert(arith.AddiOp(counter, index_constant(1, self))).result
            self.insert(scf.YieldOp(*self.primals(terminator(after).operands), following))
        self.at = op
        start = [*self.primals(op.arguments), index_constant(0, self)]
        loop = scf.WhileOp(start, [*op.result_types, INDEX], Region(head), Region(tail))
        self.bind(op, self.insert(loop))
        self.push(loop.results[-1], self.plan.kept_of[op], around)

    def finish(self, block: Block) -> None:
        self.insert(scf.YieldOp(*self.primals(terminator(block).operands)))

    def bind(self, op: Operation, copy: Operation) -> None:
        for result, seen in zip(op.results, copy.results, strict=False):
            self.set_primal(result, seen)
            seen.name_hint = result.name_hint


def thread_count(op: gpu.LaunchFuncOp, plan: Plan, sweep: BaseSweep) -> SSAValue:
    """The number of threads of a launch, or the most, at the top of a derived host function."""
    total: SSAValue | None = None
    for size in launch_sizes(op):
        known = hoist(size, sweep.known, sweep.builder)
        if known is None:
            return most_threads(op, plan, sweep)
        known = as_index(known, sweep)
        total = known if total is None else sweep.insert(arith.MuliOp(total, known)).result
    assert total is not None
    return total


def most_threads(op: gpu.LaunchFuncOp, plan: Plan, sweep: BaseSweep) -> SSAValue:
    """The largest number of threads of a launch whose size depends on the loops around it."""
    primal = plan.function
    assert isinstance(primal, func.FuncOp)
    if op not in plan.counting:
        table = primal.parent_op()
        assert table is not None
        counting = plan.count(op, primal, fresh_name(table, f"count_{name_of(primal)}"))
        if counting is None:
            raise UnsupportedError(
                describe(
                    location(op),
                    "the size of this launch depends on floats or on what is in memory, so its "
                    "caches cannot be allocated beforehand",
                    "compute the grid from arguments, array shapes and loop counters",
                )
            )
        add_function(counting, primal)
        plan.counting[op] = name_of(counting)
    arguments = sweep.primals(body(primal).args)
    call = func.CallOp(plan.counting[op], arguments, [INDEX])
    return sweep.insert(call).results[0]
