"""The linear number of a thread in its launch, and how many there are."""

from xdsl.builder import Builder
from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.ir import Operation, SSAValue

AXES = tuple(DimensionAttr(axis) for axis in (DimensionEnum.X, DimensionEnum.Y, DimensionEnum.Z))


def thread_number(builder: Builder, location: LocationAttr) -> SSAValue:
    """
    `block number * threads per block + thread number`, both x fastest.

    Neighbouring threads of a block have neighbouring numbers, so that what they keep lies side
    by side.
    """

    def insert(op: Operation) -> SSAValue:
        op.location = location
        return builder.insert(op).results[0]

    def linear(position: type[Operation], extent: type[Operation]) -> tuple[SSAValue, SSAValue]:
        ids = [insert(position(axis)) for axis in AXES]  # pyright: ignore[reportCallIssue]
        sizes = [insert(extent(axis)) for axis in AXES]  # pyright: ignore[reportCallIssue]
        number = ids[2]
        for axis in (1, 0):
            number = insert(arith.MuliOp(number, sizes[axis]))
            number = insert(arith.AddiOp(number, ids[axis]))
        plane = insert(arith.MuliOp(sizes[0], sizes[1]))
        return number, insert(arith.MuliOp(plane, sizes[2]))

    block, _ = linear(gpu.BlockIdOp, gpu.GridDimOp)
    thread, per_block = linear(gpu.ThreadIdOp, gpu.BlockDimOp)
    return insert(arith.AddiOp(insert(arith.MuliOp(block, per_block)), thread))
