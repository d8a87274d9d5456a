"""`autodiff-annotate-activity`: writes the activity analysis into the IR, for tests to read."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, UnitAttr

from mlirad.passes.analysis.activity import analyze
from mlirad.passes.analysis.flow import Function, body, terminator
from mlirad.passes.analysis.memory import is_memory
from mlirad.passes.base import Pass


@dataclass(frozen=True)
class AnnotateActivityPass(Pass):
    """Marks each active op of every function `{autodiff.active}`. Changes nothing else."""

    name = "autodiff-annotate-activity"

    arguments: tuple[int, ...]
    """Positions of the arguments that vary; memrefs among them are useful as well."""

    def rewrite(self, module: ModuleOp) -> None:
        for function in [op for op in module.walk() if isinstance(op, Function)]:
            if not function.body.blocks:
                continue
            arguments = body(function).args
            chosen = [i for i in self.arguments if i < len(arguments)]
            answer = analyze(
                function,
                chosen,
                [i for i in chosen if is_memory(arguments[i])],
                range(len(terminator(body(function)).operands)),
            )
            for op in answer.active_ops:
                op.attributes["autodiff.active"] = UnitAttr()
