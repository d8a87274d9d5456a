"""
How the reverse sweep gets at each primal value that a rule uses there.

* LIVE: an argument, or the counter of a loop (the reverse loop computes it anew).
* RECOMPUTE: computed again from other residuals: constants, index and integer arithmetic,
  cheap float arithmetic on what is live, loads from memory that nothing writes.
* CACHE: kept by the augmented primal.

A decision that depends on floats is never recomputed: a recomputed `sin` may differ in its
last bit and take the other branch. A load is repeated only if the memory is *stable*.

```mlir
%i = arith.addi %k, %c1        // RECOMPUTE (index arithmetic), needs %k (LIVE: loop counter)
%v = memref.load %x[%i]        // CACHE if %x may be written, else RECOMPUTE
%w = arith.mulf %v, %v         // uses %v twice; %w itself is no residual
memref.store %w, %x[%i]        // uses %i
```
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from mlirad.dialects.autodiff import CacheType
from mlirad.passes.analysis.flow import Function, blocks, body, carries_derivative
from mlirad.passes.analysis.memory import is_view, viewed


class Residual(Enum):
    LIVE = "live"
    RECOMPUTE = "recompute"
    CACHE = "cache"


@dataclass(frozen=True)
class Decision:
    """Where a residual comes from, and why, in words that `explain` prints."""

    kind: Residual
    reason: str


@dataclass(frozen=True)
class ResidualsResult:
    """The answer of `analyze`: one decision per primal value that the reverse sweep reads."""

    decisions: dict[SSAValue, Decision]

    def of(self, value: SSAValue) -> Residual:
        return self.decisions[value].kind

    def is_cached(self, value: SSAValue) -> bool:
        decision = self.decisions.get(value)
        return decision is not None and decision.kind is Residual.CACHE


def analyze(
    function: Function,
    active_ops: Iterable[Operation],
    uses: Callable[[Operation], Iterable[SSAValue]],
    is_stable: Callable[[SSAValue], bool],
) -> ResidualsResult:
    """
    Args:
        function: what is differentiated.
        active_ops: the ops that the reverse sweep mirrors.
        uses: the primal values that the reverse of an op reads.
        is_stable: whether a memref holds in the reverse sweep what it held at any load.
    """
    planner = Planner(is_stable)
    planner.decide_block(body(function))
    needed: dict[SSAValue, Decision] = {}
    pending = [value for op in active_ops for value in uses(op)]
    while pending:
        value = pending.pop()
        if value in needed:
            continue
        needed[value] = planner.decisions[value]
        if needed[value].kind is Residual.RECOMPUTE:
            assert isinstance(value.owner, Operation)
            pending.extend(value.owner.operands)
    return ResidualsResult(needed)


@dataclass
class Planner:
    """Decides for every value in program order, so that operands come before their users."""

    is_stable: Callable[[SSAValue], bool]
    decisions: dict[SSAValue, Decision] = field(default_factory=dict[SSAValue, Decision])
    free: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values that cost no memory to have in the reverse sweep."""
    nameable: set[SSAValue] = field(default_factory=set[SSAValue])
    """Memrefs that the reverse sweep can name: arguments and views of them."""

    def decide_block(self, block: Block) -> None:
        for argument in block.args:
            decision = decide_argument(argument, block)
            self.record(argument, decision)
            if decision.kind is Residual.LIVE:
                self.nameable.add(argument)
        for op in block.ops:
            for inner in blocks(op):
                self.decide_block(inner)
            for result in op.results:
                self.record(result, self.decide(result, op))

    def record(self, value: SSAValue, decision: Decision) -> None:
        self.decisions[value] = decision
        if decision.kind is Residual.LIVE:
            self.free.add(value)
        elif decision.kind is Residual.RECOMPUTE:
            assert isinstance(value.owner, Operation)
            if all(operand in self.free for operand in value.owner.operands):
                self.free.add(value)

    def decide(self, value: SSAValue, op: Operation) -> Decision:
        if isinstance(value.type, MemRefType | CacheType):
            if is_view(op) and all(source in self.nameable for source in viewed(op)):
                self.nameable.add(value)
                return Decision(Residual.RECOMPUTE, "view of an argument")
            return Decision(Residual.CACHE, "memory of the primal alone")
        if isinstance(op, arith.ConstantOp):
            return Decision(Residual.RECOMPUTE, "constant")
        if isinstance(op, IDS):
            return Decision(Residual.RECOMPUTE, "id of the thread")
        if isinstance(op, memref.LoadOp):
            if op.memref in self.nameable and self.is_stable(op.memref):
                return Decision(Residual.RECOMPUTE, "loaded from memory that nothing writes")
            return Decision(Residual.CACHE, "loaded from memory that may have been written since")
        if isinstance(op, memref.DimOp):
            if op.source in self.nameable:
                return Decision(Residual.RECOMPUTE, "size of an array")
            return Decision(Residual.CACHE, "size of memory of the primal alone")
        if op.regions or not is_side_effect_free(op):
            return Decision(Residual.CACHE, f"result of '{op.name}'")
        if not carries_derivative(value.type):
            if reads_floats(op):
                return Decision(Residual.CACHE, "decided by floats")
            return Decision(Residual.RECOMPUTE, "integer arithmetic")
        if is_cheap(op) and all(operand in self.free for operand in op.operands):
            return Decision(Residual.RECOMPUTE, "cheap arithmetic on values at hand")
        return Decision(Residual.CACHE, "computed by the primal")


IDS = (
    gpu.ThreadIdOp,
    gpu.BlockIdOp,
    gpu.BlockDimOp,
    gpu.GridDimOp,
    gpu.GlobalIdOp,
    gpu.LaneIdOp,
)


def decide_argument(value: SSAValue, block: Block) -> Decision:
    parent = block.parent_op()
    if isinstance(parent, scf.ForOp) and value is block.args[0]:
        return Decision(Residual.LIVE, "counter of a loop")
    if isinstance(parent, scf.ForOp | scf.WhileOp | scf.IfOp):
        return Decision(Residual.CACHE, "carried by a loop")
    return Decision(Residual.LIVE, "argument")


def reads_floats(op: Operation) -> bool:
    return any(carries_derivative(o.type) for o in op.operands)


def is_cheap(op: Operation) -> bool:
    """Arithmetic that costs less than a load, and gives the same bits again."""
    return op.name.startswith("arith.")
