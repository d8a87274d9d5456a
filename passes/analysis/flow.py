"""
What every analysis needs to know about structured control flow, in one place.

xDSL's dataflow framework refuses ops with regions, so the analyses walk `scf` themselves;
they do it through these functions.
"""

from collections.abc import Iterator, Sequence

from xdsl.dialects import func, gpu, scf
from xdsl.dialects.builtin import AnyFloat, FileLineColLoc, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from mlirad.errors import Located, UnsupportedError, describe

Function = func.FuncOp | gpu.FuncOp
"""A host function, or a kernel."""


def carries_derivative(type: Attribute) -> bool:
    """Whether a scalar of this type can have a tangent or cotangent."""
    return isinstance(type, AnyFloat)


def terminator(block: Block) -> Operation:
    last = block.last_op
    assert last is not None, "a block of structured control flow has a terminator"
    return last


def blocks(op: Operation) -> Iterator[Block]:
    """The block of each region of `op`; a missing `else` has none."""
    for region in op.regions:
        yield from region.blocks


def flows(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The (source, target) pairs along which a value can reach another through `op`."""
    match op:
        case scf.ForOp():
            block = op.body.block
            for source in (op.iter_args, terminator(block).operands):
                yield from zip(source, block.args[1:], strict=True)
                yield from zip(source, op.results, strict=True)
        case scf.WhileOp():
            before, after = op.before_region.block, op.after_region.block
            condition = terminator(before)
            assert isinstance(condition, scf.ConditionOp)
            for source in (op.arguments, terminator(after).operands):
                yield from zip(source, before.args, strict=True)
            for target in (after.args, op.results):
                yield from zip(condition.args, target, strict=True)
        case scf.IfOp():
            for region in op.regions:
                if region.blocks:
                    yield from zip(terminator(region.block).operands, op.results, strict=True)
        case _ if not op.regions:
            yield from ((o, r) for o in op.operands for r in op.results)
        case _:
            raise UnsupportedError(
                describe(location(op), f"control flow of '{op.name}' is not understood")
            )


def captured(regions: Sequence[Region]) -> list[SSAValue]:
    """Values used in `regions` and defined outside of them, in order of first use."""
    inside: set[Region] = set(regions)

    def is_inside(value: SSAValue) -> bool:
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        while block is not None:
            region = block.parent
            if region in inside:
                return True
            parent = region.parent if region is not None else None
            block = parent.parent if parent is not None else None
        return False

    found: dict[SSAValue, None] = {}
    for region in regions:
        for op in region.walk():
            for operand in op.operands:
                if operand not in found and not is_inside(operand):
                    found[operand] = None
    return list(found)


def location(op: Operation) -> Located | None:
    """The `file:line:column` of `op`, if it has one."""
    if not isinstance(op.location, FileLineColLoc):
        return None
    at = op.location
    return Place(at.filename.data, at.line.data, at.column.data)


class Place:
    """A `file:line:column`, in the form that `mlirad.errors` prints."""

    def __init__(self, filename: str, line: int, column: int):
        self.filename, self.line, self.column = filename, line, column


def body(function: Function) -> Block:
    return function.body.block


def module_of(op: Operation) -> ModuleOp:
    parent = op
    while not isinstance(parent, ModuleOp):
        above = parent.parent_op()
        assert above is not None, "an op outside of any module"
        parent = above
    return parent


def kernel_of(launch: gpu.LaunchFuncOp) -> gpu.FuncOp:
    """The kernel that `launch` names."""
    found = SymbolTable.lookup_symbol(module_of(launch), launch.kernel)
    assert isinstance(found, gpu.FuncOp), f"no kernel {launch.kernel}"
    return found


def callee_of(caller: Operation, symbol: SymbolRefAttr) -> Operation | None:
    """What a symbol used in `caller` names, looked up outwards."""
    table: Operation | None = caller
    while table is not None:
        if table.has_trait(SymbolTable):
            found = SymbolTable.lookup_symbol(table, symbol)
            if found is not None:
                return found
        table = table.parent_op()
    return None


def is_declaration(function: func.FuncOp) -> bool:
    return not function.body.blocks


def name_of(function: Function) -> str:
    return function.sym_name.data
