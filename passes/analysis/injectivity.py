"""
Which elements of an array belong to one thread of a kernel.

```mlir
%start = arith.muli %block_id, %block_dim
%i = arith.addi %start, %thread_id      // a different number for every thread along x
memref.store %v, %y[%i]                 // if all accesses to %y have %i there, %y is *owned*
```

An index determines the axis x if it is `c * (block_id x * block_dim x + thread_id x) + r`, with
a constant `c` other than 0 and an `r` that is the same for all threads. Indices that determine
all axes of the launch differ from thread to thread. Axes of size 1 need not be determined; the
pass `propagate-launch-sizes` says which those are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from mlirad.dialects.autodiff import AccumulateOp, PopOp, PushOp, TakeOp
from mlirad.passes.analysis.flow import body
from mlirad.passes.analysis.memory import analyze as analyze_memory
from mlirad.passes.analysis.memory import is_memory, is_view

LAUNCH_SIZES = "mlirad.launch_sizes"
"""On a kernel: the grid and block sizes that all launches agree on, -1 where they do not."""

AXES = ("x", "y", "z")
Access = memref.LoadOp | memref.StoreOp | memref.AtomicRMWOp | AccumulateOp | TakeOp
BLOCK, THREAD, START = "block", "thread", "start"
"""Terms: the id of the block, of the thread in it, and `block_id * block_dim`."""
SAME = "same"
"""A term that is the same for all threads of the launch."""
Term = tuple[str, str] | Hashable


@dataclass(frozen=True)
class Form:
    """A sum of terms with factors, and a constant."""

    constant: int = 0
    terms: frozenset[tuple[Term, int]] = frozenset()

    def plus(self, other: Form, factor: int = 1) -> Form:
        total = dict(self.terms)
        for term, times in other.terms:
            total[term] = total.get(term, 0) + factor * times
        kept = frozenset((term, times) for term, times in total.items() if times)
        return Form(self.constant + factor * other.constant, kept)


@dataclass
class Indices:
    """Reads the indices of one kernel."""

    kernel: gpu.FuncOp
    known: dict[SSAValue, Form] = field(default_factory=dict[SSAValue, Form])
    uniform: dict[SSAValue, Hashable | None] = field(
        default_factory=dict[SSAValue, "Hashable | None"]
    )

    def form(self, value: SSAValue) -> Form:
        if value not in self.known:
            self.known[value] = self.read(value)
        return self.known[value]

    def read(self, value: SSAValue) -> Form:
        match value.owner:
            case arith.ConstantOp(value=IntegerAttr() as number):
                return Form(number.value.data)
            case arith.AddiOp(lhs=a, rhs=b):
                return self.form(a).plus(self.form(b))
            case arith.SubiOp(lhs=a, rhs=b):
                return self.form(a).plus(self.form(b), -1)
            case arith.IndexCastOp(input=inner):
                return self.form(inner)
            case arith.MuliOp(lhs=a, rhs=b):
                return self.product(value, a, b)
            case gpu.ThreadIdOp() as op:
                return Form(0, frozenset({((THREAD, str(op.dimension.data)), 1)}))
            case gpu.BlockIdOp() as op:
                return Form(0, frozenset({((BLOCK, str(op.dimension.data)), 1)}))
            case _:
                return Form(0, frozenset({(self.leaf(value), 1)}))

    def product(self, value: SSAValue, a: SSAValue, b: SSAValue) -> Form:
        for x, y in ((a, b), (b, a)):
            form = self.form(x)
            if not form.terms:
                return Form().plus(self.form(y), form.constant)
            if isinstance(x.owner, gpu.BlockIdOp) and isinstance(y.owner, gpu.BlockDimOp):
                if x.owner.dimension == y.owner.dimension:
                    return Form(0, frozenset({((START, str(x.owner.dimension.data)), 1)}))
        return Form(0, frozenset({(self.leaf(value), 1)}))

    def leaf(self, value: SSAValue) -> Term:
        """Something equal for equal values; the value itself if it may differ between threads."""
        key = self.key(value)
        return value if key is None else (SAME, key)

    def key(self, value: SSAValue) -> Hashable | None:
        """What tells a value apart that is the same for all threads of the launch."""
        if value not in self.uniform:
            self.uniform[value] = self.make_key(value)
        return self.uniform[value]

    def make_key(self, value: SSAValue) -> Hashable | None:
        op = value.owner
        if isinstance(op, Block):
            return value if op is body(self.kernel) else None
        if isinstance(op, gpu.BlockDimOp | gpu.GridDimOp):
            return (op.name, op.dimension.data)
        pure = isinstance(op, memref.DimOp) or op.dialect_name() == "arith"
        if not pure or op.regions:
            return None
        keys = [o if is_memory(o) else self.key(o) for o in op.operands]
        if None in keys:
            return None
        return (op.name, tuple(sorted(op.properties.items())), tuple(keys))


@dataclass(frozen=True)
class Sizes:
    """The sizes of the launch along one axis, -1 where they are not known."""

    grid: int
    block: int


def determined(form: Form, sizes: dict[str, Sizes]) -> str | None:
    """The axis that an index of this form determines."""
    ids: dict[tuple[str, str], int] = {}
    for term, times in form.terms:
        if not isinstance(term, tuple):
            return None
        kind, what = term
        if kind in (BLOCK, THREAD, START):
            ids[kind, what] = times
        elif kind != SAME:
            return None
    axes = {axis for _, axis in ids}
    if len(axes) != 1:
        return None
    (axis,) = axes
    size = sizes[axis]
    thread, start = ids.get((THREAD, axis), 0), ids.get((START, axis), 0)
    if size.block > 0:
        whole, rest = divmod(ids.get((BLOCK, axis), 0), size.block)
        start += whole
    else:
        rest = ids.get((BLOCK, axis), 0)
    step = thread or start
    in_block = size.block == 1 or thread == step
    in_grid = size.grid == 1 or start == step
    return axis if step and not rest and in_block and in_grid else None


def owned(kernel: gpu.FuncOp) -> set[SSAValue]:
    """The arguments of `kernel` whose accessed elements belong to one thread each."""
    if any(uses_beside(kernel)):
        return set()
    indices, memory = Indices(kernel), analyze_memory(kernel)
    sizes, live = axis_sizes(kernel)
    accesses: dict[SSAValue, list[Access]] = {}
    for op in kernel.walk():
        if isinstance(op, Access):
            accesses.setdefault(place(op), []).append(op)
    arguments = set(body(kernel).args)
    found: set[SSAValue] = set()
    for array, ops in accesses.items():
        others = [other for other in accesses if other is not array]
        if array not in arguments or any(memory.may_alias(array, other) for other in others):
            continue
        forms = [[indices.form(index) for index in op.indices] for op in ops]
        axes = {
            determined(form, sizes)
            for position, form in enumerate(forms[0])
            if all(other[position] == form for other in forms)
        }
        if live <= axes:
            found.add(array)
    return found


def is_swept(argument: SSAValue, kernel: gpu.FuncOp) -> bool:
    """Whether each thread loads another element of `argument`: about all of it is read."""
    indices = Indices(kernel)
    sizes, live = axis_sizes(kernel)
    return any(
        live <= {determined(indices.form(index), sizes) for index in op.indices}
        for op in kernel.walk()
        if isinstance(op, memref.LoadOp) and op.memref is argument
    )


def axis_sizes(kernel: gpu.FuncOp) -> tuple[dict[str, Sizes], set[str]]:
    """The sizes of the launch along each axis, and the axes that have several threads."""
    found = launch_sizes(kernel)
    pairs = zip(AXES, found[:3], found[3:], strict=True)
    sizes = {axis: Sizes(grid, block) for axis, grid, block in pairs}
    return sizes, {axis for axis, size in sizes.items() if size != Sizes(1, 1)}


def launch_sizes(kernel: gpu.FuncOp) -> list[int]:
    given = kernel.attributes.get(LAUNCH_SIZES)
    if not isinstance(given, DenseArrayBase):
        return [-1] * 6
    return [int(size) for size in given.iter_values()]


def place(op: Access) -> SSAValue:
    """The memory that `op` reads or writes."""
    return op.shadow if isinstance(op, AccumulateOp | TakeOp) else op.memref


def uses_beside(kernel: gpu.FuncOp) -> Iterator[Operation]:
    """Ops that touch memory in ways that `owned` does not follow."""
    for op in kernel.walk():
        if not isinstance(op, Access | memref.DimOp | PushOp | PopOp) and not is_view(op):
            if any(is_memory(operand) for operand in op.operands):
                yield op
