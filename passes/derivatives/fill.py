"""Loops over all elements of a memref."""

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, Region, SSAValue

from mlirad.passes.derivatives.context import Sweep

INDEX = IndexType()


def index_constant(value: int, sweep: Sweep) -> SSAValue:
    return sweep.insert(arith.ConstantOp.from_int_and_width(value, INDEX)).result


def fill(memory: SSAValue, sweep: Sweep) -> None:
    """Stores zero into every element of `memory`."""
    assert isinstance(memory.type, MemRefType)
    nest(memory, memory.type.get_num_dims(), [], sweep)


def nest(memory: SSAValue, axes: int, indices: list[SSAValue], sweep: Sweep) -> None:
    assert isinstance(memory.type, MemRefType)
    if len(indices) == axes:
        zero = sweep.zero(memory.type.element_type)
        sweep.insert(memref.StoreOp.get(zero, memory, indices))
        return
    start, step = index_constant(0, sweep), index_constant(1, sweep)
    size = sweep.insert(memref.DimOp(memory, index_constant(len(indices), sweep))).result
    block = Block(arg_types=[INDEX])
    with sweep.at_end(block):
        nest(memory, axes, [*indices, block.args[0]], sweep)
        sweep.insert(scf.YieldOp())
    sweep.insert(scf.ForOp(start, size, step, [], Region(block)))
