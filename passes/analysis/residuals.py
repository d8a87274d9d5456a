"""
How the reverse sweep gets at each primal value that a rule uses there.

* LIVE: an argument, or the counter of a loop (the reverse loop computes it anew).
* RECOMPUTE: computed again from other residuals, or loaded again from memory that still holds.
* CACHE: kept by the augmented primal.

What can be had again without keeping anything is. Of the rest, a minimum cut keeps the fewest
bytes from which all that is needed can be computed.

A decision that depends on floats is never recomputed: a recomputed `sin` may differ in its last
bit and take the other branch. The same holds for floats that a rule compares (a `max` must not
choose the other operand in reverse): they are recomputed by exact arithmetic only.

```mlir
%i = arith.addi %k, %c1        // RECOMPUTE (index arithmetic), needs %k (LIVE: loop counter)
%v = memref.load %x[%i]        // CACHE if %x may be written later, else RECOMPUTE
%s = math.sin %v               // RECOMPUTE from %v, if a rule uses it
%w = arith.mulf %s, %v         // uses %s and %v; %w itself is no residual
memref.store %w, %x[%i]        // uses %i
```
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.ir import Block, Operation, SSAValue

from mlirad.passes.analysis import min_cut
from mlirad.passes.analysis.flow import carries_derivative
from mlirad.passes.analysis.frequency import Frequencies, block_of, byte_size
from mlirad.passes.analysis.memory import is_memory
from mlirad.passes.analysis.recompute import (
    Decision,
    Residual,
    is_exact,
    operands_of,
    possible,
)

NEVER = 1 << 200
"""The weight of what cannot be kept: a view is built again, from kept offsets if need be."""
AT_HAND = "still at hand when the reverse sweep begins"

Uses = Callable[[Operation], Iterable[SSAValue]]


@dataclass(frozen=True)
class ResidualsResult:
    """The answer of `analyze`: one decision per primal value that the reverse sweep reads."""

    decisions: dict[SSAValue, Decision]

    def of(self, value: SSAValue) -> Residual:
        return self.decisions[value].kind

    @property
    def keeps_any(self) -> bool:
        return any(d.kind is Residual.CACHE for d in self.decisions.values())

    def is_cached(self, value: SSAValue) -> bool:
        decision = self.decisions.get(value)
        return decision is not None and decision.kind is Residual.CACHE


def analyze(
    active_ops: Iterable[Operation],
    uses: Uses,
    compares: Uses,
    may_load: Callable[[memref.LoadOp], bool],
    joined: Block | None = None,
) -> ResidualsResult:
    """
    Args:
        active_ops: the ops that the reverse sweep mirrors.
        uses: the primal values that the reverse of an op reads.
        compares: those of them that decide something there.
        may_load: whether memory holds in the reverse sweep what it held at any run of a load.
        joined: the body of a host function whose two sweeps become one function. What it defines
            outside of loops and branches is still at hand then, and keeping it costs nothing.
    """
    ops = list(active_ops)
    needed = dict.fromkeys(value for op in ops for value in uses(op))
    options = options_for(needed, may_load)
    if joined is not None:
        keep_joined(joined, options)
    keep_exact([value for op in ops for value in compares(op)], options)
    kept = choose(needed, options, joined)
    decisions: dict[SSAValue, Decision] = {}
    pending = list(needed)
    while pending:
        value = pending.pop()
        if value in decisions:
            continue
        decision = options[value]
        if value in kept and decision.kind is Residual.RECOMPUTE:
            decision = Decision(Residual.CACHE, "takes fewer bytes than what it is computed from")
        decisions[value] = decision
        if decision.kind is Residual.RECOMPUTE:
            pending.extend(operands_of(value.owner))
    return ResidualsResult(decisions)


Options = dict[SSAValue, Decision]
"""What is possible for each value; operands come before what is computed from them."""


def options_for(needed: Iterable[SSAValue], may_load: Callable[[memref.LoadOp], bool]) -> Options:
    """The options of all values that can matter for those that are `needed`."""
    found: Options = {}
    seen: Options = {}
    stack = list(needed)
    while stack:
        value = stack[-1]
        if value in found:
            stack.pop()
        elif value in seen:
            found[value] = seen[value]
            stack.pop()
        else:
            seen[value] = possible(value, may_load)
            if seen[value].kind is Residual.RECOMPUTE:
                stack.extend(o for o in operands_of(value.owner) if o not in seen)
    return found


def keep_exact(compared: Iterable[SSAValue], options: Options) -> None:
    """Rules out recomputing what `compared` depends on, where another bit may come out."""
    pending, seen = list(compared), set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen or options[value].kind is not Residual.RECOMPUTE:
            continue
        seen.add(value)
        assert isinstance(value.owner, Operation)
        if is_exact(value.owner):
            pending.extend(operands_of(value.owner))
        else:
            options[value] = Decision(Residual.CACHE, "compared, so its last bit matters")


def keep_joined(block: Block, options: Options) -> None:
    """Keeps what takes time to have again and no memory to keep."""
    for value, decision in options.items():
        op = value.owner
        if decision.kind is Residual.RECOMPUTE and isinstance(op, Operation) and op.parent is block:
            is_cheap = isinstance(op, arith.ConstantOp | memref.LoadOp)
            if op.regions or (carries_derivative(value.type) and not is_cheap):
                options[value] = Decision(Residual.CACHE, AT_HAND)


def choose(needed: dict[SSAValue, None], options: Options, joined: Block | None) -> set[SSAValue]:
    """The values to keep; those that cost nothing only if they are needed."""
    at_hand: set[SSAValue] = set()
    kept: set[SSAValue] = set()
    open_: dict[SSAValue, list[SSAValue] | None] = {}
    for value, decision in options.items():
        match decision.kind:
            case Residual.LIVE:
                at_hand.add(value)
            case Residual.CACHE if value in needed:  # there is no choice
                kept.add(value)
                at_hand.add(value)
            case Residual.CACHE if joined is not None and block_of(value) is joined:
                at_hand.add(value)
            case Residual.CACHE:
                open_[value] = None
            case Residual.RECOMPUTE:
                missing = [o for o in operands_of(value.owner) if o not in at_hand]
                if missing:
                    open_[value] = missing
                else:
                    at_hand.add(value)
    often = Frequencies()

    def weight(value: SSAValue) -> int:
        if is_memory(value):
            return NEVER
        return byte_size(value.type) * often.of(block_of(value))

    return kept | min_cut.cheapest(needed, open_, weight)
