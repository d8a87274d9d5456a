"""Who names which function: reachability of symbols, fresh names, removal of what nothing needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Block, Operation

Function = func.FuncOp | gpu.FuncOp

ENTRY = "mlirad.entry"
LAUNCH = "mlirad.launch"


def tables(module: ModuleOp) -> Iterator[Block]:
    """The block of each symbol table: the module's own, then those of its gpu modules."""
    yield module.body.block
    for op in module.body.block.ops:
        if isinstance(op, gpu.ModuleOp):
            yield op.body.block


def functions(table: Block) -> list[Function]:
    return [op for op in table.ops if isinstance(op, func.FuncOp | gpu.FuncOp)]


def is_declaration(function: Function) -> bool:
    return not function.body.blocks


def fresh_name(wanted: str, taken: Iterable[str], suffix: str) -> str:
    """`wanted`, or `wanted` with a suffix and a number where that is taken."""
    names = set(taken)
    if wanted not in names:
        return wanted
    name, count = f"{wanted}_{suffix}", 1
    while name in names:
        count += 1
        name = f"{wanted}_{suffix}{count}"
    return name


def references(op: Operation) -> Iterator[SymbolRefAttr]:
    """The symbols that `op` itself names (not the ops inside it)."""
    for attribute in op.properties.values():
        yield from _symbols(attribute)
    for attribute in op.attributes.values():
        yield from _symbols(attribute)


def _symbols(attribute: Attribute) -> Iterator[SymbolRefAttr]:
    if isinstance(attribute, SymbolRefAttr):
        yield attribute
    elif isinstance(attribute, ArrayAttr):
        for element in cast(ArrayAttr[Attribute], attribute).data:
            yield from _symbols(element)
    elif isinstance(attribute, DictionaryAttr):
        for element in attribute.data.values():
            yield from _symbols(element)


def remove_unreferenced(module: ModuleOp) -> None:
    """
    Removes the functions and kernels that nothing callable can reach.

    Callable are the `mlirad.entry` functions; in a module without any, all that are not
    private.
    """
    defined: dict[tuple[Block, str], Function] = {}
    for table in tables(module):
        for function in functions(table):
            defined[table, function.sym_name.data] = function
    top = module.body.block
    entries = [f for (table, _), f in defined.items() if table is top and ENTRY in f.attributes]
    public = [f for (table, _), f in defined.items() if table is top and not _is_private(f)]
    needed: list[Operation] = [*(entries or public)]
    needed += [op for op in top.ops if not isinstance(op, func.FuncOp | gpu.ModuleOp)]
    reached: set[Operation] = set(needed)
    while needed:
        root = needed.pop()
        table = root.parent
        assert table is not None
        for op in root.walk():
            for symbol in references(op):
                target = _resolve(symbol, table, module, defined)
                if target is not None and target not in reached:
                    reached.add(target)
                    needed.append(target)
    for (table, _), function in defined.items():
        if function not in reached:
            table.erase_op(function, safe_erase=False)


def _is_private(function: Function) -> bool:
    visibility = function.properties.get("sym_visibility")
    return isinstance(visibility, StringAttr) and visibility.data == "private"


def _resolve(
    symbol: SymbolRefAttr,
    table: Block,
    module: ModuleOp,
    defined: dict[tuple[Block, str], Function],
) -> Function | None:
    name = symbol.root_reference.data
    if not symbol.nested_references.data:
        return defined.get((table, name))
    for op in module.body.block.ops:
        if isinstance(op, gpu.ModuleOp) and op.sym_name.data == name:
            return defined.get((op.body.block, symbol.nested_references.data[-1].data))
    return None
