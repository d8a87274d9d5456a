"""
Derivative rules of `memref`.

Reading and writing trade places in reverse: a load is pulled back to an addition into the
shadow, a store to a read of the shadow that leaves zero behind, an atomic addition to a read.
"""

from collections.abc import Iterator

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from mlirad.dialects.autodiff import AccumulateOp, TakeOp
from mlirad.errors import UnsupportedError, describe
from mlirad.passes.analysis.activity import ActivityResult
from mlirad.passes.analysis.flow import location
from mlirad.passes.analysis.memory import (
    ORDERED,
    TAKES,
    is_memory,
    is_shared_allocation,
    is_view,
    viewed,
)
from mlirad.passes.analysis.ordering import ADDF, MAXNUMF, MINNUMF
from mlirad.passes.derivatives.context import ForwardSweep, ReverseSweep, StructuralRule
from mlirad.passes.derivatives.fill import fill, fill_together


class LoadRule(StructuralRule):
    """`shadow[i] += cotangent of the loaded value`"""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, memref.LoadOp)
        sweep.copy(op)
        if sweep.activity.is_active(op.res):
            load = memref.LoadOp.get(sweep.shadow(op.memref), sweep.primals(op.indices))
            sweep.set_shadow(op.res, sweep.insert(load).res)

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        assert isinstance(op, memref.LoadOp)
        yield from op.indices
        yield from view_operands(op.memref)

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        assert isinstance(op, memref.LoadOp)
        if (cotangent := sweep.take_cotangent(op.res)) is not None:
            indices = sweep.primals(op.indices)
            sweep.insert(AccumulateOp(cotangent, sweep.shadow(op.memref), indices))


class StoreRule(StructuralRule):
    """
    `cotangent of the stored value += shadow[i]; shadow[i] = 0`

    The zero is what makes overwriting right: the value that was at `i` before the store cannot
    reach anything that runs after it.
    """

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, memref.StoreOp)
        sweep.copy(op)
        if sweep.activity.is_active(op.memref):
            tangent, shadow = sweep.instantiated(op.value), sweep.shadow(op.memref)
            sweep.insert(memref.StoreOp.get(tangent, shadow, sweep.primals(op.indices)))

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        assert isinstance(op, memref.StoreOp)
        yield from op.indices
        yield from view_operands(op.memref)

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        assert isinstance(op, memref.StoreOp)
        take = TakeOp(sweep.shadow(op.memref), sweep.primals(op.indices))
        sweep.add_cotangent(op.value, sweep.insert(take).value)


