"""What derived functions look like from outside: arguments, attributes, names."""

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, func, gpu, memref
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from mlirad.dialects.autodiff import Activity
from mlirad.errors import ActivityError, NoRuleError, describe
from mlirad.passes.analysis import activity
from mlirad.passes.analysis.activity import ActivityResult
from mlirad.passes.analysis.flow import Function, body, kernel_of, location, name_of
from mlirad.passes.analysis.memory import (
    SEQUENTIAL,
    alias_classes,
    is_memory,
    set_alias_classes,
    set_unaligned_arguments,
    unaligned_arguments,
    writes,
)
from mlirad.passes.analysis.ordering import depends_on_order


def add_argument(block: Block, like: SSAValue, prefix: str = "") -> SSAValue:
    """A new last argument of the type of `like`, named after it."""
    argument = block.insert_arg(like.type, len(block.args))
    if like.name_hint is not None:
        argument.name_hint = prefix + like.name_hint
    return argument


def annotate_arguments(
    derived: Function, primal: Function, shadowed: Sequence[bool], extra: int = 0
) -> None:
    """
    Gives a derived function the alias classes and alignment of its primal, and the order of its
    threads where the derivative needs one.

    Its arguments are those of the primal, each `shadowed` one followed by its shadow, then
    `extra` others. Shadows overlap as their primals do, and nothing else.
    """
    classes = alias_classes(primal)
    next_class = max(classes, default=0) + 1
    unaligned = unaligned_arguments(primal)
    found: list[int] = []
    positions: set[int] = set()
    for i, (number, has_shadow) in enumerate(zip(classes, shadowed, strict=True)):
        for copy in range(1 + has_shadow):
            if i in unaligned:
                positions.add(len(found))
            found.append(number + copy * next_class if number >= 0 else -1)
    for argument in body(derived).args[len(found) : len(found) + extra]:
        found.append(2 * next_class + len(found) if is_memory(argument) else -1)
    for i, argument in enumerate(body(derived).args):  # shadow cells of scalars
        if is_memory(argument) and found[i] < 0:
            found[i] = 2 * next_class + len(found) + i
    set_alias_classes(derived, found)
    set_unaligned_arguments(derived, positions)
    if isinstance(primal, gpu.FuncOp) and depends_on_order(primal):
        derived.attributes[SEQUENTIAL] = UnitAttr()


def fresh_name(table: Operation, wanted: str) -> str:
    """`wanted`, with a number if the symbol table has that name already."""
    name, number = wanted, 0
    while SymbolTable.lookup_symbol(table, name) is not None:
        number += 1
        name = f"{wanted}_{number}"
    return name


def add_function(function: Function, after: Function) -> None:
    block = after.parent
    assert block is not None
    block.insert_op_after(function, after)


def analyze_request(
    function: func.FuncOp, kinds: Sequence[Activity], ret_kinds: Sequence[Activity]
) -> ActivityResult:
    """The activity that a request asks for; a `const` memref must not receive active values."""
    arguments = body(function).args
    moving = [i for i, kind in enumerate(kinds) if kind is not Activity.CONST]
    answer = activity.analyze(
        function,
        varied=moving,
        useful=[i for i in moving if is_memory(arguments[i])],
        useful_results=[i for i, kind in enumerate(ret_kinds) if kind is not Activity.CONST],
    )
    refuse_bitcasts(function, answer)
    shared = {root for i in moving for root in answer.memory.roots.get(arguments[i], ())}
    for argument, kind in zip(arguments, kinds, strict=True):
        own = answer.memory.roots.get(argument, frozenset()) - shared
        if kind is Activity.CONST and own & answer.varied:
            raise ActivityError(const_message(function, argument, answer))
    return answer


def refuse_bitcasts(function: Function, answer: ActivityResult) -> None:
    """A float that varies must not leave the sight of the analysis as the bits of an integer."""
    for op in function.walk():
        if isinstance(op, arith.BitcastOp) and answer.is_varied(op.input):
            raise NoRuleError(
                describe(
                    location(op),
                    "the bits of an active number have no derivative",
                    "hold the number fixed first: ad.stop_gradient(x)",
                )
            )


def const_message(function: Function, argument: SSAValue, answer: ActivityResult) -> str:
    name = argument.name_hint or str(body(function).args.index(argument))
    store = find_active_write(function, argument, answer)
    return describe(
        location(store) if store is not None else None,
        f"active values are stored into '{name}', which '{name_of(function)}' is given as Const",
        f"annotate '{name}' Duplicated or Dual instead, with a shadow of zeros if it is scratch",
    )


def find_active_write(
    function: Function, memory: SSAValue, answer: ActivityResult
) -> Operation | None:
    """The first store of an active value into `memory`, also inside launched kernels."""
    for op in function.walk():
        if isinstance(op, gpu.LaunchFuncOp):
            if (store := find_active_write_in_kernel(op, memory, answer)) is not None:
                return store
        elif any(
            value is not None and answer.memory.may_alias(memory, value) for value in writes(op)
        ) and any(map(answer.is_varied, sources(op))):
            return op
    return None


def find_active_write_in_kernel(
    launch: gpu.LaunchFuncOp, memory: SSAValue, answer: ActivityResult
) -> Operation | None:
    kernel, operands = kernel_of(launch), launch.kernelOperands
    inner = activity.analyze(kernel, [i for i, o in enumerate(operands) if answer.is_varied(o)], ())
    for operand, argument in zip(operands, body(kernel).args, strict=True):
        if is_memory(operand) and answer.memory.may_alias(memory, operand):
            if (store := find_active_write(kernel, argument, inner)) is not None:
                return store
    return None


def sources(op: Operation) -> Iterator[SSAValue]:
    """What `op` stores: numbers, or the contents of the memory it copies."""
    if isinstance(op, memref.CopyOp):
        yield op.source
    else:
        yield from (o for o in op.operands if not is_memory(o))
