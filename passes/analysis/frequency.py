"""How often a block runs, as far as the program text tells: the weights of `min_cut`."""

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

MANY = 1000
"""The number of iterations of a loop that are not counted by constants."""


class Frequencies:
    """How often the blocks of one function run each time that it runs."""

    def __init__(self) -> None:
        self.known: dict[Block, int] = {}

    def of(self, block: Block | None) -> int:
        if block is None:
            return 1
        pending: list[Block] = []
        while block is not None and block not in self.known:
            pending.append(block)
            block = block.parent_block()
        often = self.known[block] if block is not None else 1
        for inner in reversed(pending):
            often *= iterations(inner.parent_op())
            self.known[inner] = often
        return often


def iterations(op: Operation | None) -> int:
    """How often `op` runs its block; not less than once."""
    if isinstance(op, scf.ForOp):
        bounds = tuple(map(constant, (op.lb, op.ub, op.step)))
        lb, ub, step = bounds
        if lb is None or ub is None or step is None or step <= 0:
            return MANY
        return max(1, -((lb - ub) // step))
    return MANY if isinstance(op, scf.WhileOp) else 1


def constant(value: SSAValue) -> int | None:
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def block_of(value: SSAValue) -> Block | None:
    """The block that defines `value`."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def byte_size(type: Attribute) -> int:
    """The bytes that a kept value of this type takes."""
    match type:
        case IntegerType():
            return -(-type.width.data // 8)
        case Float32Type():
            return 4
        case Float16Type() | BFloat16Type():
            return 2
        case _:
            return 8
