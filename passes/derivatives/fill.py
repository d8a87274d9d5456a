"""Loops over all elements of a memref."""

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, Region, SSAValue

from mlirad.passes.derivatives.context import Sweep
from mlirad.passes.derivatives.threads import Ids

INDEX = IndexType()


def index_constant(value: int, sweep: Sweep) -> SSAValue:
    return sweep.insert(arith.ConstantOp.from_int_and_width(value, INDEX)).result


def fill(memory: SSAValue, sweep: Sweep) -> None:
    """Stores zero into every element of `memory`."""
    assert isinstance(memory.type, MemRefType)
    nest(memory, memory.type.get_num_dims(), [], sweep)


def fill_together(memory: SSAValue, sweep: Sweep) -> None:
    """As `fill`, for memory that the threads of a block share: each does a part, all wait."""
    assert isinstance(memory.type, MemRefType)
    ids = Ids(sweep.insert)
    sizes = ids.all(gpu.BlockDimOp)
    bounds = ids.linear(ids.all(gpu.ThreadIdOp), sizes), ids.product(sizes)
    nest(memory, memory.type.get_num_dims(), [], sweep, bounds)
    sweep.insert(gpu.BarrierOp())


def nest(
    memory: SSAValue,
    axes: int,
    indices: list[SSAValue],
    sweep: Sweep,
    bounds: tuple[SSAValue, SSAValue] | None = None,
) -> None:
    """Loops over all axes; over the first one with the start and step of `bounds`."""
    assert isinstance(memory.type, MemRefType)
    if len(indices) == axes:
        zero = sweep.zero(memory.type.element_type)
        sweep.insert(memref.StoreOp.get(zero, memory, indices))
        return
    start, step = bounds or (index_constant(0, sweep), index_constant(1, sweep))
    size = sweep.insert(memref.DimOp(memory, index_constant(len(indices), sweep))).result
    block = Block(arg_types=[INDEX])
    with sweep.at_end(block):
        nest(memory, axes, [*indices, block.args[0]], sweep)
        sweep.insert(scf.YieldOp())
    sweep.insert(scf.ForOp(start, size, step, [], Region(block)))