class AtomicAddRule(StructuralRule):
    """`cotangent of the added value += shadow[i]`; the sum holds the old value."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, memref.AtomicRMWOp)
        sweep.copy(op)
        indices, value = sweep.primals(op.indices), sweep.instantiated(op.value)
        tangent = memref.AtomicRMWOp.create(
            operands=[value, sweep.shadow(op.memref), *indices],
            result_types=[value.type],
            properties=op.properties,
            attributes=op.attributes,
        )
        sweep.set_shadow(op.result, sweep.insert(tangent).result)

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        assert isinstance(op, memref.AtomicRMWOp)
        yield from op.indices
        yield from view_operands(op.memref)

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        assert isinstance(op, memref.AtomicRMWOp)
        refuse_old_value(op, sweep)
        load = memref.LoadOp.get(sweep.shadow(op.memref), sweep.primals(op.indices))
        sweep.add_cotangent(op.value, sweep.insert(load).res)


class AtomicExtremumRule(StructuralRule):
    """
    Whoever changes the element takes its shadow, as a store would: ties keep the old value.

    Threads that run one after the other, in reverse order in the reverse sweep, agree on who
    that is.
    """

    def __init__(self, predicate: str):
        self.predicate = predicate

    def wins(self, op: memref.AtomicRMWOp, sweep: ForwardSweep | ReverseSweep) -> SSAValue:
        """Whether this thread changed the element."""
        value, old = sweep.primals((op.value, op.result))
        return sweep.insert(arith.CmpfOp(value, old, self.predicate)).result

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, memref.AtomicRMWOp)
        sweep.copy(op)
        shadow, indices = sweep.shadow(op.memref), sweep.primals(op.indices)
        old = sweep.insert(memref.LoadOp.get(shadow, indices)).res
        new = arith.SelectOp(self.wins(op, sweep), sweep.instantiated(op.value), old)
        store = memref.StoreOp.get(sweep.insert(new).result, shadow, indices)
        sweep.insert(store).attributes[ORDERED] = UnitAttr()
        sweep.set_shadow(op.result, old)

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        assert isinstance(op, memref.AtomicRMWOp)
        yield from (op.value, op.result, *op.indices)
        yield from view_operands(op.memref)

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        assert isinstance(op, memref.AtomicRMWOp)
        refuse_old_value(op, sweep)
        shadow, indices = sweep.shadow(op.memref), sweep.primals(op.indices)
        wins = self.wins(op, sweep)
        zero = sweep.zero(op.value.type)
        found = sweep.insert(memref.LoadOp.get(shadow, indices)).res
        kept = sweep.insert(arith.SelectOp(wins, zero, found)).result
        sweep.insert(memref.StoreOp.get(kept, shadow, indices)).attributes[ORDERED] = UnitAttr()
        taken = arith.SelectOp(wins, found, sweep.zero(op.value.type))
        sweep.add_cotangent(op.value, sweep.insert(taken).result)


def refuse_old_value(op: memref.AtomicRMWOp, sweep: ReverseSweep) -> None:
    if sweep.cotangent(op.result) is not None:
        raise UnsupportedError(
            describe(
                location(op),
                "the old value that an atomic operation returns depends on the order of threads "
                "and cannot be differentiated in reverse",
                "do not use the returned value in active arithmetic",
            )
        )


class TakenRule(AtomicAddRule):
    """What is taken out of a shadow, and zero put in its place: so for the tangents."""

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        raise UnsupportedError(
            describe(
                location(op),
                "a reverse sweep cannot be differentiated in reverse",
                "take forward(reverse(f)), which gives the same numbers",
            )
        )


TAKEN_RULE = TakenRule()
ATOMIC_RULES: dict[int, StructuralRule] = {
    ADDF: AtomicAddRule(),
    MAXNUMF: AtomicExtremumRule("ogt"),
    MINNUMF: AtomicExtremumRule("olt"),
}


class AtomicRule(StructuralRule):
    """One of the rules for each kind of atomic operation."""

    def rule(self, op: Operation) -> StructuralRule:
        assert isinstance(op, memref.AtomicRMWOp)
        if (found := ATOMIC_RULES.get(op.kind.value.data)) is not None:
            return found
        if TAKES in op.attributes:
            return TAKEN_RULE
        raise UnsupportedError(
            describe(
                location(op),
                "this atomic operation on an active array has no derivative",
                "use atomic add, sub, max or min, or annotate the array Const",
            )
        )

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        self.rule(op).push_forward(op, sweep)

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        yield from self.rule(op).uses(op, activity)

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        self.rule(op).pull_back(op, sweep)


class AllocationRule(StructuralRule):
    """A shadow of the same shape, zero at first; in reverse it is there before its uses."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        copy = sweep.copy(op)
        if sweep.activity.is_active(op.results[0]):
            sweep.set_shadow(op.results[0], self.allocate(copy, list(copy.operands), sweep))

    def allocate(
        self, op: Operation, sizes: list[SSAValue], sweep: ForwardSweep | ReverseSweep
    ) -> SSAValue:
        shadow = type(op).create(
            operands=sizes,
            result_types=op.result_types,
            properties=op.properties,
            attributes=op.attributes,
        )
        sweep.insert(shadow)
        if is_shared_allocation(op):
            fill_together(shadow.results[0], sweep)
        elif isinstance(op, memref.AllocaOp):  # `alloc` is zero by contract
            fill(shadow.results[0], sweep)
        return shadow.results[0]

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        yield from op.operands

    def enter_block(self, op: Operation, sweep: ReverseSweep) -> None:
        """Called where the reverse of the block of `op` begins."""
        shadow = self.allocate(op, sweep.primals(op.operands), sweep)
        sweep.set_shadow(op.results[0], shadow)

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        if isinstance(op, memref.AllocOp):
            sweep.insert(memref.DeallocOp.get(sweep.shadow(op.results[0])))


class DeallocRule(StructuralRule):
    """Shadows die with their primal; in reverse the allocation's rule ends their life."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, memref.DeallocOp)
        sweep.copy(op)
        if sweep.activity.is_active(op.memref):
            sweep.insert(memref.DeallocOp.get(sweep.shadow(op.memref)))

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        yield from ()

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        return


class ViewRule(StructuralRule):
    """The same view of the shadow."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        copy = sweep.copy(op)
        if sweep.activity.is_active(op.results[0]):
            view = copy.clone()
            for position, operand in enumerate(op.operands):
                if is_memory(operand):
                    view.operands[position] = sweep.shadow(operand)
            sweep.set_shadow(op.results[0], sweep.insert(view).results[0])

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        yield from (operand for operand in op.operands if not is_memory(operand))

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        return


class CopyRule(StructuralRule):
    """Element by element a load and a store."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, memref.CopyOp)
        sweep.copy(op)
        if not sweep.activity.is_active(op.destination):
            return
        shadow = sweep.shadow(op.destination)
        if sweep.activity.is_active(op.source):
            sweep.insert(memref.CopyOp(sweep.shadow(op.source), shadow))
        else:
            fill(shadow, sweep)

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        yield from view_operands(op.operands[0])
        yield from view_operands(op.operands[1])

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        raise UnsupportedError(
            describe(
                location(op),
                "'memref.copy' of active arrays is not differentiated in reverse yet",
                "copy element by element in a loop",
            )
        )


def view_operands(value: SSAValue) -> Iterator[SSAValue]:
    """What is needed to build the view of the shadow that `value` is of its buffer."""
    op = value.owner
    if isinstance(op, Operation) and is_view(op):
        yield from (operand for operand in op.operands if not is_memory(operand))
        for source in viewed(op):
            yield from view_operands(source)


VIEW_RULE = ViewRule()
"""Of every op that `is_view` accepts."""

MEMREF_RULES: dict[type[Operation], StructuralRule] = {
    memref.LoadOp: LoadRule(),
    memref.StoreOp: StoreRule(),
    memref.AtomicRMWOp: AtomicRule(),
    memref.AllocOp: AllocationRule(),
    memref.AllocaOp: AllocationRule(),
    memref.DeallocOp: DeallocRule(),
    memref.CopyOp: CopyRule(),
}
