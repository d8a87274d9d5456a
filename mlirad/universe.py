"""What `xdsl-opt` and `mlirad-opt` learn from mlirad; the entry point `xdsl.universe` names it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

PASSES = {
    "autodiff-annotate-activity": "annotate_activity:AnnotateActivityPass",
    "autodiff-annotate-memory": "annotate_memory:AnnotateMemoryPass",
    "autodiff-annotate-residuals": "annotate_residuals:AnnotateResidualsPass",
    "autodiff-expand-requests": "expand_requests:ExpandRequestsPass",
    "autodiff-forward": "autodiff_forward:ForwardPass",
    "autodiff-elide-atomics": "elide_atomics:ElideAtomicsPass",
    "autodiff-forward-caches": "forward_caches:ForwardCachesPass",
    "autodiff-lower-caches": "lower_caches:LowerCachesPass",
    "autodiff-lower-shadows": "lower_shadows:LowerShadowsPass",
    "autodiff-plan-caches": "plan_caches:PlanCachesPass",
    "autodiff-reverse": "autodiff_reverse:ReversePass",
    "check-stage": "check_stage:CheckStagePass",
    "drop-stop-gradient": "optimize.drop_stop_gradient:DropStopGradientPass",
    "forward-stores": "optimize.forward_stores:ForwardStoresPass",
    "fuse-launches": "fuse_launches:FuseLaunchesPass",
    "gpu-to-scf": "gpu_to_scf:GpuToScfPass",
    "hoist-invariants": "optimize.licm:LicmPass",
    "inline-calls": "optimize.inline:InlinePass",
    "merge-branches": "optimize.merge_branches:MergeBranchesPass",
    "merge-common": "optimize.cse:CsePass",
    "propagate-launch-sizes": "optimize.launch_sizes:LaunchSizesPass",
    "remove-dead-code": "optimize.dce:DcePass",
    "simplify": "optimize.simplify:SimplifyPass",
}
"""Name of the pass, and its module in `mlirad.passes` and class: loaded when first asked for."""

TARGETS = {"asm": "AssemblyTarget", "mlirad-llvm": "LLVMTarget", "ptx": "PtxTarget"}
"""xDSL has a target `llvm` of its own; in `mlirad-opt` that name is ours."""


def get_autodiff() -> Dialect:
    from mlirad.dialects.autodiff import Autodiff

    return Autodiff


def pass_factory(path: str) -> Callable[[], type[ModulePass]]:
    module, name = path.split(":")

    def load() -> type[ModulePass]:
        return getattr(import_module(f"mlirad.passes.{module}"), name)

    return load


def target_factory(name: str) -> Callable[[], type[Target]]:
    def load() -> type[Target]:
        return getattr(import_module("mlirad.cli.targets"), name)

    return load


MLIRAD_UNIVERSE = Universe(
    all_dialects={"autodiff": get_autodiff},
    all_passes={name: pass_factory(path) for name, path in PASSES.items()},
    all_targets={name: target_factory(target) for name, target in TARGETS.items()},
)
