"""
A function that finds how many threads a launch will have at most, before anything has run.

The caches of a launch are allocated at the top of the host function. Where the grid depends on the
loops around the launch (a reduction in several passes), the slice of the host function that
decides it runs there first, without its effects:

```mlir
func.func private @count(%n : index) -> index {
  scf.for %k = … { store max(%most, grid(%k) * block), %cell }
  return load %cell
}
```
"""

from collections.abc import Iterator

from xdsl.dialects import arith, builtin, func, gpu, memref, scf
from xdsl.dialects.builtin import AnyFloat, FunctionType, IndexType, MemRefType
from xdsl.ir import Operation, SSAValue

from mlirad.passes.analysis.flow import body, terminator
from mlirad.passes.analysis.memory import is_view
from mlirad.passes.derivatives.gpu import launch_sizes
from mlirad.passes.optimize.dce import STRUCTURED, remove_dead_code
from mlirad.passes.optimize.effects import Effects

INDEX = IndexType()


def counting_function(
    launch: gpu.LaunchFuncOp, primal: func.FuncOp, name: str
) -> func.FuncOp | None:
    """None if the number of threads depends on memory, on floats, or on what a call returns."""
    number = next(k for k, op in enumerate(primal.walk()) if op is launch)
    module = builtin.ModuleOp([copy := primal.clone()])
    copy.properties["sym_name"] = builtin.StringAttr(name)
    copy.properties["sym_visibility"] = builtin.StringAttr("private")
    ops = list(copy.walk())
    twin = ops[number]
    assert isinstance(twin, gpu.LaunchFuncOp)
    cell = memref.AllocOp([], [], MemRefType(INDEX, []))
    first = body(copy).first_op
    assert first is not None
    insert_before(first, [cell])
    note(twin, cell.memref)
    effects = Effects(module)
    for op in ops:
        if op is not copy and has_effect(op, effects):
            drop(op)
    end = terminator(body(copy))
    found = memref.LoadOp.get(cell.memref, [])
    insert_before(end, [found])
    end.operands = [found.res]
    copy.properties["function_type"] = FunctionType.from_lists(list(body(copy).arg_types), [INDEX])
    remove_dead_code(module)
    copy.detach()
    return copy if all(map(is_plain, of_interest(copy, cell))) else None


def note(launch: gpu.LaunchFuncOp, cell: SSAValue) -> None:
    """Before `launch`: keeps its number of threads in `cell` if it is the largest yet."""
    sizes = launch_sizes(launch)
    built: list[Operation] = []
    total = sizes[0]
    for size in sizes[1:]:
        built.append(product := arith.MuliOp(total, size))
        total = product.result
    old = memref.LoadOp.get(cell, [])
    most = arith.MaxSIOp(old.res, total)
    insert_before(launch, [*built, old, most, memref.StoreOp.get(most.result, cell, [])])


def insert_before(place: Operation, ops: list[Operation]) -> None:
    block = place.parent
    assert block is not None
    for op in ops:
        op.location = place.location
        block.insert_op_before(op, place)


def has_effect(op: Operation, effects: Effects) -> bool:
    kept = isinstance(op, STRUCTURED) or isinstance(op, func.ReturnOp | arith.ConstantOp)
    return not kept and not effects.is_removable(op)


def drop(op: Operation) -> None:
    """Removes an effect; what it returned becomes a value from nowhere, which must not be used."""
    block = op.parent
    assert block is not None
    for result in op.results:
        nothing = builtin.UnrealizedConversionCastOp.get([], [result.type])
        block.insert_op_before(nothing, op)
        result.replace_all_uses_with(nothing.results[0])
    op.detach()
    op.erase()


def of_interest(function: func.FuncOp, cell: memref.AllocOp) -> Iterator[Operation]:
    """All ops but those of the cell."""
    for op in function.walk():
        if op is not function and op is not cell and cell.memref not in op.operands:
            yield op


def is_plain(op: Operation) -> bool:
    """Whether an op computes the same in both sweeps: whole numbers, sizes, control flow."""
    if any(isinstance(result.type, AnyFloat) for result in op.results):
        return False
    allowed = isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp | scf.YieldOp | scf.ConditionOp)
    is_number = op.dialect_name() in ("arith", "math") or isinstance(
        op, memref.DimOp | func.ReturnOp
    )
    floats = any(isinstance(operand.type, AnyFloat) for operand in op.operands)
    return not floats and (allowed or is_number or is_view(op))
