"""Builds the wrapper function of a derived program: an entry point around one request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects import arith, func, gpu
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mlirad.derived import SEED, DerivedProgram, Kind, Part, bundle, is_active, shadow_type
from mlirad.dialects.autodiff import Activity, FwdDiffOp, RevDiffOp, SplitOp
from mlirad.frontend import types as t
from mlirad.frontend.ir_types import flatten_types
from mlirad.program import Lowered
from mlirad.runtime.annotations import Active, Const
from mlirad.runtime.arguments import flat_types, leaf_names
from mlirad.runtime.recording import Mode

INDEX = IndexType()


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What a wrapper is made of: `parts` are types, `alias` has one number per primal leaf."""

    program: DerivedProgram
    base: Lowered
    parts: Sequence[Part]
    alias: Sequence[int]
    returns: Kind
    seed: t.Type


@dataclass(slots=True)
class Leaf:
    """One argument of the wrapper: a number or an array that is a primal, a shadow or a seed."""

    name: str
    role: Literal["primal", "shadow", "seed"]
    type: t.Scalar | t.Array
    activity: Activity
    """Of the argument or result of the base program that it is, or belongs to."""
    alias: int = -1


def activity_of(leaf: t.Type, kind: Kind) -> Activity:
    if not is_active(leaf, kind):
        return Activity.CONST
    return Activity.ACTIVE if kind is Active else Activity.DUP


def wrap(wrapping: Wrapping) -> Lowered:
    """Adds the wrapper to the module of the base program, whose function stops being an entry."""
    base, program = wrapping.base, wrapping.program
    callee = demote(base)
    leaves = list(_leaves(wrapping))
    sizes = program.sizes
    block = Block(arg_types=[INDEX] * sizes + flatten_types([leaf.type for leaf in leaves]))
    names = [*(arg.name_hint for arg in callee.body.block.args[:sizes]), *(x.name for x in leaves)]
    for argument, name in zip(block.args, names, strict=True):
        argument.name_hint = name if name and name.isidentifier() else None
    build = _forward if program.mode is Mode.FORWARD else _reverse
    body, results = build(wrapping, leaves, block.args)
    end = func.ReturnOp(*results)
    symbol = fresh_symbol(base.module, program.name)
    entry = func.FuncOp(
        symbol,
        (block.arg_types, [value.type for value in results]),
        Region(block),
    )
    for op in (*body, end, entry):
        op.location = callee.location
    block.add_ops([*body, end])
    alias = [-1] * sizes + [leaf.alias for leaf in leaves]
    mark_entry(entry, alias, [*[None] * sizes, *(leaf.type for leaf in leaves)])
    base.module.body.block.add_op(entry)
    types: list[t.Type] = []
    for part in wrapping.parts:
        types += [part.primal, part.shadow] if part.kind.shadowed else [part.primal]
    if not isinstance(wrapping.seed, t.NoneType):
        types.append(wrapping.seed)
    return Lowered(base.module, symbol, _result_type(wrapping), tuple(types))


def fix_axes(lowered: Lowered, axes: int) -> None:
    """The sizes along the other axes become 1; the functions still take, and ignore, them."""
    for function in lowered.module.body.block.ops:
        if not isinstance(function, func.FuncOp) or not launches_once(function):
            continue
        block = function.body.block
        one = arith.ConstantOp(IntegerAttr(1, INDEX))
        one.location = function.location
        first = block.first_op
        assert first is not None
        block.insert_op_before(one, first)
        for position in (*range(axes, 3), *range(3 + axes, 6)):
            block.args[position].replace_all_uses_with(one.result)


def keep_order(module: ModuleOp) -> None:
    """Makes one worker run all launches, those of derivatives as well."""
    for op in module.walk():
        if isinstance(op, gpu.FuncOp):
            op.attributes["mlirad.sequential"] = UnitAttr()


