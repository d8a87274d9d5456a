"""The structural rules of all dialects in one place."""

from xdsl.ir import Operation

from mlirad.passes.derivatives.caches import CACHE_RULES
from mlirad.passes.derivatives.context import StructuralRule
from mlirad.passes.derivatives.gpu import GPU_RULES
from mlirad.passes.derivatives.memref import MEMREF_RULES
from mlirad.passes.derivatives.scf import SCF_RULES

STRUCTURAL_RULES: dict[type[Operation], StructuralRule] = {
    **MEMREF_RULES,
    **SCF_RULES,
    **GPU_RULES,
    **CACHE_RULES,
}
