"""
`merge-branches`: neighbouring `scf.if`s on the same condition become one.

```mlir
scf.if %inside { A }             scf.if %inside { A; B }
%c = pure                 ==>    (%c in front)
scf.if %inside { B }
```

Where a kernel and its reverse sweep have been joined, each begins with the same guard.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from mlirad.passes.base import Pass
from mlirad.passes.optimize.effects import Effects


@dataclass(frozen=True)
class MergeBranchesPass(Pass):
    """Leaves everything else in its order; branches with results are not first partners."""

    name = "merge-branches"

    def rewrite(self, module: ModuleOp) -> None:
        effects = Effects(module)
        for op in [op for op in module.walk() if isinstance(op, scf.IfOp)]:
            if op.parent is not None and not op.results:
                while (other := partner(op, effects)) is not None:
                    op = merge(op, other)


def partner(first: scf.IfOp, effects: Effects) -> scf.IfOp | None:
    """The next branch on the same condition, if only pure ops stand between."""
    op = first.next_op
    while op is not None and not isinstance(op, scf.IfOp):
        if not effects.is_pure(op):
            return None
        op = op.next_op
    if op is None or op.cond is not first.cond or op.results:
        return None
    return op


def merge(first: scf.IfOp, second: scf.IfOp) -> scf.IfOp:
    """Moves what stands between them to the front, and the contents of `second` into `first`."""
    block = first.parent
    assert block is not None
    while (between := first.next_op) is not second:
        assert between is not None
        between.detach()
        block.insert_op_before(between, first)
    regions = [joined(a, b) for a, b in zip(first.regions, second.regions, strict=True)]
    merged = scf.IfOp(first.cond, [], *regions)
    merged.location = first.location
    block.insert_op_before(merged, first)
    for old in (first, second):
        old.detach()
        old.erase()
    return merged


def joined(a: Region, b: Region) -> Region:
    """The ops of both, in order, in a region of their own."""
    if not a.blocks and not b.blocks:
        return Region()
    block = Block()
    last: Operation | None = None
    for region in (a, b):
        for op in tuple(region.block.ops) if region.blocks else ():
            op.detach()
            if isinstance(op, scf.YieldOp):
                last = op
            else:
                block.add_op(op)
    block.add_op(last or scf.YieldOp())
    return Region(block)