def launches_once(function: func.FuncOp) -> bool:
    """Whether `function` is the host function of a kernel: it takes the sizes first."""
    launches = [op for op in function.walk() if isinstance(op, gpu.LaunchFuncOp)]
    if len(launches) != 1:
        return False
    sizes = launches[0].operands[:6]
    return list(sizes) == list(function.body.block.args[:6])


def fresh_symbol(module: ModuleOp, name: str) -> str:
    """`name`, or something like it that no function of `module` is called."""
    taken = {op.sym_name.data for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    while name in taken:
        name += "_"
    return name


def split(
    lowered: Lowered, sizes: int, active: Sequence[bool], augmented: str, reverse: str
) -> None:
    """Asks for both halves of the reverse mode of a program, for its `active` leaves."""
    callee = demote(lowered)
    kinds = [Activity.CONST] * sizes + [Activity.DUP if a else Activity.CONST for a in active]
    returned = [Activity.CONST] * len(callee.function_type.outputs)
    request = SplitOp(lowered.symbol, augmented, reverse, kinds, returned)
    request.location = callee.location
    lowered.module.body.block.add_op(request)


def demote(lowered: Lowered) -> func.FuncOp:
    """The entry function of `lowered`, made private."""
    for op in lowered.module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == lowered.symbol:
            op.attributes.pop("mlirad.entry", None)
            op.properties["sym_visibility"] = StringAttr("private")
            return op
    raise AssertionError(f"no function {lowered.symbol} in the module")


def mark_entry(
    function: func.FuncOp,
    alias: Sequence[int],
    types: Sequence[t.Scalar | t.Array | None],
) -> None:
    """Gives `function` the attributes of something that Python can call."""
    function.attributes["mlirad.entry"] = UnitAttr()
    function.attributes["mlirad.alias"] = DenseArrayBase.from_list(i64, list(alias))
    unaligned = [
        k for k, type_ in enumerate(types) if isinstance(type_, t.Array) and not type_.aligned
    ]
    if unaligned:
        function.attributes["mlirad.unaligned"] = DenseArrayBase.from_list(i64, unaligned)


def _leaves(wrapping: Wrapping) -> Iterator[Leaf]:
    """The wrapper's arguments in order; shadows overlap exactly where their primals do."""
    numbers = iter(wrapping.alias)
    fresh = max(wrapping.alias, default=-1) + 1
    for part in wrapping.parts:
        primals = [
            Leaf(name, "primal", type_, activity_of(type_, part.kind), next(numbers))
            for name, type_ in zip(
                leaf_names(part.name, part.primal), flat_types([part.primal]), strict=True
            )
        ]
        yield from primals
        for type_, of in _paired(part.primal, part.shadow, iter(primals)):
            alias = fresh + of.alias if of.alias >= 0 else -1
            yield Leaf(f"d{of.name}", "shadow", type_, of.activity, alias)
    result = wrapping.base.result
    results = [
        Leaf("result", "primal", type_, activity_of(type_, wrapping.returns))
        for type_ in flat_types([result])
    ]
    for type_, of in _paired(result, wrapping.seed, iter(results)):
        yield Leaf(SEED, "seed", type_, of.activity)


def _paired(
    primal: t.Type, shadow: t.Type, leaves: Iterator[Leaf]
) -> Iterator[tuple[t.Scalar | t.Array, Leaf]]:
    """The leaves of `shadow`, each with the leaf of the primal at the same place."""
    if isinstance(primal, t.Tuple) and isinstance(shadow, t.Tuple):
        for p, s in zip(primal.elements, shadow.elements, strict=True):
            yield from _paired(p, s, leaves)
    elif not isinstance(primal, t.NoneType):
        own = [next(leaves) for _ in t.leaves(primal)]
        if not isinstance(shadow, (t.Tuple, t.NoneType)):
            yield from zip(t.leaves(shadow), own, strict=True)


def _inputs(
    leaves: Sequence[Leaf], arguments: Sequence[SSAValue]
) -> tuple[list[SSAValue], list[Activity]]:
    """The operands of the request, each `dup` one followed by its shadow; and activities."""
    sizes = len(arguments) - len(leaves)
    values = list(zip(leaves, arguments[sizes:], strict=True))
    shadows = iter([v for x, v in values if x.role == "shadow" and x.activity is Activity.DUP])
    inputs, activity = list(arguments[:sizes]), [Activity.CONST] * sizes
    for leaf, value in values:
        if leaf.role == "primal":
            activity.append(leaf.activity)
            inputs += [value, next(shadows)] if leaf.activity is Activity.DUP else [value]
    return inputs, activity


def _returned(wrapping: Wrapping) -> tuple[list[Attribute], list[Activity]]:
    """The results of the base function: their types and activities."""
    results = list(flat_types([wrapping.base.result]))
    return flatten_types(results), [activity_of(leaf, wrapping.returns) for leaf in results]


def _reverse(
    wrapping: Wrapping, leaves: Sequence[Leaf], arguments: Sequence[SSAValue]
) -> tuple[list[Operation], list[SSAValue]]:
    """The ops of the wrapper, the request last; and its results in the order for Python."""
    inputs, activity = _inputs(leaves, arguments)
    types, returned = _returned(wrapping)
    for leaf, value in zip(leaves, arguments[len(arguments) - len(leaves) :], strict=True):
        if leaf.role == "seed" and leaf.activity is Activity.ACTIVE:
            inputs.append(value)
        elif leaf.role == "primal" and leaf.activity is Activity.ACTIVE:
            types.append(value.type)
    constants: list[Operation] = []
    if wrapping.program.immediate:
        ones = _ones(wrapping.base.result)
        for type_, kind, one in zip(types[: len(returned)], returned, ones, strict=True):
            if kind is Activity.ACTIVE and isinstance(type_, (Float32Type, Float64Type)):
                constants.append(arith.ConstantOp(FloatAttr(one, type_)))
    inputs += [op.results[0] for op in constants]
    request = RevDiffOp(wrapping.base.symbol, inputs, activity, returned, types)
    return [*constants, request], list(request.results)


def _ones(result: t.Type) -> list[float]:
    """The leaves of a result whose numbers are all 1: the imaginary part of a complex one is 0."""
    match result:
        case t.Tuple(elements):
            return [one for element in elements for one in _ones(element)]
        case t.Complex():
            return [1.0, 0.0]
        case _:
            return [1.0] * len(t.leaves(result))


def _forward(
    wrapping: Wrapping, leaves: Sequence[Leaf], arguments: Sequence[SSAValue]
) -> tuple[list[Operation], list[SSAValue]]:
    """As `_reverse`. The request interleaves primals and tangents, Python wants them apart."""
    inputs, activity = _inputs(leaves, arguments)
    types, returned = _returned(wrapping)
    interleaved: list[Attribute] = []
    for type_, kind in zip(types, returned, strict=True):
        interleaved += [type_] * (2 if kind is Activity.DUP else 1)
    request = FwdDiffOp(wrapping.base.symbol, inputs, activity, returned, interleaved)
    return [request], _primals_then_tangents(request, returned)


def _primals_then_tangents(op: FwdDiffOp, activity: Sequence[Activity]) -> list[SSAValue]:
    outputs = iter(op.outputs)
    primals: list[SSAValue] = []
    tangents: list[SSAValue] = []
    for kind in activity:
        primals.append(next(outputs))
        if kind is Activity.DUP:
            tangents.append(next(outputs))
    return primals + tangents


def _result_type(wrapping: Wrapping) -> t.Type:
    result = wrapping.base.result
    parts = [result]
    if wrapping.program.mode is Mode.FORWARD:
        parts.append(t.NoneType() if wrapping.returns is Const else shadow_type(result))
    else:
        parts += [shadow_type(part.primal) for part in wrapping.parts if part.kind is Active]
    return t.Tuple(tuple(parts)) if wrapping.program.immediate else bundle(parts)
