"""
Which memory a memref names, and who writes it.

A *root* is something that owns memory: a class of function arguments that may overlap (the
attribute `mlirad.alias`), an allocation, or the unknown. Two memrefs may name the same
memory if and only if they share a root or one of them has the unknown root.

```mlir
func.func @f(%a: memref<?xf64>, %b: memref<?xf64>) attributes {mlirad.alias = array<i64: 0, 1>} {
  %v = memref.subview %a[0] [4] [2] : …      // roots(%v) = {argument class 0}
  %m = memref.alloc() : memref<4xf64>        // roots(%m) = {that op}
}
```

Caches of the `autodiff` dialect are memory of their own, with their `autodiff.init` as root.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from xdsl.dialects import arith, func, gpu, memref, scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, MemRefType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.dialects.autodiff import (
    AccumulateOp,
    CacheType,
    CompareExchangeOp,
    ConstantArrayOp,
    FreeOp,
    InitOp,
    PopOp,
    PushOp,
    TakeOp,
)
from mlirad.passes.analysis.flow import Function, blocks, body, callee_of, flows, kernel_of

ALIAS = "mlirad.alias"
UNALIGNED = "mlirad.unaligned"
PURE_CALL = "mlirad.pure"
ORDERED = "mlirad.ordered"
"""On a store of a derivative that is right only if threads run one after the other."""
REVERSED = "mlirad.reversed"
"""
On a kernel that is a reverse sweep: where threads run one after the other, they run in reverse
order, so that also a kernel whose threads race has the derivative of the order it ran in.
"""
TAKES = "mlirad.take"
"""On the exchange that an `autodiff.take` became: no value is handed on to another thread by it."""
SEQUENTIAL = "mlirad.sequential"
"""On a kernel whose blocks must run one after the other."""

Root = int | Operation | Literal["unknown"]
UNKNOWN: Root = "unknown"

VIEWS = (
    memref.SubviewOp,
    memref.CastOp,
    memref.ReinterpretCastOp,
    memref.MemorySpaceCastOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
)
"""Ops whose result names memory of their first operand."""


SHARED = 3
"""The memory space of arrays that the threads of a block share."""


def memory_space(type: Attribute) -> int:
    """The integer memory space of a memref, 0 by default."""
    if isinstance(type, MemRefType) and isinstance(space := type.memory_space, IntegerAttr):
        return cast("IntegerAttr[IntegerType]", space).value.data
    return 0


def is_shared_allocation(op: object) -> bool:
    return isinstance(op, memref.AllocaOp) and memory_space(op.memref.type) == SHARED


def is_view(op: object) -> bool:
    """Whether `op` names memory of its operands: of the first one, or one that it selects."""
    if isinstance(op, arith.SelectOp):
        return is_memory(op.result)
    return isinstance(op, VIEWS)


def viewed(op: Operation) -> list[SSAValue]:
    """What a view names memory of; its other operands say which part, or which of them."""
    return [op.lhs, op.rhs] if isinstance(op, arith.SelectOp) else [op.operands[0]]


ALLOCATIONS = (memref.AllocOp, memref.AllocaOp, InitOp, ConstantArrayOp)


def is_memory(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType | CacheType)


def alias_classes(function: Function) -> list[int]:
    """One number per argument: equal for memory that may overlap, -1 for what is no memory."""
    given = function.attributes.get(ALIAS)
    arguments = body(function).args
    if isinstance(given, DenseArrayBase):
        classes = [int(c) for c in given.iter_values()]
        assert len(classes) == len(arguments), f"'{ALIAS}' of {function.sym_name} is too short"
        return classes
    own = iter(range(1, len(arguments) + 1))  # a cache overlaps nothing
    return [
        next(own) if isinstance(a.type, CacheType) else 0 if is_memory(a) else -1 for a in arguments
    ]


def set_alias_classes(function: Function, classes: list[int]) -> None:
    function.attributes[ALIAS] = DenseArrayBase.from_list(i64, classes)


def unaligned_arguments(function: Function) -> set[int]:
    given = function.attributes.get(UNALIGNED)
    return set(map(int, given.iter_values())) if isinstance(given, DenseArrayBase) else set()


def set_unaligned_arguments(function: Function, positions: set[int]) -> None:
    if positions:
        function.attributes[UNALIGNED] = DenseArrayBase.from_list(i64, sorted(positions))


@dataclass(frozen=True)
class MemoryResult:
    """The answer of `analyze`."""

    roots: dict[SSAValue, frozenset[Root]]
    last_writer: dict[Root, Operation]
    """The roots that anything in the function may write, each with the last op that may."""

    def of(self, value: SSAValue) -> frozenset[Root]:
        return self.roots.get(value, frozenset({UNKNOWN}))

    def may_alias(self, a: SSAValue, b: SSAValue) -> bool:
        first, second = self.of(a), self.of(b)
        return bool(first & second) or UNKNOWN in first or UNKNOWN in second

    def is_written(self, value: SSAValue) -> bool:
        roots = self.of(value)
        written = self.last_writer.keys()
        return UNKNOWN in roots or UNKNOWN in written or not written.isdisjoint(roots)


def analyze(function: Function) -> MemoryResult:
    roots = find_roots(function)
    result = MemoryResult(roots, {})
    for op in function.walk():
        for value in writes(op):
            for root in {UNKNOWN} if value is None else result.of(value):
                result.last_writer[root] = op
    return result


def find_roots(function: Function) -> dict[SSAValue, frozenset[Root]]:
    found: dict[SSAValue, frozenset[Root]] = {}
    for argument, number in zip(body(function).args, alias_classes(function), strict=True):
        if is_memory(argument):
            found[argument] = frozenset({number})
    size = -1
    while size != (size := sum(map(len, found.values()))):  # loops feed memrefs back
        spread(body(function), found)
    return found


def spread(block: Block, found: dict[SSAValue, frozenset[Root]]) -> None:
    for op in block.ops:
        if isinstance(op, ALLOCATIONS):
            found[op.results[0]] = frozenset({op})
            continue
        for inner in blocks(op):
            spread(inner, found)
        if isinstance(op, (*VIEWS, arith.SelectOp, scf.ForOp, scf.IfOp, scf.WhileOp)):
            for source, target in flows(op):
                if is_memory(source) and is_memory(target):
                    found[target] = found.get(target, frozenset()) | found.get(source, frozenset())
            continue
        for result in op.results:
            if is_memory(result):
                found[result] = frozenset({UNKNOWN})


def writes(op: Operation) -> Iterator[SSAValue | None]:
    """The memory that `op` itself may write; `None` stands for any."""
    match op:
        case memref.StoreOp() | memref.AtomicRMWOp() | CompareExchangeOp():
            yield op.memref
        case memref.CopyOp():
            yield op.destination
        case AccumulateOp() | TakeOp():
            yield op.shadow
        case PushOp() | PopOp() | FreeOp():
            yield op.cache
        case gpu.LaunchFuncOp():
            kernel = kernel_of(op)
            changed = analyze(kernel)
            for argument, operand in zip(body(kernel).args, op.kernelOperands, strict=True):
                if is_memory(argument) and changed.is_written(argument):
                    yield operand
        case func.CallOp() if not is_pure_call(op):
            yield None
        case _:
            return


def is_pure_call(op: Operation) -> bool:
    """Whether `op` calls a declared mathematical function."""
    if not isinstance(op, func.CallOp):
        return False
    callee = callee_of(op, op.callee)
    return isinstance(callee, func.FuncOp) and PURE_CALL in callee.attributes
