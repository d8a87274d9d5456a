"""
From the IR of the frontend to the IR of a back end: the stages, as data.

The passes are named, not imported: a module that asks for no derivative never loads the
differentiation passes, and `mlirad-opt` lists all of them without loading any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from mlirad.passes import check_stage
from mlirad.passes.base import Pass

if TYPE_CHECKING:
    from mlirad.backends.native import NativeObject

Callback = Callable[[str, ModuleOp], None]
"""Called with the name of each pass that has run, and the module as it left it."""

INLINE = "optimize.inline:InlinePass"
OPTIMIZE = (
    "optimize.simplify:SimplifyPass",
    "optimize.cse:CsePass",
    "optimize.licm:LicmPass",
    "optimize.forward_stores:ForwardStoresPass",
    "optimize.cse:CsePass",
    "optimize.dce:DcePass",
)
EXPAND = "expand_requests:ExpandRequestsPass"
STOP_GRADIENT = "optimize.drop_stop_gradient:DropStopGradientPass"
CACHES = (
    "forward_caches:ForwardCachesPass",
    "plan_caches:PlanCachesPass",
    "lower_caches:LowerCachesPass",
    "elide_atomics:ElideAtomicsPass",
    "lower_shadows:LowerShadowsPass",
)
SIZES = "optimize.launch_sizes:LaunchSizesPass"
FUSE = (
    "optimize.simplify:SimplifyPass",
    "optimize.cse:CsePass",
    "fuse_launches:FuseLaunchesPass",
    "optimize.cse:CsePass",
    "optimize.merge_branches:MergeBranchesPass",
)
GPU_TO_SCF = "gpu_to_scf:GpuToScfPass"


@dataclass(frozen=True, slots=True)
class Stage:
    """A level of the IR: `passes` lead to it from the one before, `legal` is what it may hold."""

    name: str
    passes: tuple[str, ...]
    legal: check_stage.Legal
    derivatives: bool = False
    """The passes matter only to modules with ops of `autodiff`."""


def _stage(name: str, *passes: str, derivatives: bool = False) -> Stage:
    return Stage(name, passes, check_stage.LEGAL[name], derivatives)


STAGES: tuple[Stage, ...] = (
    _stage("python"),
    _stage("optimized", INLINE, SIZES, *OPTIMIZE),
    _stage("differentiated", EXPAND, derivatives=True),
    _stage("lowered", STOP_GRADIENT, INLINE, SIZES, *FUSE, *CACHES, *OPTIMIZE, derivatives=True),
    _stage("cpu", GPU_TO_SCF),
)
"""In the order in which they run."""


def stages() -> tuple[str, ...]:
    """The names of the stages, in order."""
    return tuple(stage.name for stage in STAGES)


def load(path: str) -> type[Pass]:
    """The pass class that the stage table names as `module:Class`."""
    module, name = path.split(":")
    loaded: type[Pass] = getattr(import_module(f"mlirad.passes.{module}"), name)
    return loaded


def run(
    module: ModuleOp,
    stage: str,
    *,
    callback: Callback | None = None,
    verify: bool = True,
    verify_each: bool = False,
) -> ModuleOp:
    """
    Runs all passes up to and including those of `stage` on `module`, in place.

    `verify` runs xDSL's verifier after each stage, `verify_each` after each pass. After each
    stage the legality of all ops is checked. Raises the `MliradError` of the pass that
    refuses the module, and `ValueError` for an unknown stage.
    """
    if stage not in stages():
        raise ValueError(f"no stage {stage!r}; the stages are {', '.join(stages())}")
    differentiates = any(
        op.dialect_name() == "autodiff" and op.name not in check_stage.PRIMAL
        for op in module.walk()
    )
    for current in STAGES:
        if differentiates or not current.derivatives:
            run_stage(module, current, callback, verify, verify_each)
        if current.name == stage:
            break
    return module


def finish(module: ModuleOp, stage: str = "cpu") -> ModuleOp:
    """
    Runs what is left of the passes to `stage` on a module at any stage before, in place.

    The module is taken to be at the latest stage at which all its ops are legal, so a module
    that a back end takes as it is stays as it is. Raises as `run` does.
    """
    reached = [
        number
        for number, current in enumerate(STAGES)
        if all(current.legal.allows(op) for op in module.walk())
    ]
    for current in STAGES[max(reached, default=-1) + 1 : stages().index(stage) + 1]:
        run_stage(module, current, callback=None, verify=True, verify_each=False)
    return module


def run_stage(
    module: ModuleOp, stage: Stage, callback: Callback | None, verify: bool, verify_each: bool
) -> None:
    for path in stage.passes:
        run_pass = load(path)()
        run_pass.rewrite(module)
        if verify_each:
            module.verify()
        if callback is not None:
            callback(run_pass.name, module)
    if verify and not verify_each:
        module.verify()
    check_stage.check(module, stage.name)


def compile_native(
    module: ModuleOp, *, verify: bool = False, atomics: bool = False
) -> NativeObject:
    """
    Runs `module` to the stage `cpu`, in place, and compiles it to machine code; with `atomics`,
    for several workers.

    Raises `MliradError` for what the passes refuse.
    """
    from mlirad.backends import cpu  # loads LLVM

    return cpu.compile_module(run(module, "cpu", verify=verify), atomics=atomics)
