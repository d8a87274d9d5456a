"""
`autodiff-reverse`: replaces requests for reverse mode by the two functions that make it up.

`autodiff.revdiff` becomes a call of the augmented primal followed by a call of the reverse
sweep; `autodiff.split` gives the two functions their names. Everything a rule reads in the
reverse sweep that is not at hand there is kept in a growable cache: obviously right first;
`autodiff-plan-caches` and `autodiff-lower-caches` make it fast.
"""

from collections.abc import Sequence

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.traits import SymbolTable

from mlirad.dialects.autodiff import Activity, RevDiffOp, SplitOp
from mlirad.passes.analysis.activity import ActivityResult
from mlirad.passes.analysis.flow import kernel_of, name_of
from mlirad.passes.analysis.memory import is_memory
from mlirad.passes.analysis.stability import Stability
from mlirad.passes.base import Pass
from mlirad.passes.counting import counting_function
from mlirad.passes.derivatives import snapshots
from mlirad.passes.derivatives.augment import build_augmented
from mlirad.passes.derivatives.plan import (
    KernelPair,
    Plan,
    analyze_kernel,
    make_plan,
    outer_loops,
)
from mlirad.passes.derivatives.pull import build_reverse
from mlirad.passes.derivatives.signature import add_function, analyze_request, fresh_name
from mlirad.passes.derivatives.watch import planned


class ReversePass(Pass):
    """Reverse-mode differentiation. Leaves no request for it; adds cache and shadow ops."""

    name = "autodiff-reverse"

    def rewrite(self, module: ModuleOp) -> None:
        for op in [op for op in module.walk() if isinstance(op, RevDiffOp | SplitOp)]:
            if isinstance(op, RevDiffOp):
                expand_reverse(op)
            else:
                expand_split(op)


def expand_reverse(request: RevDiffOp) -> None:
    primal = SymbolTable.lookup_symbol(request, request.callee)
    assert isinstance(primal, func.FuncOp), f"no function {request.callee}"
    kinds = [a.data for a in request.activity]
    ret_kinds = [a.data for a in request.ret_activity]
    augmented, reverse = build_pair(primal, kinds, ret_kinds, arrays_may_change=False)
    inputs = iter(request.inputs)
    primals: list[SSAValue] = []
    interleaved: list[SSAValue] = []
    for kind in kinds:
        primals.append(next(inputs))
        interleaved.append(primals[-1])
        if kind is Activity.DUP:
            interleaved.append(next(inputs))
    results = len(ret_kinds)
    first = func.CallOp(name_of(augmented), primals, augmented.function_type.outputs.data)
    arguments = [*interleaved, *inputs, *first.res[results:]]
    second = func.CallOp(name_of(reverse), arguments, reverse.function_type.outputs.data)
    block = request.parent
    assert block is not None
    for call in (first, second):
        call.location = request.location
        block.insert_op_before(call, request)
    for old, new in zip(request.outputs, [*first.res[:results], *second.res], strict=True):
        old.replace_all_uses_with(new)
    request.detach()
    request.erase()


def expand_split(request: SplitOp) -> None:
    primal = SymbolTable.lookup_symbol(request, request.callee)
    assert isinstance(primal, func.FuncOp), f"no function {request.callee}"
    kinds = [a.data for a in request.activity]
    ret_kinds = [a.data for a in request.ret_activity]
    pair = build_pair(primal, kinds, ret_kinds, arrays_may_change=True)
    for function, wanted in zip(pair, (request.augmented, request.reverse), strict=True):
        function.properties["sym_name"] = wanted.root_reference
        function.properties.pop("sym_visibility", None)
        function.attributes["mlirad.entry"] = UnitAttr()
    pair[1].attributes["autodiff.reverse_of"] = SymbolRefAttr(name_of(pair[0]))
    request.detach()
    request.erase()


def build_pair(
    primal: func.FuncOp,
    kinds: Sequence[Activity],
    ret_kinds: Sequence[Activity],
    arrays_may_change: bool,
) -> tuple[func.FuncOp, func.FuncOp]:
    """The augmented primal and the reverse sweep, added to the module after `primal`."""
    answer = analyze_request(primal, kinds, ret_kinds)
    stable = [not arrays_may_change] * len(kinds)
    plan = make_plan(primal, answer, stable, KernelDeriver().derive, joined=not arrays_may_change)
    plan.count = counting_function
    table = primal.parent_op()
    assert table is not None
    letters = "".join(kind.value[0] for kind in kinds)
    name = fresh_name(table, f"augmented_{name_of(primal)}_{letters}")
    planned(plan, name)
    augmented = build_augmented(plan, name, 0)
    seeds = [kind is Activity.ACTIVE for kind in ret_kinds]
    reverse_name = fresh_name(table, f"reverse_{name_of(primal)}_{letters}")
    shadowed = [kind is Activity.DUP for kind in kinds]
    wanted = [kind is Activity.ACTIVE for kind in kinds]
    reverse = build_reverse(plan, reverse_name, shadowed, wanted, seeds)
    assert isinstance(augmented, func.FuncOp)
    assert isinstance(reverse, func.FuncOp)
    add_function(augmented, primal)
    add_function(reverse, augmented)
    return augmented, reverse


class KernelDeriver:
    """Builds the two kernels of a launch, once per kernel and way of being launched."""

    def __init__(self) -> None:
        self.done: dict[object, KernelPair] = {}

    def derive(
        self, launch: gpu.LaunchFuncOp, outer: ActivityResult, stability: Stability
    ) -> KernelPair:
        kernel = kernel_of(launch)
        answer, active = analyze_kernel(launch, outer)
        stable = [
            is_memory(operand) and stability.holds(operand, launch)
            for operand in launch.kernelOperands
        ]
        depth = outer_loops(launch)
        key = (kernel, tuple(active), tuple(stable), depth)
        if key not in self.done:
            plan = make_plan(kernel, answer, stable, self.derive, joined=False)
            copied = snapshots.candidates(launch, stable) if plan.residuals.keeps_any else []
            if copied:
                held = [s or k in copied for k, s in enumerate(stable)]
                other = make_plan(kernel, answer, held, self.derive, joined=False)
                if snapshots.is_worth_it(plan.residuals, other.residuals, len(copied)):
                    plan = other
                else:
                    copied = []
            self.done[key] = self.build(plan, active, depth, tuple(copied))
        return self.done[key]

    def build(
        self, plan: Plan, active: Sequence[bool], depth: int, copied: tuple[int, ...]
    ) -> KernelPair:
        kernel = plan.function
        table = kernel.parent_op()
        assert table is not None
        letters = "".join("d" if flag else "c" for flag in active)
        name = fresh_name(table, f"augmented_{name_of(kernel)}_{letters}")
        planned(plan, name)
        augmented = build_augmented(plan, name, depth)
        add_function(augmented, kernel)
        name = fresh_name(table, f"reverse_{name_of(kernel)}_{letters}")
        reverse = build_reverse(plan, name, active, active, [], depth)
        add_function(reverse, augmented)
        caches = tuple(kept.type for kept in plan.kept)
        return KernelPair(name_of(augmented), name_of(reverse), caches, copied)
