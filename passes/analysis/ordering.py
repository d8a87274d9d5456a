"""
Kernels whose derivative is right only if their threads run one after the other.

* Who wins an atomic maximum or minimum is found by comparing with the old value, in the order of
  the threads; the reverse sweep must undo them in the opposite order.
* Exchanges and fences hand values on to threads of other blocks: the reverse sweep of a thread that
  reads must run before that of the one that wrote.

Each thread then runs alone, those of a reverse sweep last first (`mlirad.reversed`).
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import Operation

from mlirad.dialects.autodiff import CompareExchangeOp, FenceOp
from mlirad.passes.analysis.flow import Function
from mlirad.passes.analysis.memory import SEQUENTIAL, TAKES

ADDF, EXCHANGE, MAXNUMF, MINNUMF = 0, 2, 13, 14
"""Upstream's numbers of kinds of `memref.atomic_rmw`; all but the first depend on an order."""


def depends_on_order(kernel: Function) -> bool:
    """Whether the derivatives of `kernel` need an order of its threads."""
    return SEQUENTIAL in kernel.attributes or any(map(hands_on, kernel.walk()))


def hands_on(op: Operation) -> bool:
    if isinstance(op, memref.AtomicRMWOp):
        return op.kind.value.data in (EXCHANGE, MAXNUMF, MINNUMF) and TAKES not in op.attributes
    return isinstance(op, CompareExchangeOp | FenceOp)
