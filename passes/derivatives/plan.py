"""
What one function or kernel needs for its two halves of reverse mode.

A `Plan` is made once per (function, activity) and read by both halves, so that they agree on
which values are kept and in which order the caches are handed over.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects import func, gpu, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.dialects.autodiff import GROWABLE, CacheType
from mlirad.passes.analysis import activity, residuals
from mlirad.passes.analysis.activity import ActivityResult
from mlirad.passes.analysis.flow import Function, body, kernel_of
from mlirad.passes.analysis.memory import is_memory
from mlirad.passes.analysis.residuals import ResidualsResult
from mlirad.passes.analysis.stability import Stability
from mlirad.passes.derivatives.rule import ScalarRule
from mlirad.passes.derivatives.snapshots import Snapshot
from mlirad.passes.derivatives.structural import structural_rule
from mlirad.passes.derivatives.sweep import rule_of


@dataclass(frozen=True)
class KernelPair:
    """The two kernels derived from a launched one, and the caches between them."""

    augmented: str
    reverse: str
    caches: tuple[CacheType, ...]
    snapshots: tuple[int, ...] = ()
    """The operands of the launch that the reverse kernel gets as they were."""


@dataclass(frozen=True, eq=False)
class Kept:
    """
    One cache: of an SSA value, of the trip count of a `while` (then `of` is the op), one that
    belongs to a launch (then `of` is the launch), or the copy of an array for a launch.
    """

    of: SSAValue | Operation | Snapshot
    type: CacheType

    @property
    def op(self) -> Operation | None:
        """The op that the cache is there for."""
        if isinstance(self.of, Operation):
            return self.of
        if isinstance(self.of, Snapshot):
            return self.of.launch
        owner = self.of.owner
        return owner if isinstance(owner, Operation) else owner.parent_op()


Counter = Callable[[gpu.LaunchFuncOp, func.FuncOp, str], func.FuncOp | None]
"""From a launch, its host function and a name to a function that finds the most threads."""


@dataclass
class Plan:
    """Everything that both halves of reverse mode of `function` must agree on."""

    function: Function
    activity: ActivityResult
    residuals: ResidualsResult
    kept: list[Kept] = field(default_factory=list[Kept])
    kernels: dict[Operation, KernelPair] = field(default_factory=dict[Operation, KernelPair])
    counting: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """Functions that find how many threads a launch has at most, as `count` makes them."""
    count: Counter = field(default=lambda launch, primal, name: None)

    @cached_property
    def kept_of(self) -> dict[SSAValue | Operation | Snapshot, Kept]:
        """The cache of a value, or of the trip count of a `while`."""
        return {kept.of: kept for kept in self.kept if not isinstance(kept.of, gpu.LaunchFuncOp)}

    def launch_caches(self, launch: gpu.LaunchFuncOp) -> list[Kept]:
        return [kept for kept in self.kept if kept.of is launch]

    def snapshots(self, launch: gpu.LaunchFuncOp) -> Iterator[tuple[Snapshot, Kept]]:
        for kept in self.kept:
            if isinstance(kept.of, Snapshot) and kept.of.launch is launch:
                yield kept.of, kept

    def values_of(self, block: Block) -> Iterator[SSAValue]:
        """The cached values that `block` itself defines."""
        for argument in block.args:
            if self.residuals.is_cached(argument):
                yield argument
        for op in block.ops:
            for result in op.results:
                if self.residuals.is_cached(result):
                    yield result


def uses_of(op: Operation, answer: ActivityResult) -> Iterator[SSAValue]:
    """The primal values that the reverse of an active op reads."""
    if (rule := structural_rule(op)) is not None:
        for value in rule.uses(op, answer):
            if not is_memory(value):
                yield value
    else:
        yield from rule_of(op).uses(op, [answer.is_active(o) for o in op.operands])


def compares_of(op: Operation, answer: ActivityResult) -> Iterator[SSAValue]:
    """Those of `uses_of` that decide something; of a rule that does not say, all."""
    if structural_rule(op) is None:
        rule, active = rule_of(op), [answer.is_active(o) for o in op.operands]
        yield from (rule.compares if isinstance(rule, ScalarRule) else rule.uses)(op, active)


def make_plan(
    function: Function,
    answer: ActivityResult,
    is_stable_argument: Sequence[bool],
    derive_kernel: Callable[[gpu.LaunchFuncOp, ActivityResult, Stability], KernelPair],
    joined: bool,
) -> Plan:
    """
    Args:
        is_stable_argument: for each argument, whether its memory is certain to hold the same
            in the reverse sweep unless the function itself writes it.
        derive_kernel: builds the kernels of an active launch.
        joined: whether both halves become one function.
    """
    stable_roots = frozenset(
        root
        for argument, is_stable in zip(body(function).args, is_stable_argument, strict=True)
        if is_stable
        for root in answer.memory.roots.get(argument, ())
    )
    stability = Stability(function, answer.memory, stable_roots)
    active = [op for op in function.walk() if op in answer.active_ops]
    decided = residuals.analyze(
        active,
        uses=lambda op: uses_of(op, answer),
        compares=lambda op: compares_of(op, answer),
        may_load=lambda load: stability.holds(load.memref, load),
        joined=body(function) if joined else None,
    )
    plan = Plan(function, answer, decided)
    for op in active:
        if isinstance(op, gpu.LaunchFuncOp):
            plan.kernels[op] = derive_kernel(op, answer, stability)
    collect_kept(body(function), plan)
    return plan


def collect_kept(block: Block, plan: Plan) -> None:
    for value in plan.values_of(block):
        plan.kept.append(Kept(value, cache_type(value.type)))
    for op in block.ops:
        if isinstance(op, scf.WhileOp) and op in plan.activity.active_ops:
            plan.kept.append(Kept(op, cache_type(IndexType())))
        if (pair := plan.kernels.get(op)) is not None:
            plan.kept.extend(Kept(op, type) for type in pair.caches)
            assert isinstance(op, gpu.LaunchFuncOp)
            for position in pair.snapshots:
                copied = Snapshot(op, position)
                assert isinstance(copied.operand.type, MemRefType)
                plan.kept.append(Kept(copied, cache_type(copied.operand.type.element_type)))
        for region in op.regions:
            for inner in region.blocks:
                collect_kept(inner, plan)


def cache_type(element: Attribute) -> CacheType:
    return CacheType(element, GROWABLE)


def analyze_kernel(
    launch: gpu.LaunchFuncOp, outer: ActivityResult
) -> tuple[ActivityResult, list[bool]]:
    """The activity of the kernel of `launch`, and which of its arguments are active."""
    kernel = kernel_of(launch)
    flags = [outer.is_active(operand) for operand in launch.kernelOperands]
    chosen = [i for i, flag in enumerate(flags) if flag]
    arguments = body(kernel).args
    answer = activity.analyze(kernel, chosen, [i for i in chosen if is_memory(arguments[i])])
    return answer, flags


def allocations(block: Block, answer: ActivityResult) -> Iterator[Operation]:
    """The allocations of `block` itself that have shadows."""
    for op in block.ops:
        if isinstance(op, memref.AllocOp | memref.AllocaOp) and op in answer.active_ops:
            yield op


def outer_loops(op: Operation) -> int:
    """How many loops of the function are around `op`."""
    count, parent = 0, op.parent_op()
    while parent is not None and not isinstance(parent, Function):
        count += isinstance(parent, scf.ForOp | scf.WhileOp)
        parent = parent.parent_op()
    return count
