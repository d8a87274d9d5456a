"""
Copies of arrays that a launch reads and a later launch destroys.

A kernel whose reverse sweep needs several values of each thread that come from one array gets the
array as it was, instead of keeping the values:

```mlir
push every element of %u                     // augmented: before the launch
%copy = alloc; pop every element into %copy  // reverse: before the reverse launch
```

A step of a stencil then keeps one field, however many neighbours it multiplies.
"""

from dataclasses import dataclass

from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType
from xdsl.ir import SSAValue

from mlirad.dialects.autodiff import PopOp, PushOp
from mlirad.passes.analysis.flow import body, carries_derivative, kernel_of
from mlirad.passes.analysis.frequency import Frequencies, block_of, byte_size
from mlirad.passes.analysis.injectivity import is_swept
from mlirad.passes.analysis.memory import analyze
from mlirad.passes.analysis.residuals import Residual, ResidualsResult
from mlirad.passes.derivatives.context import Sweep
from mlirad.passes.derivatives.fill import index_constant, over, sizes_of

INDEX = IndexType()


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The copy of one array, the operand at `position`, for one launch."""

    launch: gpu.LaunchFuncOp
    position: int

    @property
    def operand(self) -> SSAValue:
        return self.launch.kernelOperands[self.position]


def candidates(launch: gpu.LaunchFuncOp, is_stable: list[bool]) -> list[int]:
    """Positions of arrays of floats that the kernel sweeps over, and that change later."""
    kernel = kernel_of(launch)
    inside = analyze(kernel)
    return [
        position
        for position, (argument, stable) in enumerate(
            zip(body(kernel).args, is_stable, strict=True)
        )
        if isinstance(argument.type, MemRefType)
        and carries_derivative(argument.type.element_type)
        and not stable
        and not inside.is_written(argument)
        and is_swept(argument, kernel)
    ]


def bytes_kept(answer: ResidualsResult) -> int:
    """What each thread keeps, loops of unknown length taken for long ones."""
    often = Frequencies()
    return sum(
        byte_size(value.type) * often.of(block_of(value))
        for value, decision in answer.decisions.items()
        if decision.kind is Residual.CACHE
    )


def is_worth_it(without: ResidualsResult, with_copies: ResidualsResult, count: int) -> bool:
    """Whether `count` copies, of about an element for each thread, take less than they save."""
    return bytes_kept(without) - bytes_kept(with_copies) > 8 * count


def save(
    array: SSAValue,
    cache: SSAValue,
    indices: tuple[SSAValue, ...],
    counts: tuple[SSAValue, ...],
    sweep: Sweep,
) -> None:
    """Pushes every element; `indices` and `counts` are those of the loops around."""
    sizes = sizes_of(array, sweep)

    def push(at: list[SSAValue]) -> None:
        value = sweep.insert(memref.LoadOp.get(array, at)).res
        sweep.insert(PushOp(value, cache, None, (*indices, *at), (*counts, *sizes)))

    over(sizes, push, sweep)


def restore(
    array: SSAValue,
    cache: SSAValue,
    indices: tuple[SSAValue, ...],
    counts: tuple[SSAValue, ...],
    sweep: Sweep,
) -> tuple[SSAValue, SSAValue]:
    """New memory with the elements that `save` pushed, as it is and with the type of `array`."""
    assert isinstance(array.type, MemRefType)
    sizes = sizes_of(array, sweep)
    plain = MemRefType(array.type.element_type, [DYNAMIC_INDEX] * len(sizes))
    copy = sweep.insert(memref.AllocOp(sizes, [], plain)).memref

    def pop(at: list[SSAValue]) -> None:
        # What was pushed last comes first, wherever the cache is a stack.
        place = [
            sweep.insert(arith.SubiOp(last, index)).result
            for last, index in zip(lasts, at, strict=True)
        ]
        popped = sweep.insert(PopOp(cache, None, (*indices, *place), (*counts, *sizes)))
        sweep.insert(memref.StoreOp.get(popped.value, copy, place))

    one = index_constant(1, sweep)
    lasts = [sweep.insert(arith.SubiOp(size, one)).result for size in sizes]
    over(sizes, pop, sweep)
    if array.type == plain:
        return copy, copy
    return copy, sweep.insert(memref.CastOp.get(copy, array.type)).results[0]
