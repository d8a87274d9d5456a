"""The ops of `memref` that look at an array in another way, or ask for its shape."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from mlirad.backends.addresses import add, byte_strides, multiply, offset_bytes, operands
from mlirad.backends.descriptors import Descriptor, is_memref
from mlirad.backends.emit_arith import literal
from mlirad.backends.writer import FunctionWriter, Handler, unsupported


def dim(w: FunctionWriter, op: Operation) -> None:
    sizes = w.memref(op.operands[0]).sizes
    index = operands(w, op.operands[1:])[0]
    known = literal(index)
    if known is not None:
        w.values[op.results[0]] = sizes[known] if 0 <= known < len(sizes) else "0"
        return
    found = "0"
    for axis, size in enumerate(sizes):
        here = w.let(f"icmp eq i64 {index}, {axis}")
        found = w.let(f"select i1 {here}, i64 {size}, i64 {found}")
    w.values[op.results[0]] = found


def rank(w: FunctionWriter, op: Operation) -> None:
    w.values[op.results[0]] = str(len(w.memref(op.operands[0]).sizes))


def view(
    w: FunctionWriter,
    op: Operation,
    pointer: str,
    align: int,
    sizes: Sequence[str],
    strides: Sequence[str],
) -> None:
    """The result of `op` is this view, as its type says."""
    layout = w.module.layout(op.results[0].type, op)
    if len(sizes) != len(layout.sizes):
        raise unsupported(op, f"{op.name}: the rank of {op.results[0].type} does not fit")
    sizes = [size if n is None else str(n) for size, n in zip(sizes, layout.sizes, strict=True)]
    steps = None
    if layout.strides is not None:
        steps = tuple(
            stride if n is None else str(n)
            for stride, n in zip(strides, layout.strides, strict=True)
        )
    w.values[op.results[0]] = Descriptor(pointer, tuple(sizes), steps, layout, align)


def cast(w: FunctionWriter, op: Operation) -> None:
    if not (is_memref(op.operands[0].type) and is_memref(op.results[0].type)):
        raise unsupported(op, "arrays of unknown rank are not supported")
    source = w.memref(op.operands[0])
    view(w, op, source.pointer, source.align, source.sizes, byte_strides(w, source))


def mixed(static: Sequence[int], dynamic: Sequence[str]) -> list[str]:
    """Operands of which those marked dynamic come from a second list."""
    rest = iter(dynamic)
    return [next(rest) if n == DYNAMIC_INDEX else str(n) for n in static]


def subview(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, memref.SubviewOp)
    source = w.memref(op.source)
    offsets = mixed(op.static_offsets.get_values(), operands(w, op.offsets))
    sizes = mixed(op.static_sizes.get_values(), operands(w, op.sizes))
    steps = mixed(op.static_strides.get_values(), operands(w, op.strides))
    outer = byte_strides(w, source)
    offset = "0"
    for start, stride in zip(offsets, outer, strict=True):
        offset = add(w, offset, multiply(w, start, stride))
    strides = [multiply(w, step, stride) for step, stride in zip(steps, outer, strict=True)]
    wanted = w.module.layout(op.result.type, op).sizes
    static = [None if n == DYNAMIC_INDEX else n for n in op.static_sizes.get_values()]
    kept = kept_axes(static, wanted)
    if kept is None:
        raise unsupported(op, f"{op.name}: {op.result.type} is not a part of its source")
    pointer = offset_bytes(w, source, offset)
    view(w, op, pointer, source.align, [sizes[k] for k in kept], [strides[k] for k in kept])


def kept_axes(sizes: Sequence[int | None], wanted: Sequence[int | None]) -> list[int] | None:
    """The axes of a view that its type keeps: all but some of size one."""
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        at = len(kept)
        spare = len(sizes) - axis > len(wanted) - at
        if at < len(wanted) and wanted[at] == size:
            kept.append(axis)
        elif not (spare and size == 1):
            return None
    return kept if len(kept) == len(wanted) else None


def reinterpret(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, memref.ReinterpretCastOp)
    source = w.memref(op.source)
    if source.strides is not None:
        raise unsupported(op, "reinterpret_cast of an array that is not in C order")
    width = str(source.layout.width)
    offset, *_ = mixed(op.static_offsets.get_values(), operands(w, op.offsets))
    sizes = mixed(op.static_sizes.get_values(), operands(w, op.sizes))
    steps = mixed(op.static_strides.get_values(), operands(w, op.strides))
    strides = [multiply(w, step, width) for step in steps]
    pointer = offset_bytes(w, source, multiply(w, offset, width))
    view(w, op, pointer, source.align, sizes, strides)


def forward(w: FunctionWriter, op: Operation) -> None:
    """An assumption that does not change the array."""
    w.values[op.results[0]] = w.values[op.operands[0]]


def space_cast(w: FunctionWriter, op: Operation) -> None:
    """The same memory, addressed in another space."""
    source = w.memref(op.operands[0])
    old, new = source.layout.pointer, w.module.layout(op.results[0].type, op).pointer
    pointer = source.pointer
    if old != new:
        pointer = w.let(f"addrspacecast {old} {pointer} to {new}")
    view(w, op, pointer, source.align, source.sizes, byte_strides(w, source))


def view_bytes(w: FunctionWriter, op: Operation) -> None:
    """`memref.view`: part of an array of bytes as an array of something else."""
    source, layout = w.memref(op.operands[0]), w.module.layout(op.results[0].type, op)
    shift, *dynamic = operands(w, op.operands[1:])
    rest = iter(dynamic)
    sizes = tuple(next(rest) if n is None else str(n) for n in layout.sizes)
    pointer = offset_bytes(w, source, shift)
    w.values[op.results[0]] = Descriptor(pointer, sizes, None, layout, layout.width)


HANDLERS: dict[type[Operation], Handler] = {
    memref.DimOp: dim,
    memref.RankOp: rank,
    memref.CastOp: cast,
    memref.MemorySpaceCastOp: space_cast,
    memref.SubviewOp: subview,
    memref.ReinterpretCastOp: reinterpret,
    memref.ViewOp: view_bytes,
    memref.AssumeAlignmentOp: forward,
}
