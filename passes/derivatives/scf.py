"""
Derivative rules of `scf`.

Forward, loops carry (value, tangent) pairs. In reverse, a loop becomes a loop that runs down:
it carries the cotangents of its iteration arguments, and of every active value that its body
takes from outside, so that all cotangents stay SSA values.
"""

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mlirad.passes.analysis.activity import ActivityResult
from mlirad.passes.analysis.flow import captured, carries_derivative, terminator
from mlirad.passes.analysis.memory import is_memory
from mlirad.passes.derivatives.context import ForwardSweep, ReverseSweep, StructuralRule
from mlirad.passes.derivatives.fill import INDEX, index_constant
from mlirad.passes.derivatives.rule import Shadow


def active_slots(activity: ActivityResult, *values: Sequence[SSAValue]) -> list[int]:
    """Positions at which a loop carries a number or memory with a shadow."""
    return [
        i for i, slot in enumerate(zip(*values, strict=True)) if any(map(activity.is_active, slot))
    ]


def with_shadows(
    values: Sequence[SSAValue], slots: Sequence[int], sweep: ForwardSweep
) -> list[SSAValue]:
    """Primal values, then the shadows of those at `slots`."""
    shadows = [
        sweep.shadow(values[i]) if is_memory(values[i]) else sweep.instantiated(values[i])
        for i in slots
    ]
    return [*sweep.primals(values), *shadows]


def types_with_shadows(types: Sequence[Attribute], slots: Sequence[int]) -> list[Attribute]:
    return [*types, *(types[i] for i in slots)]


def bind(
    values: Sequence[SSAValue], to: Sequence[SSAValue], slots: Sequence[int], sweep: ForwardSweep
) -> None:
    """Records primal values and shadows in the order of `with_shadows`."""
    for value, seen in zip(values, to, strict=False):
        sweep.set_primal(value, seen)
        seen.name_hint = value.name_hint
    for i, shadow in zip(slots, to[len(values) :], strict=True):
        sweep.set_shadow(values[i], shadow)


