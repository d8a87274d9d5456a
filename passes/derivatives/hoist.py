"""Computing a value earlier than the primal does, from function arguments alone."""

from collections.abc import Callable

from xdsl.builder import Builder
from xdsl.dialects import arith, memref
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from mlirad.passes.analysis.memory import is_memory


def hoist(
    value: SSAValue, known: Callable[[SSAValue], SSAValue | None], builder: Builder
) -> SSAValue | None:
    """
    `value`, recomputed at `builder`; None if it depends on more than is `known` there.

    Only pure ops on numbers, and sizes of arrays, are repeated; memory is never read.
    """
    if (found := known(value)) is not None:
        return found
    op = value.owner
    if not isinstance(op, Operation) or op.regions:
        return None
    is_size = isinstance(op, memref.DimOp)
    if not is_size and (is_memory(value) or not is_side_effect_free(op)):
        return None
    mapping: dict[SSAValue, SSAValue] = {}
    for operand in op.operands:
        seen = hoist(operand, known, builder)
        if seen is None:
            return None
        mapping[operand] = seen
    if isinstance(op, arith.ConstantOp) or mapping:
        return builder.insert(op.clone(mapping)).results[op.results.index(value)]
    return None
