"""
Whether memory still holds in the reverse sweep what it held at some op of the primal.

The reverse sweep runs when the function has ended and writes no primal memory. So a load can be
repeated if nothing that may alias is written after it: not further down, and not in a loop around
it, whose later iterations come after it too.

```mlir
memref.store %s, %x[%i]              // before the load, and in no loop with it
%v = memref.load %x[%j]              // holds until the end
scf.for … {
  %w = memref.load %y[%j]            // does not: a later iteration may have written it
  memref.store %w, %y[%k]
}
```

In a kernel other threads may write at any time, so there a single write is enough.
"""

from dataclasses import dataclass, field

from xdsl.dialects import gpu, scf
from xdsl.ir import Operation, SSAValue

from mlirad.passes.analysis.flow import Function
from mlirad.passes.analysis.memory import UNKNOWN, MemoryResult, Root


@dataclass
class Stability:
    function: Function
    memory: MemoryResult
    kept: frozenset[Root]
    """Roots that nothing outside of the function writes before the reverse sweep has ended."""
    order: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def holds(self, memory: SSAValue, op: Operation) -> bool:
        """Whether `memory` holds in the reverse sweep what it holds at each run of `op`."""
        roots = self.memory.of(memory)
        if not roots <= self.kept:
            return False
        writers = [
            writer
            for root in (*roots, UNKNOWN)
            if (writer := self.memory.last_writer.get(root)) is not None
        ]
        if not writers:
            return True
        if isinstance(self.function, gpu.FuncOp):
            return False
        start = self.position(outermost_loop(op) or op)
        return all(self.position(writer) < start for writer in writers)

    def position(self, op: Operation) -> int:
        """The place of `op` in the order of the text; an op comes before those inside it."""
        if not self.order:
            self.order = {op: number for number, op in enumerate(self.function.walk())}
        return self.order[op]


def outermost_loop(op: Operation) -> Operation | None:
    found, parent = None, op.parent_op()
    while parent is not None and not isinstance(parent, Function):
        if isinstance(parent, scf.ForOp | scf.WhileOp):
            found = parent
        parent = parent.parent_op()
    return found