class ForRule(StructuralRule):
    """`for` up with tangents beside the carried values; in reverse `for` down."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, scf.ForOp)
        counter, *carried = op.body.block.args
        slots = active_slots(sweep.activity, carried, op.results)
        block = Block(arg_types=[counter.type, *types_with_shadows(op.result_types, slots)])
        with sweep.at_end(block):
            sweep.set_primal(counter, block.args[0])
            block.args[0].name_hint = counter.name_hint
            bind(carried, block.args[1:], slots, sweep)
            sweep.push_block(op.body.block)
            yielded = terminator(op.body.block).operands
            sweep.insert(scf.YieldOp(*with_shadows(yielded, slots, sweep)))
        bounds = sweep.primals((op.lb, op.ub, op.step))
        loop = scf.ForOp(*bounds, with_shadows(op.iter_args, slots, sweep), Region(block))
        bind(op.results, sweep.insert(loop).results, slots, sweep)

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        assert isinstance(op, scf.ForOp)
        yield from (op.lb, op.ub, op.step)

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        assert isinstance(op, scf.ForOp)
        counter, *carried = op.body.block.args
        slots = [
            i
            for i in active_slots(sweep.activity, carried, op.results)
            if not is_memory(carried[i])
        ]
        outside = active_captures(op, sweep)
        lb, ub, step = sweep.primals((op.lb, op.ub, op.step))
        count = trip_count(lb, ub, step, sweep)

        def one_iteration(index: SSAValue, state: list[SSAValue]) -> list[SSAValue]:
            offset = sweep.insert(arith.MuliOp(index, as_index(step, sweep))).result
            iv = sweep.insert(arith.AddiOp(as_index(lb, sweep), offset)).result
            sweep.set_primal(counter, from_index(iv, counter.type, sweep))
            gathered: dict[SSAValue, Shadow] = dict(zip(outside, state[len(slots) :], strict=True))
            with sweep.frame(gathered), sweep.iteration(index, count):
                yielded = terminator(op.body.block).operands
                for i, cotangent in zip(slots, state, strict=False):
                    sweep.add_cotangent(yielded[i], cotangent)
                sweep.pull_block(op.body.block)
            return taken(gathered, [*(carried[i] for i in slots), *outside], sweep)

        start = [
            *taken_outside([op.results[i] for i in slots], sweep),
            *taken_outside(outside, sweep),
        ]
        state = run_down(count, start, one_iteration, sweep)
        for target, cotangent in zip(
            [*(op.iter_args[i] for i in slots), *outside], state, strict=True
        ):
            sweep.add_cotangent(target, cotangent)


class IfRule(StructuralRule):
    """The same branch, chosen by the kept condition."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, scf.IfOp)
        slots = active_slots(sweep.activity, op.results)
        regions: list[Region] = []
        for region in op.regions:
            if not region.blocks:
                regions.append(Region())
                continue
            block = Block()
            with sweep.at_end(block):
                sweep.push_block(region.block)
                yielded = terminator(region.block).operands
                sweep.insert(scf.YieldOp(*with_shadows(yielded, slots, sweep)))
            regions.append(Region(block))
        types = types_with_shadows(op.result_types, slots)
        branch = scf.IfOp(sweep.primal(op.cond), types, *regions)
        bind(op.results, sweep.insert(branch).results, slots, sweep)

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        assert isinstance(op, scf.IfOp)
        yield op.cond

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        assert isinstance(op, scf.IfOp)
        slots = [
            i for i in active_slots(sweep.activity, op.results) if not is_memory(op.results[i])
        ]
        outside = active_captures(op, sweep)
        before = [sweep.take_cotangent(value) for value in outside]
        seeds = [sweep.take_cotangent(op.results[i]) for i in slots]
        regions: list[Region] = []
        for region in op.regions:
            block = Block()
            with sweep.at_end(block):
                gathered: dict[SSAValue, Shadow] = dict(zip(outside, before, strict=True))
                if region.blocks:
                    with sweep.frame(gathered):
                        yielded = terminator(region.block).operands
                        for i, seed in zip(slots, seeds, strict=True):
                            sweep.add_cotangent(yielded[i], seed)
                        sweep.pull_block(region.block)
                sweep.insert(scf.YieldOp(*taken(gathered, outside, sweep)))
            regions.append(Region(block))
        types = [value.type for value in outside]
        branch = sweep.insert(scf.IfOp(sweep.primal(op.cond), types, *regions))
        for value, cotangent in zip(outside, branch.results, strict=True):
            sweep.add_cotangent(value, cotangent)


