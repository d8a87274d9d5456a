"""`explain`: what a derivative keeps, recomputes and adds up atomically, by source line."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from mlirad import pipeline
from mlirad.callables import Compiled, ConfiguredKernel
from mlirad.dialects.autodiff import AccumulateOp, FwdDiffOp, RevDiffOp
from mlirad.errors import ArgumentTypeError
from mlirad.explanation import Accumulation, Entry, Explanation, Kind, added
from mlirad.extents import Known, number, text
from mlirad.frontend.types import Type
from mlirad.passes.analysis.flow import body, carries_derivative, location, name_of
from mlirad.passes.analysis.frequency import byte_size
from mlirad.passes.analysis.memory import is_memory, is_view, viewed
from mlirad.passes.analysis.recompute import IDS, Residual
from mlirad.passes.derivatives.plan import Plan
from mlirad.passes.derivatives.snapshots import Snapshot
from mlirad.passes.derivatives.watch import KEPT, label, watching
from mlirad.passes.lower_caches import STACKS
from mlirad.passes.lower_shadows import access
from mlirad.runtime.arguments import is_array, leaves

WORDS: dict[Residual, Kind] = {
    Residual.CACHE: "kept",
    Residual.RECOMPUTE: "recomputed",
    Residual.LIVE: "live",
}
THREADS = ("gx", "gy", "gz", "bx", "by", "bz")


def explain(df: object, args: Sequence[Any] | None = None) -> Explanation:
    """
    Lists what a derivative keeps for its reverse sweep and how many bytes that takes, what it
    computes again, and which additions are atomic.

    Args:
        df: what `reverse` or `forward` built; a kernel with or without its grid.
        args: example arguments of `df`, or types, as for `inspect_mlir`; by default the types of
            the last call. With example arguments the bytes are numbers; those of a kernel also
            need its grid: `explain(df[grid, block], args)`.

    Raises:
        ArgumentTypeError: `df` is no derivative.
    """
    sizes: tuple[int, ...] = ()
    if isinstance(df, ConfiguredKernel):
        df, sizes = df.kernel, tuple(df.sizes)
    if not isinstance(df, Compiled):
        raise ArgumentTypeError(
            f"explain takes what reverse or forward built, not {df!r}\n"
            "  write explain(reverse(f, …), args)"
        )
    request = df.request_for(args)
    lowered = df.program.lower(request.types, request.alias)
    if not any(isinstance(op, FwdDiffOp | RevDiffOp) for op in lowered.module.walk()):
        raise ArgumentTypeError(
            f"{df.name} is no derivative\n  write explain(reverse({df.name}, …), args)"
        )
    seen = Seen()
    with watching(seen.plan):
        pipeline.run(lowered.module, "lowered", callback=seen.passed)
    (entry,) = (
        op
        for op in lowered.module.body.block.ops
        if isinstance(op, func.FuncOp) and op.sym_name.data == lowered.symbol
    )
    memory = allocated(entry, known(entry, df.program.sizes, sizes, args))
    entries = [replace(entry, bytes=memory.get(key, 0)) for key, entry in seen.entries]
    entries.sort(key=lambda entry: (entry.file, entry.line))
    return Explanation(df.name, tuple(entries), tuple(seen.accumulations))


@dataclass
class Seen:
    """What comes to light while a derivative is built."""

    entries: list[tuple[str, Entry]] = field(default_factory=list[tuple[str, Entry]])
    """Each with the label of its cache, empty if it has none."""
    accumulations: list[Accumulation] = field(default_factory=list[Accumulation])

    def plan(self, plan: Plan, augmented: str) -> None:
        labels = {kept.of: label(augmented, k) for k, kept in enumerate(plan.kept)}
        function = name_of(plan.function)
        for value, decision in plan.residuals.decisions.items():
            if is_memory(value):
                continue
            file, line, source = line_of(op_of(value))
            entry = Entry(
                *(function, file, line, source, name_of_value(value), WORDS[decision.kind], 0),
                decision.reason,
                decision.kind is not Residual.CACHE and is_trivial(value),
            )
            self.entries.append((labels.get(value, ""), entry))
        for kept in plan.kept:
            if isinstance(kept.of, scf.WhileOp):
                self.entries.append((labels[kept.of], iterations(function, kept.of)))
            if isinstance(kept.of, Snapshot):
                self.entries.append((labels[kept.of], copied(function, kept.of)))

    def passed(self, name: str, module: ModuleOp) -> None:
        """Notes the additions to shadows as the last pass before their lowering left them."""
        found = [note(op) for op in module.walk() if isinstance(op, AccumulateOp)]
        self.accumulations = list(dict.fromkeys(found)) or self.accumulations


def iterations(function: str, loop: scf.WhileOp) -> Entry:
    where = line_of(loop)
    return Entry(function, *where, "", "kept", 0, "how often the loop ran")


def copied(function: str, of: Snapshot) -> Entry:
    where = line_of(of.launch)
    name = of.operand.name_hint or ""
    why = "copied: the launch reads it more than once, and later it changes"
    return Entry(function, *where, name, "kept", 0, why)


def note(op: AccumulateOp) -> Accumulation:
    shadow = op.shadow
    while is_view(view := shadow.owner) and isinstance(view, Operation):
        shadow, *_ = viewed(view)
    name = (shadow.name_hint or "").removeprefix("d")
    return Accumulation(*line_of(op), name, *access(op))


def op_of(value: SSAValue) -> Operation | None:
    return value.owner.parent_op() if isinstance(value.owner, Block) else value.owner


def line_of(op: Operation | None) -> tuple[str, int, str]:
    """File, line and what is written there."""
    where = location(op) if op is not None else None
    if where is None:
        return "<unknown>", 0, ""
    return where.filename, where.line, linecache.getline(where.filename, where.line).strip()


def name_of_value(value: SSAValue) -> str:
    if value.name_hint:
        return value.name_hint
    if isinstance(value.owner, memref.LoadOp) and value.owner.memref.name_hint:
        return f"{value.owner.memref.name_hint}[…]"
    return ""


def is_trivial(value: SSAValue) -> bool:
    op, is_integer = value.owner, not carries_derivative(value.type)
    if isinstance(op, Block):
        return value.name_hint in THREADS
    if isinstance(op, memref.LoadOp):
        return False
    return is_integer or isinstance(op, (arith.ConstantOp, memref.DimOp, *IDS))


def known(
    entry: func.FuncOp, count: int, sizes: Sequence[int], args: Sequence[Any] | None
) -> Known:
    """The launch sizes and arguments of `entry` that are given: integers, and shapes of arrays."""
    arguments = body(entry).args
    found: dict[SSAValue, int | Sequence[int]] = {}
    if len(sizes) == count:
        found.update(zip(arguments, sizes, strict=False))
    if args is None or any(isinstance(value, Type) for value in args):
        return found
    for argument, value in zip(arguments[count:], leaves(args), strict=True):
        is_integer = isinstance(argument.type, IndexType | IntegerType)
        if is_array(value):
            found[argument] = tuple(map(int, value.shape))
        elif is_integer:
            found[argument] = int(value)
    return found


def allocated(entry: func.FuncOp, arguments: Known) -> dict[str, int | str]:
    """The bytes of each cache that is left, by its label."""
    found: dict[str, int | str] = {}
    for op in entry.walk():
        if isinstance(mark := op.attributes.get(KEPT), StringAttr):
            found[mark.data] = added(found.get(mark.data, 0), size_of(op, arguments))
    return found


def size_of(op: Operation, arguments: Known) -> int | str:
    if not isinstance(op, memref.AllocOp) or STACKS in op.attributes:
        return "grows with iterations"
    assert isinstance(op.memref.type, MemRefType)
    width = byte_size(op.memref.type.element_type)
    (count,) = op.dynamic_sizes
    exact = number(count, arguments)
    return width * exact if exact is not None else f"{width} * {shown(count)}"


def shown(count: SSAValue) -> str:
    """`count` as text, with `threads` for the sizes of a launch."""
    factors = list(factors_of(count))
    names = [factor for factor in factors if factor in THREADS]
    if sorted(names) == sorted(THREADS):
        factors = [factor for factor in factors if factor not in THREADS] + ["threads"]
    return " * ".join(factor for factor in factors if factor != "1") or "1"


def factors_of(value: SSAValue) -> Iterator[str]:
    if isinstance(value.owner, arith.MuliOp):
        yield from factors_of(value.owner.lhs)
        yield from factors_of(value.owner.rhs)
    else:
        yield text(value, 3)
