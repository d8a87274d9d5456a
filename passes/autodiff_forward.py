"""
`autodiff-forward`: replaces each `autodiff.fwddiff` by a call of a function that carries tangents.

Every active value travels as a pair; active memory has a shadow that is written wherever the
primal is. Kernels that are launched get tangent kernels.
"""

from collections.abc import Sequence

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import FunctionType, ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from mlirad.dialects.autodiff import Activity, FwdDiffOp
from mlirad.passes.analysis import activity
from mlirad.passes.analysis.activity import ActivityResult, is_terminator
from mlirad.passes.analysis.flow import Function, body, kernel_of, name_of, terminator
from mlirad.passes.analysis.memory import REVERSED, is_memory
from mlirad.passes.base import Pass
from mlirad.passes.derivatives.rule import Shadow
from mlirad.passes.derivatives.signature import (
    add_argument,
    add_function,
    analyze_request,
    annotate_arguments,
    fresh_name,
)
from mlirad.passes.derivatives.structural import structural_rule
from mlirad.passes.derivatives.sweep import BaseSweep, rule_of


class ForwardPass(Pass):
    """Forward-mode differentiation. Leaves no `autodiff.fwddiff`; adds no `autodiff` op."""

    name = "autodiff-forward"

    def rewrite(self, module: ModuleOp) -> None:
        for op in [op for op in module.walk() if isinstance(op, FwdDiffOp)]:
            expand_forward(op)


def expand_forward(request: FwdDiffOp) -> None:
    """Builds the tangent function and replaces the request by a call of it."""
    primal = SymbolTable.lookup_symbol(request, request.callee)
    assert isinstance(primal, func.FuncOp), f"no function {request.callee}"
    kinds = [a.data for a in request.activity]
    ret_kinds = [a.data for a in request.ret_activity]
    answer = analyze_request(primal, kinds, ret_kinds)
    table = primal.parent_op()
    assert table is not None
    letters = "".join(kind.value[0] for kind in kinds)
    name = fresh_name(table, f"fwddiff_{name_of(primal)}_{letters}")
    shadowed = [kind is Activity.DUP for kind in kinds]
    tangent = build_tangent(primal, name, shadowed, [k is Activity.DUP for k in ret_kinds], answer)
    assert isinstance(tangent, func.FuncOp)
    add_function(tangent, primal)
    call = func.CallOp(SymbolRefAttr(name), request.inputs, request.outputs.types)
    call.location = request.location
    block = request.parent
    assert block is not None
    block.insert_op_before(call, request)
    for old, new in zip(request.outputs, call.res, strict=True):
        old.replace_all_uses_with(new)
    request.detach()
    request.erase()


def build_tangent(
    primal: Function,
    name: str,
    shadowed: Sequence[bool],
    ret_shadowed: Sequence[bool],
    answer: ActivityResult,
) -> Function:
    """A function or kernel that computes what `primal` does, and the tangents."""
    block = Block()
    sweep = TangentSweep(answer, block)
    for argument, has_shadow in zip(body(primal).args, shadowed, strict=True):
        sweep.set_primal(argument, add_argument(block, argument))
        if has_shadow:
            sweep.set_shadow(argument, add_argument(block, argument, "d"))
    sweep.push_block(body(primal))
    returned = terminator(body(primal))
    sweep.at = returned
    if isinstance(returned, gpu.ReturnOp):
        sweep.insert(gpu.ReturnOp([]))
        type = FunctionType.from_lists(list(block.arg_types), [])
        derived: Function = gpu.FuncOp(name, type, Region(block), kernel=True)
        if REVERSED in primal.attributes:
            derived.attributes[REVERSED] = primal.attributes[REVERSED]
    else:
        results: list[SSAValue] = []
        for value, has_shadow in zip(returned.operands, ret_shadowed, strict=True):
            results.append(sweep.primal(value))
            if has_shadow:
                results.append(
                    sweep.shadow(value) if is_memory(value) else sweep.instantiated(value)
                )
        sweep.insert(func.ReturnOp(*results))
        types = [value.type for value in results]
        derived = func.FuncOp(name, (list(block.arg_types), types), Region(block), "private")
    derived.location = primal.location
    annotate_arguments(derived, primal, shadowed)
    return derived


class TangentSweep(BaseSweep):
    """Visits the primal in order; see `derivatives.context.ForwardSweep`."""

    def push_block(self, block: Block) -> None:
        for op in block.ops:
            if not is_terminator(op):
                self.at = op
                self.push(op)

    def push(self, op: Operation) -> None:
        if op not in self.activity.active_ops:
            self.copy(op)
        elif (rule := structural_rule(op)) is not None:
            rule.push_forward(op, self)
        else:
            scalar = rule_of(op)
            copy = self.copy(op)
            tangents = [self.tangent(operand) for operand in op.operands]
            self.set_shadow(op.results[0], scalar.pushforward(copy, tangents, self.builder))

    def tangent(self, value: SSAValue) -> Shadow:
        return self.known_shadow(value)

    def instantiated(self, value: SSAValue) -> SSAValue:
        tangent = self.known_shadow(value)
        return self.zero(value.type) if tangent is None else tangent

    def tangent_kernel(self, launch: gpu.LaunchFuncOp, active: Sequence[bool]) -> str:
        kernel = kernel_of(launch)
        table = kernel.parent_op()
        assert table is not None
        chosen = [i for i, is_active in enumerate(active) if is_active]
        arguments = body(kernel).args
        answer = activity.analyze(kernel, chosen, [i for i in chosen if is_memory(arguments[i])])
        letters = "".join("d" if is_active else "c" for is_active in active)
        name = fresh_name(table, f"fwddiff_{name_of(kernel)}_{letters}")
        add_function(build_tangent(kernel, name, active, [], answer), kernel)
        return name
