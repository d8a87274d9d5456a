"""
`check-stage`: which ops may be in a module at the end of each stage of the pipeline.

`mlirad.pipeline` runs the check after each stage, so that an op that a pass forgot is reported
where it was forgotten and not as a failure of the back end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from mlirad.errors import MliradError, describe
from mlirad.passes.analysis.flow import location
from mlirad.passes.base import Pass

REQUESTS = frozenset({"autodiff.fwddiff", "autodiff.revdiff", "autodiff.split"})
STOP_GRADIENT = frozenset({"autodiff.stop_gradient"})
CACHES_AND_SHADOWS = frozenset(
    f"autodiff.{name}" for name in ("init", "push", "pop", "free", "accumulate", "take")
)
PRIMAL = frozenset({"autodiff.compare_exchange", "autodiff.fence", "autodiff.constant_array"})
GPU = frozenset(
    f"gpu.{name}"
    for name in (
        *("module", "func", "return", "launch_func", "barrier"),
        *("thread_id", "block_id", "block_dim", "grid_dim", "global_id"),
    )
)


@dataclass(frozen=True)
class Legal:
    """What a module may consist of: all ops of some dialects, and single ops."""

    dialects: frozenset[str]
    ops: frozenset[str]

    def allows(self, op: Operation) -> bool:
        return op.name in self.ops or op.dialect_name() in self.dialects


PYTHON = Legal(
    frozenset({"func", "scf", "arith", "math", "memref", "complex"}),
    frozenset({"builtin.module"}) | GPU | PRIMAL | REQUESTS | STOP_GRADIENT,
)
DIFFERENTIATED = replace(PYTHON, ops=PYTHON.ops - REQUESTS | CACHES_AND_SHADOWS)
LOWERED = replace(PYTHON, ops=PYTHON.ops - REQUESTS - STOP_GRADIENT)
CPU = replace(LOWERED, ops=LOWERED.ops - GPU)

LEGAL: dict[str, Legal] = {
    "python": PYTHON,
    "optimized": PYTHON,
    "differentiated": DIFFERENTIATED,
    "lowered": LOWERED,
    "cpu": CPU,
}
"""By the name of the stage."""


def check(module: ModuleOp, stage: str, *, locations: bool = False) -> None:
    """
    Raises a `MliradError` for the first op that may not be there after `stage`.

    With `locations`, an op without a source location is out of place as well.
    """
    legal = LEGAL[stage]
    for op in module.walk():
        if not legal.allows(op):
            raise MliradError(
                describe(
                    location(op),
                    f"'{op.name}' may not be there after the stage '{stage}'",
                    f"in: {op}",
                )
            )
        if locations and op is not module and not isinstance(op.location, FileLineColLoc):
            raise MliradError(describe(None, f"'{op.name}' has no source location", f"in: {op}"))


@dataclass(frozen=True)
class CheckStagePass(Pass):
    """Fails if the module has an op that is not legal after `stage`. Changes nothing."""

    name = "check-stage"

    stage: str
    """One of `LEGAL`."""
    locations: bool = False
    """Whether every op must have a source location."""

    def rewrite(self, module: ModuleOp) -> None:
        if self.stage not in LEGAL:
            known = ", ".join(f"'{name}'" for name in LEGAL)
            raise MliradError(f"no stage '{self.stage}'; the stages are {known}")
        check(module, self.stage, locations=self.locations)
