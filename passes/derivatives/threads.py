"""The linear number of a thread in its launch, and how many there are."""

from collections.abc import Callable

from xdsl.builder import Builder
from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import IndexType, LocationAttr
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.ir import Operation, SSAValue

INDEX = IndexType()
IdOp = gpu.BlockIdOp | gpu.ThreadIdOp | gpu.BlockDimOp | gpu.GridDimOp
AXES = tuple(DimensionAttr(axis) for axis in (DimensionEnum.X, DimensionEnum.Y, DimensionEnum.Z))


class Ids:
    """Builds ids and sizes of the launch, and products and sums of them."""

    def __init__(self, insert: Callable[[Operation], Operation]):
        self.add = insert

    def insert(self, op: Operation) -> SSAValue:
        return self.add(op).results[0]

    def all(self, op_class: type[IdOp]) -> list[SSAValue]:
        """x, y and z of one kind of id or size."""
        return [
            self.insert(op_class.create(result_types=[INDEX], properties={"dimension": axis}))
            for axis in AXES
        ]

    def product(self, factors: list[SSAValue]) -> SSAValue:
        total = factors[0]
        for factor in factors[1:]:
            total = self.insert(arith.MuliOp(total, factor))
        return total

    def linear(self, ids: list[SSAValue], sizes: list[SSAValue]) -> SSAValue:
        """The number of an id in its grid or block, x fastest."""
        number = ids[2]
        for axis in (1, 0):
            number = self.insert(arith.MuliOp(number, sizes[axis]))
            number = self.insert(arith.AddiOp(number, ids[axis]))
        return number


def inserter(builder: Builder, location: LocationAttr) -> Callable[[Operation], Operation]:
    def insert(op: Operation) -> Operation:
        op.location = location
        return builder.insert(op)

    return insert


def thread_number(builder: Builder, location: LocationAttr) -> SSAValue:
    """
    `block number * threads per block + thread number`, both x fastest.

    Neighbouring threads of a block have neighbouring numbers, so that what they keep lies side
    by side.
    """
    ids = Ids(inserter(builder, location))
    block_sizes = ids.all(gpu.BlockDimOp)
    block = ids.linear(ids.all(gpu.BlockIdOp), ids.all(gpu.GridDimOp))
    thread = ids.linear(ids.all(gpu.ThreadIdOp), block_sizes)
    start = ids.insert(arith.MuliOp(block, ids.product(block_sizes)))
    return ids.insert(arith.AddiOp(start, thread))


def thread_total(builder: Builder, location: LocationAttr) -> SSAValue:
    """How many threads the launch has."""
    ids = Ids(inserter(builder, location))
    return ids.product([*ids.all(gpu.GridDimOp), *ids.all(gpu.BlockDimOp)])
