"""
Derivative rule of kernel launches.

A launch is differentiated like a call: the same grid runs a kernel that was derived from the
primal one. Scalar arguments are read by every thread, so in reverse each of them has a cell in
memory that the threads add to.
"""

from collections.abc import Iterator, Sequence

from xdsl.dialects import gpu, memref
from xdsl.dialects.builtin import MemRefType, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from mlirad.passes.analysis.activity import ActivityResult
from mlirad.passes.analysis.memory import is_memory
from mlirad.passes.derivatives.context import ForwardSweep, ReverseSweep, StructuralRule
from mlirad.passes.derivatives.memref import view_operands


def launch_sizes(op: gpu.LaunchFuncOp) -> tuple[SSAValue, ...]:
    """Grid and block sizes, x first."""
    return (op.gridSizeX, op.gridSizeY, op.gridSizeZ, op.blockSizeX, op.blockSizeY, op.blockSizeZ)


def launch(
    name: str, sizes: Sequence[SSAValue], operands: Sequence[SSAValue], like: gpu.LaunchFuncOp
):
    """A launch of kernel `name`, in the `gpu.module` of the kernel of `like`."""
    kernel = SymbolRefAttr(like.kernel.root_reference.data, [name])
    return gpu.LaunchFuncOp(kernel, sizes[:3], sizes[3:], kernelOperands=operands)


class LaunchRule(StructuralRule):
    """Forward: tangents travel beside the operands. Reverse: the reverse kernel, same grid."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        assert isinstance(op, gpu.LaunchFuncOp)
        active = [sweep.activity.is_active(operand) for operand in op.kernelOperands]
        operands: list[SSAValue] = []
        for operand, is_active in zip(op.kernelOperands, active, strict=True):
            operands.append(sweep.primal(operand))
            if is_active:
                shadow = sweep.shadow if is_memory(operand) else sweep.instantiated
                operands.append(shadow(operand))
        name = sweep.tangent_kernel(op, active)
        sweep.insert(launch(name, sweep.primals(launch_sizes(op)), operands, op))

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        assert isinstance(op, gpu.LaunchFuncOp)
        yield from launch_sizes(op)
        for operand in op.kernelOperands:
            if is_memory(operand):
                yield from view_operands(operand)
            yield operand

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        assert isinstance(op, gpu.LaunchFuncOp)
        derived = sweep.reverse_launch(op)
        operands: list[SSAValue] = []
        cells: list[tuple[SSAValue, SSAValue]] = []
        for position, operand in enumerate(op.kernelOperands):
            restored = derived.restored.get(position)
            operands.append(sweep.primal(operand) if restored is None else restored[1])
            if not sweep.activity.is_active(operand):
                continue
            if is_memory(operand):
                operands.append(sweep.shadow(operand))
            else:
                cell = sweep.insert(memref.AllocOp([], [], MemRefType(operand.type, []))).memref
                cells.append((operand, cell))
                operands.append(cell)
        sizes = sweep.primals(launch_sizes(op))
        sweep.insert(launch(derived.name, sizes, [*operands, *derived.extra], op))
        for memory, _ in derived.restored.values():
            sweep.insert(memref.DeallocOp.get(memory))
        for operand, cell in cells:
            total = sweep.insert(memref.LoadOp.get(cell, [])).res
            sweep.insert(memref.DeallocOp.get(cell))
            sweep.add_cotangent(operand, total)


class BarrierRule(StructuralRule):
    """A barrier in the same place: what one thread reads of another's in one sweep, it writes
    in the other."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None:
        sweep.copy(op)

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        yield from ()

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None:
        sweep.insert(op.clone())


GPU_RULES: dict[type[Operation], StructuralRule] = {
    gpu.LaunchFuncOp: LaunchRule(),
    gpu.BarrierOp: BarrierRule(),
}
