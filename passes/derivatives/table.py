"""The rules of all scalar ops in one place, and how an op finds its own."""

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from mlirad.dialects.autodiff import StopGradientOp
from mlirad.passes.derivatives.arith import ARITH_RULES
from mlirad.passes.derivatives.libm import LIBM_RULES
from mlirad.passes.derivatives.math import MATH_RULES
from mlirad.passes.derivatives.rule import INACTIVE, Rule, RuleTable

AUTODIFF_RULES: RuleTable = {StopGradientOp: INACTIVE}

SCALAR_RULES: RuleTable = {**ARITH_RULES, **MATH_RULES, **AUTODIFF_RULES}


def find_rule(op: Operation, extra: Sequence[RuleTable] = ()) -> Rule | None:
    """
    The rule of a scalar op, or of a call of a libm function; None if there is none.

    Args:
        extra: further tables, which win over ours; the first that knows the op decides.
    """
    for table in (*extra, SCALAR_RULES):
        if (known := table.get(type(op))) is not None:
            return known
    return find_libm_rule(op, LIBM_RULES) if isinstance(op, func.CallOp) else None


def find_libm_rule(call: func.CallOp, rules: Mapping[str, Rule]) -> Rule | None:
    """The rule of the function called, if it is a pure function that we only declare."""
    known = rules.get(call.callee.string_value())
    if known is None:
        return None
    callee = SymbolTable.lookup_symbol(call, call.callee)
    is_libm = (
        isinstance(callee, func.FuncOp)
        and callee.is_declaration
        and "mlirad.pure" in callee.attributes
    )
    return known if is_libm else None
