"""`autodiff-annotate-residuals`: writes the residual analysis into the IR, for tests to read."""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from mlirad.dialects.autodiff import Activity
from mlirad.passes.analysis.flow import body, terminator
from mlirad.passes.analysis.memory import is_memory
from mlirad.passes.autodiff_reverse import KernelDeriver
from mlirad.passes.base import Pass
from mlirad.passes.derivatives.plan import make_plan
from mlirad.passes.derivatives.signature import analyze_request


@dataclass(frozen=True)
class AnnotateResidualsPass(Pass):
    """
    Marks each op of every host function whose result the reverse sweep reads with
    `autodiff.residual`: where it comes from, and why. Changes nothing else.
    """

    name = "autodiff-annotate-residuals"

    arguments: tuple[int, ...]
    """Positions of the active arguments."""

    def rewrite(self, module: ModuleOp) -> None:
        for function in [op for op in module.ops if isinstance(op, func.FuncOp)]:
            if function.body.blocks:
                self.annotate(function)

    def annotate(self, function: func.FuncOp) -> None:
        arguments = body(function).args
        kinds = [
            Activity.CONST
            if i not in self.arguments
            else Activity.DUP
            if is_memory(argument)
            else Activity.ACTIVE
            for i, argument in enumerate(arguments)
        ]
        ret_kinds = [Activity.ACTIVE] * len(terminator(body(function)).operands)
        answer = analyze_request(function, kinds, ret_kinds)
        plan = make_plan(function, answer, [True] * len(kinds), KernelDeriver().derive, joined=True)
        for value, decision in plan.residuals.decisions.items():
            if isinstance(value.owner, Operation):
                text = f"{decision.kind.value}: {decision.reason}"
                value.owner.attributes["autodiff.residual"] = StringAttr(text)
