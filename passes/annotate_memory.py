"""`autodiff-annotate-memory`: writes the memory analysis into the IR, for tests to read."""

from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue

from mlirad.passes.analysis.flow import Function
from mlirad.passes.analysis.memory import MemoryResult, Root, analyze
from mlirad.passes.base import Pass


class AnnotateMemoryPass(Pass):
    """
    Marks loads and stores with the roots of their memory (`autodiff.roots`), and loads whose
    memory the function may write with `autodiff.written`. Changes nothing else.
    """

    name = "autodiff-annotate-memory"

    def rewrite(self, module: ModuleOp) -> None:
        for function in [op for op in module.walk() if isinstance(op, Function)]:
            if function.body.blocks:
                annotate(function, analyze(function))


def annotate(function: Function, answer: MemoryResult) -> None:
    for op in function.walk():
        if not isinstance(op, memref.LoadOp | memref.StoreOp | memref.AtomicRMWOp):
            continue
        names = sorted(map(describe_root, answer.of(op.memref)))
        op.attributes["autodiff.roots"] = ArrayAttr(map(StringAttr, names))
        if isinstance(op, memref.LoadOp) and answer.is_written(op.memref):
            op.attributes["autodiff.written"] = UnitAttr()


def describe_root(root: Root) -> str:
    match root:
        case Operation():
            result: SSAValue = root.results[0]
            return f"%{result.name_hint or root.name}"
        case int():
            return f"arguments of class {root}"
        case _:
            return str(root)
