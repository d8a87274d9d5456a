"""The structural rules of all dialects in one place."""

from xdsl.ir import Operation

from mlirad.passes.analysis.memory import is_view
from mlirad.passes.derivatives.caches import CACHE_RULES
from mlirad.passes.derivatives.context import StructuralRule
from mlirad.passes.derivatives.gpu import GPU_RULES
from mlirad.passes.derivatives.memref import MEMREF_RULES, VIEW_RULE
from mlirad.passes.derivatives.scf import SCF_RULES

STRUCTURAL_RULES: dict[type[Operation], StructuralRule] = {
    **MEMREF_RULES,
    **SCF_RULES,
    **GPU_RULES,
    **CACHE_RULES,
}


def structural_rule(op: Operation) -> StructuralRule | None:
    """The structural rule of `op`; a select between arrays is a view, one of numbers has none."""
    return VIEW_RULE if is_view(op) else STRUCTURAL_RULES.get(type(op))