class WhileRule(StructuralRule):
    """The augmented primal counts the iterations; in reverse they run down as a counted loop."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, scf.WhileOp)
        before, after = op.before_region.block, op.after_region.block
        entering = active_slots(sweep.activity, before.args)
        passing = active_slots(sweep.activity, after.args, op.results)
        condition = terminator(before)
        assert isinstance(condition, scf.ConditionOp)
        head = Block(arg_types=types_with_shadows(before.arg_types, entering))
        with sweep.at_end(head):
            bind(before.args, head.args, entering, sweep)
            sweep.push_block(before)
            passed = with_shadows(condition.args, passing, sweep)
            sweep.insert(scf.ConditionOp(sweep.primal(condition.condition), *passed))
        tail = Block(arg_types=types_with_shadows(after.arg_types, passing))
        with sweep.at_end(tail):
            bind(after.args, tail.args, passing, sweep)
            sweep.push_block(after)
            yielded = terminator(after).operands
            sweep.insert(scf.YieldOp(*with_shadows(yielded, entering, sweep)))
        loop = scf.WhileOp(
            with_shadows(op.arguments, entering, sweep),
            types_with_shadows(op.result_types, passing),
            Region(head),
            Region(tail),
        )
        bind(op.results, sweep.insert(loop).results, passing, sweep)

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        yield from ()

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        assert isinstance(op, scf.WhileOp)
        before, after = op.before_region.block, op.after_region.block
        entering = [
            i for i in active_slots(sweep.activity, before.args) if not is_memory(before.args[i])
        ]
        outside = active_captures(op, sweep)
        condition = terminator(before)
        assert isinstance(condition, scf.ConditionOp)
        count = sweep.trip_count(op)
        ends = [*(before.args[i] for i in entering), *outside]

        def head(
            index: SSAValue, gathered: dict[SSAValue, Shadow], passed: Sequence[Shadow]
        ) -> list[SSAValue]:
            """The reverse of one evaluation of the condition."""
            with sweep.frame(gathered), sweep.iteration(index, count):
                for value, cotangent in zip(condition.args, passed, strict=True):
                    sweep.add_cotangent(value, cotangent)
                sweep.pull_block(before)
            return taken(gathered, ends, sweep)

        def one_iteration(index: SSAValue, state: list[SSAValue]) -> list[SSAValue]:
            gathered: dict[SSAValue, Shadow] = dict(
                zip(outside, state[len(entering) :], strict=True)
            )
            with sweep.frame(gathered), sweep.iteration(index, count):
                yielded = terminator(after).operands
                for i, cotangent in zip(entering, state, strict=False):
                    sweep.add_cotangent(yielded[i], cotangent)
                sweep.pull_block(after)
                passed = [sweep.take_cotangent(value) for value in after.args]
            return head(index, {value: gathered.get(value) for value in outside}, passed)

        gathered: dict[SSAValue, Shadow] = {v: sweep.take_cotangent(v) for v in outside}
        start = head(count, gathered, [sweep.take_cotangent(r) for r in op.results])
        state = run_down(count, start, one_iteration, sweep)
        for target, cotangent in zip(
            [*(op.arguments[i] for i in entering), *outside], state, strict=True
        ):
            sweep.add_cotangent(target, cotangent)


def active_captures(op: Operation, sweep: ReverseSweep) -> list[SSAValue]:
    """Active numbers from outside that the regions of `op` use."""
    return [
        value
        for value in captured(op.regions)
        if carries_derivative(value.type) and sweep.activity.is_active(value)
    ]


def taken(
    gathered: dict[SSAValue, Shadow], values: Sequence[SSAValue], sweep: ReverseSweep
) -> list[SSAValue]:
    """The cotangents gathered for `values`, real zeros where there are none."""
    found = ((value, gathered.get(value)) for value in values)
    return [sweep.zero(value.type) if shadow is None else shadow for value, shadow in found]


def taken_outside(values: Sequence[SSAValue], sweep: ReverseSweep) -> list[SSAValue]:
    return taken({value: sweep.take_cotangent(value) for value in values}, values, sweep)


StepFunction = Callable[[SSAValue, list[SSAValue]], list[SSAValue]]
"""One reverse iteration: from its number and the carried state to the next state."""


def run_down(
    count: SSAValue, start: Sequence[SSAValue], step: StepFunction, sweep: ReverseSweep
) -> Sequence[SSAValue]:
    """A loop whose iteration `k` does `step(count - 1 - k, state)`."""
    zero, one = index_constant(0, sweep), index_constant(1, sweep)
    block = Block(arg_types=[INDEX, *(value.type for value in start)])
    with sweep.at_end(block):
        last = sweep.insert(arith.SubiOp(count, index_constant(1, sweep))).result
        index = sweep.insert(arith.SubiOp(last, block.args[0])).result
        sweep.insert(scf.YieldOp(*step(index, list(block.args[1:]))))
    return sweep.insert(scf.ForOp(zero, count, one, start, Region(block))).results


def trip_count(lb: SSAValue, ub: SSAValue, step: SSAValue, sweep: ReverseSweep) -> SSAValue:
    """`ceildiv(ub - lb, step)`; not positive if the loop does not run."""
    lb, ub, step = (as_index(value, sweep) for value in (lb, ub, step))
    span = sweep.insert(arith.SubiOp(ub, lb)).result
    return sweep.insert(arith.CeilDivSIOp(span, step)).result


def as_index(value: SSAValue, sweep: ReverseSweep) -> SSAValue:
    if isinstance(value.type, IndexType):
        return value
    return sweep.insert(arith.IndexCastOp(value, INDEX)).result


def from_index(value: SSAValue, type: Attribute, sweep: ReverseSweep) -> SSAValue:
    if isinstance(type, IndexType):
        return value
    return sweep.insert(arith.IndexCastOp(value, type)).result


SCF_RULES: dict[type[Operation], StructuralRule] = {
    scf.ForOp: ForRule(),
    scf.IfOp: IfRule(),
    scf.WhileOp: WhileRule(),
}
