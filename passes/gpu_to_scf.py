"""
`gpu-to-scf`: kernels become functions that loop over blocks and threads.

```mlir
gpu.func @k(%x : memref<?xf64>) kernel
  ==>
func.func private @k(%first, %end, %gx, %gy, %gz, %bx, %by, %bz : index, %x : memref<?xf64>)
```

The function runs the blocks `first … end` of a grid; blocks are numbered with x fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith, func, gpu, scf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    IndexType,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mlirad.errors import UnsupportedError, describe
from mlirad.passes.analysis.flow import location
from mlirad.passes.analysis.memory import REVERSED
from mlirad.passes.base import Pass
from mlirad.passes.optimize.effects import Effects
from mlirad.passes.optimize.symbols import LAUNCH, fresh_name, functions, is_declaration
from mlirad.passes.split_barriers import Part, Splitter, needs_parts

INDEX = IndexType()
ZERO, ONE = (IntegerAttr(n, INDEX) for n in (0, 1))
HEAD = ("first", "end", "gx", "gy", "gz", "bx", "by", "bz")
"""The arguments of a range function before those of its kernel."""


@dataclass(frozen=True)
class GpuToScfPass(Pass):
    """
    Turns every kernel into a private function over a range of blocks, and every launch into a
    call of it marked `mlirad.launch`. Leaves no `gpu` op.
    """

    name = "gpu-to-scf"

    def rewrite(self, module: ModuleOp) -> None:
        top, effects = module.body.block, Effects(module)
        names: dict[tuple[str, str], str] = {}
        """What each function of each gpu module is called at the top level."""
        for inner in [op for op in top.ops if isinstance(op, gpu.ModuleOp)]:
            lift_functions(inner, top, names, effects)
            inner.detach()
            inner.erase()
        for op in tuple(module.walk()):
            if isinstance(op, gpu.LaunchFuncOp):
                replace_launch(op, names)
        module.attributes.pop("gpu.container_module", None)


def lift_functions(
    inner: gpu.ModuleOp, top: Block, names: dict[tuple[str, str], str], effects: Effects
) -> None:
    """Moves all functions of `inner` to the top level and renames them where they must be."""
    outside = {f.sym_name.data: f for f in functions(top)}
    local: dict[str, str] = {}
    for function in functions(inner.body.block):
        old = function.sym_name.data
        twin = outside.get(old)
        function.detach()
        if twin is not None and is_declaration(function) and is_declaration(twin):
            local[old] = old
            continue
        local[old] = fresh_name(old, outside, "blocks" if is_kernel(function) else "device")
        lifted = range_function(function, effects) if isinstance(function, gpu.FuncOp) else function
        lifted.sym_name = StringAttr(local[old])
        outside[local[old]] = lifted
        top.add_op(lifted)
    for old, new in local.items():
        names[inner.sym_name.data, old] = new
        for op in outside[new].walk():
            if isinstance(op, func.CallOp):
                name = op.callee.root_reference.data
                op.callee = SymbolRefAttr(local.get(name, name))


def is_kernel(function: Operation) -> bool:
    return isinstance(function, gpu.FuncOp)


def range_function(kernel: gpu.FuncOp, effects: Effects) -> func.FuncOp:
    """The function over a range of blocks that takes over the body of `kernel`."""
    old = kernel.body.block
    inputs = [INDEX] * len(HEAD) + list(old.arg_types)
    block = Block(arg_types=inputs)
    for argument, name in zip(block.args, HEAD):
        argument.name_hint = name
    for argument, replaced in zip(block.args[len(HEAD) :], old.args, strict=True):
        argument.name_hint = replaced.name_hint
        replaced.replace_all_uses_with(argument)
    Grid(kernel, block, effects).build(old)
    result = func.FuncOp.create(
        properties={
            "sym_name": kernel.sym_name,
            "function_type": FunctionType.from_lists(inputs, []),
            "sym_visibility": StringAttr("private"),
        },
        attributes=shifted(kernel.attributes),
        regions=[Region(block)],
        location=kernel.location,
    )
    return result


def shifted(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    """The facts about arguments, for functions with the arguments of `HEAD` before them."""
    result = {n: a for n, a in attributes.items() if n.startswith("mlirad.")}
    if isinstance(alias := result.get("mlirad.alias"), DenseArrayBase):
        numbers = [-1] * len(HEAD) + [int(n) for n in alias.iter_values()]
        result["mlirad.alias"] = DenseArrayBase.from_list(i64, numbers)
    if isinstance(unaligned := result.get("mlirad.unaligned"), DenseArrayBase):
        positions = [int(n) + len(HEAD) for n in unaligned.iter_values()]
        result["mlirad.unaligned"] = DenseArrayBase.from_list(i64, positions)
    return result


class Grid:
    """Builds the loops of one kernel, and knows what its ids are inside them."""

    AXES: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def __init__(self, kernel: gpu.FuncOp, block: Block, effects: Effects):
        self.kernel, self.effects = kernel, effects
        self.location: LocationAttr = kernel.location
        self.sizes = dict(zip(self.AXES, block.args[2:5]))
        self.block_sizes = dict(zip(self.AXES, block.args[5:8]))
        self.outermost = block

    def build(self, body: Block) -> None:
        """Moves the ops of `body` into loops over blocks and threads."""
        zero = self.add(self.outermost, arith.ConstantOp, (), value=ZERO)
        one = self.add(self.outermost, arith.ConstantOp, (), value=ONE)
        first, end = self.outermost.args[:2]
        over_blocks = self.loop(self.outermost, first, end, one, "block")
        gx, gy, _ = self.sizes.values()
        number = self.counted(over_blocks, first, end, one)
        rest = self.add(over_blocks, arith.DivUIOp, (number, gx))
        self.blocks = {
            "x": self.add(over_blocks, arith.RemUIOp, (number, gx)),
            "y": self.add(over_blocks, arith.RemUIOp, (rest, gy)),
            "z": self.add(over_blocks, arith.DivUIOp, (rest, gy)),
        }
        self.zero, self.one = zero, one
        if needs_parts(self.kernel):
            self.in_parts(body, over_blocks)
        else:
            part = self.over_threads(over_blocks)
            for op in tuple(body.ops):
                op.detach()
                if not isinstance(op, gpu.ReturnOp):
                    part.inner.insert_op_before(op, part.end)
            for op in tuple(part.inner.walk()):
                self.replace_id(op, part)
        over_blocks.add_op(scf.YieldOp.create(location=self.location))
        self.outermost.add_op(func.ReturnOp.create(location=self.location))

    def in_parts(self, body: Block, over_blocks: Block) -> None:
        """The threads of a block run together from barrier to barrier."""
        for op in tuple(self.kernel.walk()):
            if not isinstance(op, gpu.ThreadIdOp | gpu.BarrierOp):
                self.replace_id(op, None)
        loop = over_blocks.parent_op()
        assert loop is not None
        threads = list(self.block_sizes.values())
        total = threads[0]
        for size in threads[1:]:
            product = arith.MuliOp(total, size)
            product.location = self.location
            self.outermost.insert_op_before(product, loop)
            total = product.result
        splitter = Splitter(self.kernel, self.effects, self, self.outermost, loop, total)
        splitter.split(body, over_blocks)

    def over_threads(self, block: Block) -> Part:
        """Adds a nest of loops over the threads to `block`."""
        inner, threads = block, dict[str, SSAValue]()
        loops: list[Block] = []
        for axis in reversed(self.AXES):
            size = self.block_sizes[axis]
            inner = self.loop(inner, self.zero, size, self.one, f"t{axis}")
            loops.append(inner)
            threads[axis] = self.counted(inner, self.zero, size, self.one)
        for loop in loops:
            loop.add_op(scf.YieldOp.create(location=self.location))
        return Part(inner, threads, self.block_sizes)

    def counted(self, loop: Block, start: SSAValue, stop: SSAValue, one: SSAValue) -> SSAValue:
        """The block or thread that an iteration runs: in a reverse sweep, the last one first."""
        if REVERSED not in self.kernel.attributes:
            return loop.args[0]
        bounds = self.add(loop, arith.AddiOp, (start, stop))
        last = self.add(loop, arith.SubiOp, (bounds, one))
        return self.add(loop, arith.SubiOp, (last, loop.args[0]))

    def loop(
        self, block: Block, start: SSAValue, stop: SSAValue, step: SSAValue, name: str
    ) -> Block:
        body = Block(arg_types=[INDEX])
        body.args[0].name_hint = name
        block.add_op(
            scf.ForOp.create(
                operands=[start, stop, step], regions=[Region(body)], location=self.location
            )
        )
        return body

    def add(
        self,
        block: Block,
        op: type[Operation],
        operands: Sequence[SSAValue],
        **properties: Attribute,
    ) -> SSAValue:
        built = op.create(
            operands=operands,
            result_types=[INDEX],
            properties=properties,
            location=self.location,
        )
        block.add_op(built)
        return built.results[0]

    def replace_id(self, op: Operation, part: Part | None) -> None:
        """Ids become values; those of threads, only in the part of the kernel that runs them."""
        match op:
            case gpu.ThreadIdOp() if part is not None:
                value = part.threads[axis_of(op)]
            case gpu.BlockIdOp():
                value = self.blocks[axis_of(op)]
            case gpu.BlockDimOp():
                value = self.block_sizes[axis_of(op)]
            case gpu.GridDimOp():
                value = self.sizes[axis_of(op)]
            case gpu.GlobalIdOp():
                value = self.global_id(op, part)
            case _:
                refuse_what_is_left(op)
                return
        op.results[0].replace_all_uses_with(value)
        op.detach()
        op.erase()

    def global_id(self, op: gpu.GlobalIdOp, part: Part | None) -> SSAValue:
        axis, block = axis_of(op), op.parent
        assert block is not None
        own = gpu.ThreadIdOp(op.dimension)
        start = arith.MuliOp(self.blocks[axis], self.block_sizes[axis])
        result = arith.AddiOp(start.result, own.result)
        for built in (own, start, result):
            built.location = op.location
            block.insert_op_before(built, op)
        if part is not None:
            self.replace_id(own, part)
        return result.result


def axis_of(
    op: gpu.ThreadIdOp | gpu.BlockIdOp | gpu.BlockDimOp | gpu.GridDimOp | gpu.GlobalIdOp,
) -> str:
    return str(op.dimension.data)


def refuse_what_is_left(op: Operation) -> None:
    if op.dialect_name() == "gpu" and not isinstance(op, gpu.FuncOp | gpu.ReturnOp):
        what = f"'{op.name}' in a kernel is not compiled for the CPU"
        raise UnsupportedError(describe(location(op), what, "write it with plain arithmetic"))


def replace_launch(op: gpu.LaunchFuncOp, names: dict[tuple[str, str], str]) -> None:
    """A launch becomes a call of the range function over all blocks of the grid."""
    block = op.parent
    assert block is not None
    (kernel,) = op.kernel.nested_references.data
    callee = names[op.kernel.root_reference.data, kernel.data]
    sizes = [op.gridSizeX, op.gridSizeY, op.gridSizeZ]
    sizes += [op.blockSizeX, op.blockSizeY, op.blockSizeZ]
    zero = arith.ConstantOp(ZERO, INDEX)
    plane = arith.MuliOp(sizes[0], sizes[1])
    total = arith.MuliOp(plane.result, sizes[2])
    call = func.CallOp(callee, [zero.result, total.result, *sizes, *op.kernelOperands], [])
    call.attributes[LAUNCH] = UnitAttr()
    for built in (zero, plane, total, call):
        built.location = op.location
        block.insert_op_before(built, op)
    op.detach()
    op.erase()
