"""
`fuse-launches`: an augmented primal and its reverse sweep in one kernel, where threads allow it.

```mlir
gpu.launch_func @augmented_k(%x, %y)         ==>   gpu.launch_func @augmented_k_reverse_k(…)
gpu.launch_func @reverse_k(%x, %dx, %dy)
```

Two launches of the same grid become one if nothing but pure ops stands between them, neither
waits at barriers, the first hands nothing on from thread to thread, neither writes what the other
touches (caches apart: a thread pops what it has pushed), and the threads of the second do not
depend on each other: it only loads from, only adds to, or owns (`analysis/injectivity`) each array.
What was kept in caches then stays in registers.
"""

from collections.abc import Iterator
from itertools import pairwise

from xdsl.dialects import func, gpu, memref
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad.dialects.autodiff import AccumulateOp, CacheType, InitOp, PopOp, PushOp
from mlirad.passes.analysis import memory
from mlirad.passes.analysis.flow import body, kernel_of
from mlirad.passes.analysis.injectivity import LAUNCH_SIZES, owned
from mlirad.passes.analysis.memory import (
    MemoryResult,
    Root,
    is_memory,
    set_alias_classes,
    set_unaligned_arguments,
    unaligned_arguments,
)
from mlirad.passes.analysis.ordering import hands_on
from mlirad.passes.base import Pass
from mlirad.passes.derivatives.gpu import launch_sizes
from mlirad.passes.derivatives.signature import fresh_name
from mlirad.passes.optimize.effects import Effects
from mlirad.passes.optimize.folding import known_integer
from mlirad.passes.split_barriers import needs_parts


class FuseLaunchesPass(Pass):
    """Joins pairs of neighbours; the old kernels go if nothing launches them any more."""

    name = "fuse-launches"

    def rewrite(self, module: ModuleOp) -> None:
        effects = Effects(module)
        for function in [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]:
            for block in blocks_of(function):
                for first, second in pairwise(list(launches(block, effects))):
                    if first is None or second is None or first.parent is not block:
                        continue
                    if can_fuse(first, second, function):
                        fuse(first, second, function)


def blocks_of(function: func.FuncOp) -> list[Block]:
    return [block for region in function.walk() for r in region.regions for block in r.blocks]


def launches(block: Block, effects: Effects) -> Iterator[gpu.LaunchFuncOp | None]:
    """The launches of `block`, with None where something happens between two of them."""
    for op in block.ops:
        if isinstance(op, gpu.LaunchFuncOp):
            yield op
        elif not isinstance(op, InitOp | memref.AllocOp) and not effects.is_pure(op):
            yield None


def can_fuse(first: gpu.LaunchFuncOp, second: gpu.LaunchFuncOp, function: func.FuncOp) -> bool:
    if not same_sizes(first, second):
        return False
    kernels = kernel_of(first), kernel_of(second)
    if any(map(needs_parts, kernels)):
        return False
    # Reverse sweeps are neighbours too, but threads of the first may have to run backwards.
    if [memory.REVERSED in kernel.attributes for kernel in kernels] != [False, True]:
        return False
    if any(map(hands_on, kernels[0].walk())):
        return False
    where = memory.analyze(function)
    touched = [roots(launch, where, written=False) for launch in (first, second)]
    changed = [roots(launch, where, written=True) for launch in (first, second)]
    if changed[0] & touched[1] or changed[1] & touched[0]:
        return False
    if any(memory.UNKNOWN in found for found in touched):
        return False
    return are_independent(kernels[1])


def same_sizes(first: gpu.LaunchFuncOp, second: gpu.LaunchFuncOp) -> bool:
    pairs = zip(launch_sizes(first), launch_sizes(second), strict=True)
    return all(a is b or (known_integer(a) or -1) == known_integer(b) for a, b in pairs)


def roots(launch: gpu.LaunchFuncOp, where: MemoryResult, written: bool) -> set[Root]:
    """What the kernel accesses, or writes, of the memory of the host; not its caches."""
    kernel = kernel_of(launch)
    inside = memory.analyze(kernel)
    accessed = accessed_roots(kernel, inside)
    found: set[Root] = set()
    for operand, argument in zip(launch.kernelOperands, body(kernel).args, strict=True):
        if not is_memory(operand) or isinstance(operand.type, CacheType):
            continue
        if inside.is_written(argument) if written else inside.of(argument) & accessed:
            found |= where.of(operand)
    return found


