"""
`autodiff-forward-caches`: uses a kept value directly where both sweeps ended up in one function.

```mlir
%c = autodiff.init [] : !autodiff.cache<f64, "growable">
autodiff.push %v, %c [] of [] : …
%w = autodiff.pop %c [] of [] : …        // -->  %w is %v; the cache is gone
autodiff.free %c : …
```
"""

from xdsl.dialects import gpu
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from mlirad.dialects.autodiff import FreeOp, InitOp, PopOp, PushOp
from mlirad.passes.analysis.flow import body, kernel_of, module_of
from mlirad.passes.analysis.memory import (
    ALIAS,
    UNALIGNED,
    alias_classes,
    set_alias_classes,
    set_unaligned_arguments,
    unaligned_arguments,
)
from mlirad.passes.base import Pass


class ForwardCachesPass(Pass):
    """
    Removes caches that are pushed and popped once, in the block where they begin, or in one block
    of the only kernel that gets them.
    """

    name = "autodiff-forward-caches"

    def rewrite(self, module: ModuleOp) -> None:
        for op in [op for op in module.walk() if isinstance(op, InitOp)]:
            forward(op)


def forward(init: InitOp) -> None:
    users: list[Operation] = [use.operation for use in init.cache.uses]
    frees = [op for op in users if isinstance(op, FreeOp)]
    rest = [op for op in users if op not in frees]
    if len(rest) == 1 and isinstance(launch := rest[0], gpu.LaunchFuncOp):
        done = forward_in_kernel(launch, init.cache)
    else:
        done = forward_pair(init.cache, rest, init.parent)
    if done:
        for op in (*frees, init):
            op.detach()
            op.erase()


def forward_pair(cache: SSAValue, users: list[Operation], block: Block | None) -> bool:
    """Uses the pushed value for each pop, if all users stand in one block, the push first."""
    pushes = [op for op in users if isinstance(op, PushOp)]
    pops = [op for op in users if isinstance(op, PopOp)]
    if (
        len(pushes) != 1
        or len(pops) + 1 != len(users)
        or any(op.parent is not block for op in users)
    ):
        return False
    for pop in pops:
        pop.value.replace_all_uses_with(pushes[0].value)
    for op in (*pops, *pushes):
        op.detach()
        op.erase()
    return True


def forward_in_kernel(launch: gpu.LaunchFuncOp, cache: SSAValue) -> bool:
    """As `forward_pair`; the kernel, which has no other launch, loses the argument."""
    kernel = kernel_of(launch)
    others = [op for op in module_of(launch).walk() if isinstance(op, gpu.LaunchFuncOp)]
    if any(op is not launch and op.kernel == launch.kernel for op in others):
        return False
    operands = list(launch.kernelOperands)
    positions = [k for k, operand in enumerate(operands) if operand is cache]
    if len(positions) != 1:
        return False
    argument = body(kernel).args[positions[0]]
    users: list[Operation] = [use.operation for use in argument.uses]
    if not users or not forward_pair(argument, users, users[0].parent):
        return False
    drop_argument(kernel, launch, positions[0])
    return True


def drop_argument(kernel: gpu.FuncOp, launch: gpu.LaunchFuncOp, position: int) -> None:
    classes = alias_classes(kernel)
    unaligned = unaligned_arguments(kernel)
    block = body(kernel)
    block.erase_arg(block.args[position])
    kernel.properties["function_type"] = FunctionType.from_lists(list(block.arg_types), [])
    if ALIAS in kernel.attributes:
        set_alias_classes(kernel, classes[:position] + classes[position + 1 :])
    kernel.attributes.pop(UNALIGNED, None)
    set_unaligned_arguments(kernel, {k - (k > position) for k in unaligned if k != position})
    kept = [operand for k, operand in enumerate(launch.kernelOperands) if k != position]
    sizes = launch.operands
    new = gpu.LaunchFuncOp(launch.kernel, sizes[:3], sizes[3:6], None, kept)
    new.location, home = launch.location, launch.parent
    assert home is not None
    home.insert_op_before(new, launch)
    launch.detach()
    launch.erase()
