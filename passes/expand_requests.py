"""
`autodiff-expand-requests`: expands all requests of a module, innermost first.

A request may name a function that itself contains requests; those go first, and the calls they
leave are inlined, so that the outer request sees one body without calls.
"""

from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable

from mlirad.dialects.autodiff import FwdDiffOp, RevDiffOp, SplitOp
from mlirad.errors import UnsupportedError, describe
from mlirad.passes.analysis.flow import location
from mlirad.passes.autodiff_forward import expand_forward
from mlirad.passes.autodiff_reverse import expand_reverse, expand_split
from mlirad.passes.base import Pass
from mlirad.passes.forward_caches import ForwardCachesPass
from mlirad.passes.optimize.inline import InlinePass

AnyRequest = FwdDiffOp | RevDiffOp | SplitOp


class ExpandRequestsPass(Pass):
    """Leaves no request; nested ones are expanded from the inside out."""

    name = "autodiff-expand-requests"

    def rewrite(self, module: ModuleOp) -> None:
        while pending := requests(module):
            ready = [request for request in pending if not has_inner(request)]
            if not ready:
                raise UnsupportedError(
                    describe(location(pending[0]), "these requests for derivatives name each other")
                )
            for request in ready:
                expand(request)
            if len(ready) < len(pending):
                InlinePass().rewrite(module)
                ForwardCachesPass().rewrite(module)


def requests(module: ModuleOp) -> list[AnyRequest]:
    return [op for op in module.walk() if isinstance(op, AnyRequest)]


def has_inner(request: AnyRequest) -> bool:
    """Whether the function that `request` names contains requests."""
    callee = SymbolTable.lookup_symbol(request, request.callee)
    return callee is not None and any(isinstance(op, AnyRequest) for op in callee.walk())


def expand(request: AnyRequest) -> None:
    match request:
        case FwdDiffOp():
            expand_forward(request)
        case RevDiffOp():
            expand_reverse(request)
        case SplitOp():
            expand_split(request)
