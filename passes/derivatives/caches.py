"""
Forward rules of the `autodiff` ops that a reverse sweep consists of: forward over reverse.

Caches have shadow caches that are pushed and popped in step; the shadow ops are linear. In
reverse these ops have no rule: take reverse over forward instead, or lower them first.
"""

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from mlirad.dialects.autodiff import AccumulateOp, FreeOp, InitOp, PopOp, PushOp, TakeOp
from mlirad.errors import UnsupportedError, describe
from mlirad.passes.analysis.activity import ActivityResult
from mlirad.passes.analysis.flow import location
from mlirad.passes.derivatives.context import ForwardSweep, ReverseSweep, StructuralRule
from mlirad.passes.derivatives.watch import keep_mark


class ForwardOnlyRule(StructuralRule):
    """What the ops of a reverse sweep have in common."""

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        yield from ()

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        raise UnsupportedError(
            describe(
                location(op),
                "reverse mode of a reverse-mode derivative is not supported",
                "differentiate forward over reverse, or reverse over forward",
            )
        )


class InitRule(ForwardOnlyRule):
    """A shadow cache of the same extent."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, InitOp)
        copy = sweep.copy(op)
        if sweep.activity.is_active(op.cache):
            shadow = InitOp(op.cache.type, copy.threads, copy.counts)
            keep_mark(op, shadow)
            sweep.set_shadow(op.cache, sweep.insert(shadow).cache)


class PushRule(ForwardOnlyRule):
    """The tangent goes into the shadow cache."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, PushOp)
        copy = sweep.copy(op)
        if sweep.activity.is_active(op.cache):
            tangent, shadow = sweep.instantiated(op.value), sweep.shadow(op.cache)
            sweep.insert(PushOp(tangent, shadow, copy.thread, copy.indices, copy.counts))


class PopRule(ForwardOnlyRule):
    """The tangent comes out of the shadow cache."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, PopOp)
        copy = sweep.copy(op)
        if sweep.activity.is_active(op.cache):
            shadow = sweep.shadow(op.cache)
            pop = PopOp(shadow, copy.thread, copy.indices, copy.counts)
            sweep.set_shadow(op.value, sweep.insert(pop).value)


class FreeRule(ForwardOnlyRule):
    """The shadow cache goes with it."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, FreeOp)
        copy = sweep.copy(op)
        if sweep.activity.is_active(op.cache):
            sweep.insert(FreeOp(sweep.shadow(op.cache), copy.threads))


class AccumulateRule(ForwardOnlyRule):
    """Linear: the tangent is added to the tangent of the shadow."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, AccumulateOp)
        copy = sweep.copy(op)
        if sweep.activity.is_active(op.shadow) and (tangent := sweep.tangent(op.value)) is not None:
            tangent_add = AccumulateOp(tangent, sweep.shadow(op.shadow), copy.indices)
            tangent_add.exclusive = copy.exclusive
            sweep.insert(tangent_add)


class TakeRule(ForwardOnlyRule):
    """Linear: the tangent is taken from the tangent of the shadow."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, TakeOp)
        copy = sweep.copy(op)
        if sweep.activity.is_active(op.shadow):
            take = TakeOp(sweep.shadow(op.shadow), copy.indices)
            sweep.set_shadow(op.value, sweep.insert(take).value)


CACHE_RULES: dict[type[Operation], StructuralRule] = {
    InitOp: InitRule(),
    PushOp: PushRule(),
    PopOp: PopRule(),
    FreeOp: FreeRule(),
    AccumulateOp: AccumulateRule(),
    TakeOp: TakeRule(),
}
