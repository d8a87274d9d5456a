"""
`autodiff-plan-caches`: finds the caches whose size is known before anything is pushed.

```mlir
%c = autodiff.init [] : !autodiff.cache<f64, "growable">
scf.for %i = %c0 to %n … { … autodiff.push %v, %c [%i] of [%n] … }
// -->
%c = autodiff.init [%n] : !autodiff.cache<f64, "sized">
```

The trip counts of all loops around the push must be computable where the cache begins; those
of a kernel's loops are computed by the host, from what the kernel is launched with. One count may
change evenly with the number of a loop around it: then there is no room for what does not run.
All other caches stay growable.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import FunctionType, IndexType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from mlirad.dialects.autodiff import SIZED, CacheType, InitOp, PopOp, PushOp
from mlirad.passes.analysis.caches import CacheUses, find_caches, inits_by_value
from mlirad.passes.analysis.flow import Function, body
from mlirad.passes.base import Pass
from mlirad.passes.derivatives.gpu import launch_sizes
from mlirad.passes.derivatives.hoist import hoist
from mlirad.passes.derivatives.sweep import BuilderBefore
from mlirad.passes.derivatives.triangle import Numbering, Triangle, counters, slopes
from mlirad.passes.derivatives.watch import keep_mark

Known = Callable[[SSAValue], SSAValue | None]
"""What is known of a value where a cache begins."""


class PlanCachesPass(Pass):
    """Makes caches sized where their extent is known; changes no value."""

    name = "autodiff-plan-caches"

    def rewrite(self, module: ModuleOp) -> None:
        caches = find_caches(module)
        sharing = inits_by_value(caches)
        extents = {uses.init: extent(uses) for uses in caches}
        growable = {init for init, found in extents.items() if found is None}
        for group in sharing.values():
            found = [extents[uses.init] for uses in group]
            if len({extent.triangle for extent in found if extent is not None}) > 1:
                growable |= {uses.init for uses in group}
        changed = True
        while changed:  # one kernel argument has one type
            changed = False
            for group in sharing.values():
                inits = {uses.init for uses in group}
                if inits & growable and not inits <= growable:
                    growable |= inits
                    changed = True
        for value, group in sharing.items():
            found = extents[group[0].init]
            if group[0].init not in growable and found is not None:
                if found.triangle is not None:
                    number_without_gaps(value, found.triangle)
                assert isinstance(value.type, CacheType)
                sized = CacheType(value.type.element_type, SIZED)
                Rewriter.replace_value_with_new_type(value, sized)
        for init, found in extents.items():
            if init not in growable and found is not None:
                replace_init(init, found.sizes)
        for function in module.walk():
            if isinstance(function, Function) and function.body.blocks:
                update_type(function)


@dataclass
class Extent:
    """The sizes of a cache, and the two levels of loops that became one of them."""

    sizes: list[SSAValue]
    triangle: Triangle | None = None


def extent(uses: CacheUses) -> Extent | None:
    """How often the loops around the push run, computed before the `init`; None if unknown."""
    init = uses.init
    assert init.parent is not None
    if len(uses.pushes) != 1:
        return None
    builder = Builder(InsertPoint.before(init))
    push, launch = uses.pushes[0]
    if launch is not None:
        # The places of threads are only the same in every launch if their number is.
        known = known_at(init, None, builder)
        if any(hoist(size, known, builder) is None for size in launch_sizes(launch)):
            return None
    known = known_at(init, launch, builder)
    counts = [hoist(count, known, builder) for count in push.counts]
    if None not in counts:
        return Extent([at_least_zero(count, builder, init) for count in counts if count])
    return triangular(push, counts, known, builder, init)


def triangular(
    push: PushOp, counts: list[SSAValue | None], known: Known, builder: Builder, init: InitOp
) -> Extent | None:
    """The extent if one count is unknown and changes evenly with the number of another loop."""
    if counts.count(None) > 1:
        return None
    inner = counts.index(None)
    around = counters(push, len(counts))
    found = slopes(push.counts[inner], around)
    if found is None or len(found) != 1:
        return None
    ((counter, slope),) = found.items()
    zero = arith.ConstantOp.from_int_and_width(0, IndexType())
    zero.location = init.location
    builder.insert(zero)
    at_zero = hoist(
        push.counts[inner], lambda v: zero.result if v is counter else known(v), builder
    )
    outer = around[counter]
    if at_zero is None or outer >= inner:
        return None
    triangle = Triangle(outer, inner, slope)
    sizes = [zero.result if c is None else at_least_zero(c, builder, init) for c in counts]
    total = Numbering(triangle, builder, init.location).before(at_zero, sizes[outer])
    sizes[outer] = total
    del sizes[inner]
    return Extent(sizes, triangle)


def number_without_gaps(cache: SSAValue, triangle: Triangle) -> None:
    """Makes pushes and pops of `cache` count both loops of `triangle` as one."""
    for op in [use.operation for use in cache.uses]:
        if not isinstance(op, PushOp | PopOp):
            continue
        build = BuilderBefore(op)
        numbering = Numbering(triangle, build.builder, op.location)
        indices, counts = numbering.fused(list(op.indices), list(op.counts))
        if isinstance(op, PushOp):
            build(PushOp(op.value, op.cache, op.thread, indices, counts))
            build.replace()
        else:
            pop = build(PopOp(op.cache, op.thread, indices, counts))
            build.replace(op.value, pop.value)


def known_at(init: InitOp, launch: gpu.LaunchFuncOp | None, builder: Builder) -> Known:
    """What is known where `init` stands: arguments, and what the kernel is launched with."""

    def on_host(value: SSAValue) -> SSAValue | None:
        owner = value.owner
        if isinstance(owner, Block):
            return value if isinstance(owner.parent_op(), Function) else None
        same_block = owner.parent is init.parent
        return value if same_block and owner.is_before_in_block(init) else None

    def in_kernel(value: SSAValue) -> SSAValue | None:
        assert launch is not None
        owner = value.owner
        if isinstance(owner, Block):
            if isinstance(owner.parent_op(), gpu.FuncOp):
                operand = launch.kernelOperands[owner.args.index(value)]
                return hoist(operand, on_host, builder)
            return None
        sizes = launch_sizes(launch)
        if isinstance(owner, gpu.GridDimOp):
            return hoist(sizes["xyz".index(owner.dimension.data)], on_host, builder)
        if isinstance(owner, gpu.BlockDimOp):
            return hoist(sizes[3 + "xyz".index(owner.dimension.data)], on_host, builder)
        return None

    return on_host if launch is None else in_kernel


def at_least_zero(count: SSAValue, builder: Builder, init: InitOp) -> SSAValue:
    zero = arith.ConstantOp.from_int_and_width(0, IndexType())
    larger = arith.MaxSIOp(count, zero)
    for op in (zero, larger):
        op.location = init.location
        builder.insert(op)
    return larger.result


def replace_init(init: InitOp, counts: list[SSAValue]) -> None:
    sized = InitOp(init.cache.type, init.threads, counts)
    sized.location = init.location
    keep_mark(init, sized)
    assert init.parent is not None
    init.parent.insert_op_before(sized, init)
    init.cache.replace_all_uses_with(sized.cache)
    init.detach()
    init.erase()


def update_type(function: Function) -> None:
    """Makes the function type agree with arguments and returned values."""
    block = body(function)
    returned: Operation | None = block.last_op
    assert returned is not None
    outputs = [value.type for value in returned.operands]
    function.properties["function_type"] = FunctionType.from_lists(list(block.arg_types), outputs)
