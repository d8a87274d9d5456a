"""Makes the threads of a kernel compare their position with a number of threads."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, gpu, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IndexType,
    LocationAttr,
    ModuleOp,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad.errors import UnsupportedError
from mlirad.program import SIZES

INDEX = IndexType()
X = gpu.DimensionAttr(gpu.DimensionEnum.X)


def guard(module: ModuleOp, symbol: str) -> None:
    """
    Gives the host function `symbol` a seventh size: threads at that position in x and beyond do
    nothing. The module has the one kernel that the function launches.
    """
    (kernel,) = (op for op in module.walk() if isinstance(op, gpu.FuncOp))
    (launch,) = (op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp))
    host = launch.parent_op()
    assert isinstance(host, func.FuncOp)
    if any(isinstance(op, gpu.BarrierOp) for op in kernel.walk()):
        raise UnsupportedError(
            f"{symbol}: a kernel with barriers cannot be launched with forall, which may end "
            f"within a block\n  launch whole blocks: {symbol}[grid, block](…)"
        )
    count = insert_argument(host, SIZES)
    limit = insert_argument(kernel, len(launch.kernelOperands))
    pass_on(launch, count)
    wrap_body(kernel, limit)


def insert_argument(function: func.FuncOp | gpu.FuncOp, place: int) -> SSAValue:
    """A new index argument of `function`; what its attributes say moves along."""
    block = function.body.block
    argument = block.insert_arg(INDEX, place)
    argument.name_hint = "threads"
    outputs = function.function_type.outputs
    function.function_type = FunctionType.from_attrs(ArrayAttr(block.arg_types), outputs)
    alias = numbers_in(function, "mlirad.alias")
    if alias is not None:
        set_numbers(function, "mlirad.alias", [*alias[:place], -1, *alias[place:]])
    unaligned = numbers_in(function, "mlirad.unaligned")
    if unaligned is not None:
        set_numbers(function, "mlirad.unaligned", [n + (n >= place) for n in unaligned])
    return argument


def numbers_in(function: Operation, name: str) -> list[int] | None:
    held = function.attributes.get(name)
    return [int(n) for n in held.get_values()] if isinstance(held, DenseArrayBase) else None


def set_numbers(function: Operation, name: str, numbers: Sequence[int]) -> None:
    function.attributes[name] = DenseArrayBase.from_list(i64, list(numbers))


def pass_on(launch: gpu.LaunchFuncOp, count: SSAValue) -> None:
    """Launches with `count` as the last argument of the kernel."""
    block = launch.parent_block()
    assert block is not None
    longer = gpu.LaunchFuncOp(
        launch.kernel,
        (launch.gridSizeX, launch.gridSizeY, launch.gridSizeZ),
        (launch.blockSizeX, launch.blockSizeY, launch.blockSizeZ),
        None,
        [*launch.kernelOperands, count],
    )
    longer.location = launch.location
    block.insert_op_before(longer, launch)
    launch.detach()
    launch.erase()


def wrap_body(kernel: gpu.FuncOp, limit: SSAValue) -> None:
    """Puts everything the kernel does under `if position < limit`."""
    body = kernel.body.block
    *inside, end = body.ops
    place: LocationAttr = kernel.location
    block, width, thread = gpu.BlockIdOp(X), gpu.BlockDimOp(X), gpu.ThreadIdOp(X)
    start = arith.MuliOp(block, width)
    position = arith.AddiOp(start, thread)
    wanted = arith.CmpiOp(position, limit, "ult")
    then = Block()
    for op in inside:
        op.detach()
        then.add_op(op)
    last = scf.YieldOp()
    then.add_op(last)
    guarded = scf.IfOp(wanted, [], Region(then), Region())
    added = [block, width, thread, start, position, wanted, guarded]
    for op in (*added, last):
        op.location = place
    body.insert_ops_before(added, end)
