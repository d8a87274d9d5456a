"""`simplify`: folds integer constants, known branches and loops that run at most once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from mlirad.passes.base import Pass
from mlirad.passes.optimize.dce import remove_dead_code
from mlirad.passes.optimize.folding import FOLDS, known_integer


@dataclass(frozen=True)
class SimplifyPass(Pass):
    """
    Folds integer ops, `scf.if` with a known condition, `scf.for` that runs never or once,
    and variables that a loop or branch does not change; then removes dead code. Float
    arithmetic stays as written.
    """

    name = "simplify"

    def rewrite(self, module: ModuleOp) -> None:
        simplify(module.body.block)
        remove_dead_code(module)


def simplify(block: Block) -> None:
    """Simplifies the ops of `block`, and of the blocks inside it, in one sweep forwards."""
    op = block.first_op
    while op is not None:
        following = op.next_op
        match op:
            case scf.IfOp():
                simplify_if(op)
            case scf.ForOp():
                simplify_for(op)
            case _ if op.regions:
                for region in op.regions:
                    for inner in region.blocks:
                        simplify(inner)
            case _:
                fold(op)
        op = following


def fold(op: Operation) -> None:
    fold_op = FOLDS.get(type(op))
    result = fold_op(op) if fold_op is not None else None
    if result is None:
        return
    if not isinstance(result, SSAValue):
        constant = arith.ConstantOp.create(
            result_types=[op.results[0].type],
            properties={"value": result},
            location=op.location,
        )
        insert_before(op, constant)
        result = constant.results[0]
    replace(op, [result])


def simplify_if(op: scf.IfOp) -> None:
    condition = known_integer(op.operands[0])
    if condition is not None:
        region = op.true_region if condition else op.false_region
        block = region.blocks.first
        if block is None:
            replace(op, [])
            return
        simplify(block)
        replace(op, splice(block, op))
        return
    for region in op.regions:
        for block in region.blocks:
            simplify(block)
    if op.results and op.false_region.blocks:
        for result, first, second in zip(
            op.results, yielded(op.true_region.block), yielded(op.false_region.block), strict=True
        ):
            if first is second:
                result.replace_all_uses_with(first)


def simplify_for(op: scf.ForOp) -> None:
    lower, upper, step = (known_integer(v) for v in op.operands[:3])
    body = op.body.block
    if lower is not None and upper is not None and lower >= upper:
        replace(op, op.operands[3:])
        return
    if lower is not None and upper is not None and step is not None and lower + step >= upper:
        if step > 0:
            for argument, value in zip(body.args, (op.operands[0], *op.operands[3:]), strict=True):
                argument.replace_all_uses_with(value)
            simplify(body)
            replace(op, splice(body, op))
            return
    replace_unchanged(op)
    simplify(body)
    replace_unchanged(op)


def replace_unchanged(op: scf.ForOp) -> None:
    """A variable that every iteration hands on as it got it is the value before the loop."""
    body = op.body.block
    for i, (value, result) in enumerate(zip(yielded(body), op.results, strict=True)):
        start, argument = op.operands[3 + i], body.args[1 + i]
        if value is argument or value is start:
            argument.replace_all_uses_with(start)
            result.replace_all_uses_with(start)


def yielded(block: Block) -> Sequence[SSAValue]:
    assert block.last_op is not None
    return tuple(block.last_op.operands)


def splice(block: Block, target: Operation) -> Sequence[SSAValue]:
    """Moves all ops of `block` before `target`; returns what the block yields."""
    results = yielded(block)
    for op in tuple(block.ops):
        if op is not block.last_op:
            op.detach()
            insert_before(target, op)
    return results


def insert_before(target: Operation, op: Operation) -> None:
    assert target.parent is not None
    target.parent.insert_op_before(op, target)


def replace(op: Operation, values: Sequence[SSAValue]) -> None:
    for old, new in zip(op.results, tuple(values), strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
