"""Loops over all elements of a memref."""

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, Region, SSAValue

from mlirad.passes.derivatives.context import Sweep
from mlirad.passes.derivatives.threads import Ids

INDEX = IndexType()


def index_constant(value: int, sweep: Sweep) -> SSAValue:
    return sweep.insert(arith.ConstantOp.from_int_and_width(value, INDEX)).result


def sizes_of(memory: SSAValue, sweep: Sweep) -> list[SSAValue]:
    assert isinstance(memory.type, MemRefType)
    axes = range(memory.type.get_num_dims())
    return [sweep.insert(memref.DimOp(memory, index_constant(k, sweep))).result for k in axes]


def over(
    sizes: Sequence[SSAValue],
    each: Callable[[list[SSAValue]], None],
    sweep: Sweep,
    first: tuple[SSAValue, SSAValue] | None = None,
    outer: Sequence[SSAValue] = (),
) -> None:
    """
    Loops over all indices below `sizes`, with what `each` builds inside.

    `first` is the start and step along the first axis, by default 0 and 1.
    """
    if len(outer) == len(sizes):
        each(list(outer))
        return
    start, step = first or (index_constant(0, sweep), index_constant(1, sweep))
    block = Block(arg_types=[INDEX])
    with sweep.at_end(block):
        over(sizes, each, sweep, None, [*outer, block.args[0]])
        sweep.insert(scf.YieldOp())
    sweep.insert(scf.ForOp(start, sizes[len(outer)], step, [], Region(block)))


def fill(memory: SSAValue, sweep: Sweep, first: tuple[SSAValue, SSAValue] | None = None) -> None:
    """Stores zero into every element of `memory`."""
    assert isinstance(memory.type, MemRefType)
    element = memory.type.element_type

    def store(indices: list[SSAValue]) -> None:
        sweep.insert(memref.StoreOp.get(sweep.zero(element), memory, indices))

    over(sizes_of(memory, sweep), store, sweep, first)


def fill_together(memory: SSAValue, sweep: Sweep) -> None:
    """As `fill`, for memory that the threads of a block share: each does a part, all wait."""
    ids = Ids(sweep.insert)
    sizes = ids.all(gpu.BlockDimOp)
    fill(memory, sweep, (ids.linear(ids.all(gpu.ThreadIdOp), sizes), ids.product(sizes)))
    sweep.insert(gpu.BarrierOp())
