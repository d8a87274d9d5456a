"""
Which values need a derivative.

A value is *varied* if it depends on an active argument, *useful* if an active result depends
on it, and *active* if it is both. Only active values get shadows; only active ops need rules.
Memory counts as one value per root (see `memory`): what is stored makes the root varied, what
is loaded from it makes it useful. Launches are followed into their kernels.

```mlir
func.func @f(%x: f64, %c: f64) -> f64 {   // %x active
  %k = arith.mulf %c, %c : f64            // useful, not varied
  %u = arith.mulf %x, %x : f64            // varied, not useful: nobody uses it
  %r = arith.mulf %x, %k : f64            // active
  func.return %r : f64
}
```
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, gpu, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from mlirad.dialects.autodiff import (
    AccumulateOp,
    CacheType,
    FreeOp,
    InitOp,
    PopOp,
    PushOp,
    StopGradientOp,
    TakeOp,
)
from mlirad.passes.analysis import memory
from mlirad.passes.analysis.flow import (
    Function,
    blocks,
    body,
    carries_derivative,
    flows,
    kernel_of,
    terminator,
)
from mlirad.passes.analysis.memory import MemoryResult, Root, is_memory

Cell = SSAValue | Root
"""What is varied or useful: a number, or the memory of a root."""


@dataclass(frozen=True)
class ActivityResult:
    """The answer of `analyze`; a pure value, safe to keep while IR is rewritten."""

    varied: frozenset[Cell]
    useful: frozenset[Cell]
    memory: MemoryResult
    active_ops: frozenset[Operation]
    """Ops with an active result or effect, and the loops, branches and launches around them."""

    def is_varied(self, value: SSAValue) -> bool:
        return any(cell in self.varied for cell in cells(value, self.memory))

    def is_useful(self, value: SSAValue) -> bool:
        return any(cell in self.useful for cell in cells(value, self.memory))

    def is_active(self, value: SSAValue) -> bool:
        return any(
            cell in self.varied and cell in self.useful for cell in cells(value, self.memory)
        )


def analyze(
    function: Function,
    varied: Collection[int],
    useful: Collection[int],
    useful_results: Collection[int] = (),
) -> ActivityResult:
    """
    Args:
        function: without calls of defined functions (inline them first).
        varied: positions of arguments whose initial value, or contents, vary.
        useful: positions of memref arguments whose final contents matter.
        useful_results: positions of results that matter.
    """
    where = memory.analyze(function)
    block = body(function)
    edges = list(find_edges(block, where))
    forward: set[Cell] = set()
    for i in varied:
        forward.update(cells(block.args[i], where))
    grow(forward, edges, where, backwards=False)
    backward: set[Cell] = set()
    for i in useful:
        backward.update(cells(block.args[i], where))
    returned = terminator(block).operands
    for i in useful_results:
        backward.update(cells(returned[i], where))
    grow(backward, edges, where, backwards=True)
    partial = ActivityResult(frozenset(forward), frozenset(backward), where, frozenset())
    active_ops: set[Operation] = set()
    collect_active_ops(block, partial, active_ops)
    return ActivityResult(partial.varied, partial.useful, where, frozenset(active_ops))


def cells(value: SSAValue, where: MemoryResult) -> Iterator[Cell]:
    """The cells behind a value; none for what can never carry a derivative."""
    if isinstance(value.type, MemRefType | CacheType):
        if carries_derivative(value.type.element_type):
            yield from where.of(value)
    elif carries_derivative(value.type):
        yield value


def pairs(source: SSAValue, target: SSAValue, where: MemoryResult) -> Iterator[tuple[Cell, Cell]]:
    for a in cells(source, where):
        for b in cells(target, where):
            yield a, b


Edge = tuple[Cell, Cell] | gpu.LaunchFuncOp
"""A source and a target, or a launch, whose pairs depend on what is known."""


def find_edges(block: Block, where: MemoryResult) -> Iterator[Edge]:
    """Along what the ops of `block` pass derivatives, in program order."""
    for op in block.ops:
        if isinstance(op, gpu.LaunchFuncOp):
            yield op
        elif not is_terminator(op):
            yield from transfers(op, where)
        for inner in blocks(op):
            yield from find_edges(inner, where)


def transfers(op: Operation, where: MemoryResult) -> Iterator[tuple[Cell, Cell]]:
    """The (source, target) pairs of cells along which `op` passes derivatives."""
    match op:
        case StopGradientOp() | InitOp() | FreeOp():
            return
        case memref.LoadOp():
            yield from pairs(op.memref, op.res, where)
        case memref.StoreOp():
            yield from pairs(op.value, op.memref, where)
        case memref.AtomicRMWOp():
            yield from pairs(op.value, op.memref, where)
            yield from pairs(op.memref, op.result, where)
        case memref.CopyOp():
            yield from pairs(op.source, op.destination, where)
        case PushOp():
            yield from pairs(op.value, op.cache, where)
        case PopOp():
            yield from pairs(op.cache, op.value, where)
        case AccumulateOp():
            yield from pairs(op.value, op.shadow, where)
        case TakeOp():
            yield from pairs(op.shadow, op.value, where)
        case _:
            for source, target in flows(op):
                if not is_memory(target):
                    yield from pairs(source, target, where)


Reached = dict[tuple[Function, tuple[int, ...], bool], list[bool]]
"""For kernels: which arguments are reached from given ones, forwards or backwards."""


def launch_flows(
    op: gpu.LaunchFuncOp,
    where: MemoryResult,
    seen: Collection[Cell],
    backwards: bool,
    known_kernels: Reached,
) -> Iterator[tuple[SSAValue, SSAValue]]:
    """
    Pairs of kernel operands along which the kernel passes derivatives, as far as they start
    (backwards: end) in a cell already `seen`.
    """
    kernel = kernel_of(op)
    operands = op.kernelOperands
    known = [
        i for i, operand in enumerate(operands) if any(c in seen for c in cells(operand, where))
    ]
    if not known:
        return
    key = (kernel, tuple(known), backwards)
    if key not in known_kernels:
        inner = analyze(kernel, () if backwards else known, known if backwards else ())
        reaches = inner.is_useful if backwards else inner.is_varied
        known_kernels[key] = [reaches(argument) for argument in body(kernel).args]
    start = operands[known[0]]
    for operand, reached in zip(operands, known_kernels[key], strict=True):
        if reached:
            yield (operand, start) if backwards else (start, operand)


def grow(seen: set[Cell], edges: Sequence[Edge], where: MemoryResult, *, backwards: bool) -> None:
    """Follows `edges` from what is `seen` until that adds nothing: loops and memory feed back."""
    ordered = edges[::-1] if backwards else edges
    known_kernels: Reached = {}
    size = -1
    while size != len(seen):
        size = len(seen)
        for edge in ordered:
            if isinstance(edge, tuple):
                follow(edge, seen, backwards)
                continue
            for source, target in launch_flows(edge, where, seen, backwards, known_kernels):
                for pair in pairs(source, target, where):
                    follow(pair, seen, backwards)


def follow(pair: tuple[Cell, Cell], seen: set[Cell], backwards: bool) -> None:
    source, target = pair[::-1] if backwards else pair
    if source in seen:
        seen.add(target)


def is_terminator(op: Operation) -> bool:
    return isinstance(op, scf.YieldOp | scf.ConditionOp | func.ReturnOp | gpu.ReturnOp)


def touched(op: Operation) -> Iterator[SSAValue]:
    """The values and memories whose activity makes `op` itself active."""
    yield from op.results
    match op:
        case memref.StoreOp() | memref.AtomicRMWOp():
            yield op.memref
        case memref.CopyOp():
            yield op.destination
        case PushOp() | PopOp() | FreeOp():
            yield op.cache
        case AccumulateOp() | TakeOp():
            yield op.shadow
        case gpu.LaunchFuncOp():
            yield from op.kernelOperands
        case scf.ForOp():
            yield from op.body.block.args
        case scf.WhileOp():
            yield from op.before_region.block.args
            yield from op.after_region.block.args
        case _:
            return


def collect_active_ops(block: Block, answer: ActivityResult, found: set[Operation]) -> bool:
    """
    Adds the active ops of `block`; returns whether there is one.

    A barrier counts as active, with the control flow around it: all threads must come to it in
    the derived kernels too.
    """
    some = False
    for op in block.ops:
        inside = [collect_active_ops(inner, answer, found) for inner in blocks(op)]
        here = isinstance(op, gpu.BarrierOp) or any(map(answer.is_active, touched(op)))
        if not is_terminator(op) and (here or any(inside)):
            found.add(op)
            some = True
    return some
