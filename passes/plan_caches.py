"""
`autodiff-plan-caches`: finds the caches whose size is known before anything is pushed.

```mlir
%c = autodiff.init [] : !autodiff.cache<f64, "growable">
scf.for %i = %c0 to %n … { … autodiff.push %v, %c [%i] of [%n] … }
// -->
%c = autodiff.init [%n] : !autodiff.cache<f64, "sized">
```

The trip counts of all loops around the push must be computable where the cache begins; those
of a kernel's loops are computed by the host, from what the kernel is launched with. All other
caches stay growable.
"""

from collections.abc import Callable

from xdsl.builder import Builder
from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import FunctionType, IndexType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from mlirad.dialects.autodiff import SIZED, CacheType, InitOp
from mlirad.passes.analysis.caches import CacheUses, find_caches, inits_by_value
from mlirad.passes.analysis.flow import Function, body
from mlirad.passes.base import Pass
from mlirad.passes.derivatives.gpu import launch_sizes
from mlirad.passes.derivatives.hoist import hoist


class PlanCachesPass(Pass):
    """Makes caches sized where their extent is known; changes no value."""

    name = "autodiff-plan-caches"

    def rewrite(self, module: ModuleOp) -> None:
        caches = find_caches(module)
        sharing = inits_by_value(caches)
        counts = {uses.init: extent(uses) for uses in caches}
        growable = {init for init, found in counts.items() if found is None}
        changed = True
        while changed:  # one kernel argument has one type
            changed = False
            for group in sharing.values():
                inits = {uses.init for uses in group}
                if inits & growable and not inits <= growable:
                    growable |= inits
                    changed = True
        for value, group in sharing.items():
            if group[0].init not in growable:
                assert isinstance(value.type, CacheType)
                sized = CacheType(value.type.element_type, SIZED)
                Rewriter.replace_value_with_new_type(value, sized)
        for init, found in counts.items():
            if init not in growable:
                replace_init(init, found or [])
        for function in module.walk():
            if isinstance(function, Function) and function.body.blocks:
                update_type(function)


def extent(uses: CacheUses) -> list[SSAValue] | None:
    """Trip counts of the loops around the pushes, computed before the `init`; None if unknown."""
    init = uses.init
    assert init.parent is not None
    builder = Builder(InsertPoint.before(init))
    found: list[SSAValue] = []
    if len(uses.pushes) != 1:
        return None
    push, launch = uses.pushes[0]
    for count in push.counts:
        known = hoist(count, known_at(init, launch, builder), builder)
        if known is None:
            return None
        found.append(at_least_zero(known, builder, init))
    return found


def known_at(
    init: InitOp, launch: gpu.LaunchFuncOp | None, builder: Builder
) -> Callable[[SSAValue], SSAValue | None]:
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