def accessed_roots(kernel: gpu.FuncOp, inside: MemoryResult) -> frozenset[Root]:
    found: set[Root] = set()
    for op in kernel.walk():
        if not isinstance(op, memref.DimOp) and not memory.is_view(op):
            for operand in op.operands:
                if is_memory(operand):
                    found |= inside.of(operand)
    return frozenset(found)


def are_independent(kernel: gpu.FuncOp) -> bool:
    """Whether the order of the threads of a reverse kernel makes no difference."""
    own = owned(kernel)
    inside = memory.analyze(kernel)
    for argument in body(kernel).args:
        if not is_memory(argument) or isinstance(argument.type, CacheType) or argument in own:
            continue
        if inside.is_written(argument) and not only_added_to(argument, kernel, inside):
            return False
    return True


def only_added_to(argument: SSAValue, kernel: gpu.FuncOp, inside: MemoryResult) -> bool:
    for op in kernel.walk():
        if isinstance(op, AccumulateOp | PushOp | PopOp) or memory.is_view(op):
            continue
        for operand in op.operands:
            if is_memory(operand) and inside.may_alias(operand, argument):
                return False
    return True


def fuse(first: gpu.LaunchFuncOp, second: gpu.LaunchFuncOp, function: func.FuncOp) -> None:
    kernels = kernel_of(first), kernel_of(second)
    operands = list(dict.fromkeys((*first.kernelOperands, *second.kernelOperands)))
    block = Block(arg_types=[operand.type for operand in operands])
    places = dict(zip(operands, block.args, strict=True))
    unaligned: set[int] = set()
    for launch, kernel in zip((first, second), kernels, strict=True):
        mapping: dict[SSAValue, SSAValue] = {}
        for position, (operand, argument) in enumerate(
            zip(launch.kernelOperands, body(kernel).args, strict=True)
        ):
            mapping[argument] = places[operand]
            places[operand].name_hint = argument.name_hint
            if position in unaligned_arguments(kernel):
                unaligned.add(operands.index(operand))
        for op in body(kernel).ops:
            if not isinstance(op, gpu.ReturnOp):
                block.add_op(op.clone(mapping))
    end = gpu.ReturnOp([])
    end.location = second.location
    block.add_op(end)
    home = kernels[0].parent_op()
    assert home is not None
    name = fresh_name(home, "_".join(kernel.sym_name.data for kernel in kernels))
    fused = gpu.FuncOp(name, (block.arg_types, []), Region(block), kernel=True)
    fused.location = kernels[1].location
    if any(memory.SEQUENTIAL in kernel.attributes for kernel in kernels):
        fused.attributes[memory.SEQUENTIAL] = UnitAttr()
    if LAUNCH_SIZES in kernels[0].attributes:
        fused.attributes[LAUNCH_SIZES] = kernels[0].attributes[LAUNCH_SIZES]
    if (classes := alias_numbers(operands, memory.analyze(function))) is not None:
        set_alias_classes(fused, classes)
    set_unaligned_arguments(fused, unaligned)
    kernels[0].parent.insert_op_after(fused, kernels[0])  # pyright: ignore[reportOptionalMemberAccess]
    symbol = SymbolRefAttr(first.kernel.root_reference.data, [StringAttr(name)])
    new = gpu.LaunchFuncOp(symbol, first.operands[:3], first.operands[3:6], None, operands)
    replace(second, new)
    erase(first)
    for kernel, launch in zip(kernels, (first, second), strict=True):
        remove_unused(kernel, launch.kernel, function)


def alias_numbers(operands: list[SSAValue], where: MemoryResult) -> list[int] | None:
    """One number per operand, equal for those that may overlap; None if that is not known."""
    numbers: list[int] = []
    order: dict[Root, int] = {}
    for operand in operands:
        if not is_memory(operand):
            numbers.append(-1)
            continue
        found = where.of(operand)
        if len(found) != 1 or memory.UNKNOWN in found:
            return None
        (root,) = found
        numbers.append(order.setdefault(root, len(order)))
    return numbers


def replace(old: Operation, new: Operation) -> None:
    new.location, block = old.location, old.parent
    assert block is not None
    block.insert_op_before(new, old)
    erase(old)


def erase(op: Operation) -> None:
    op.detach()
    op.erase()


def remove_unused(kernel: gpu.FuncOp, symbol: SymbolRefAttr, function: func.FuncOp) -> None:
    module = function.parent_op()
    assert module is not None
    others = [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]
    if all(op.kernel != symbol for op in others):
        erase(kernel)
