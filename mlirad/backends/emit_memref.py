"""
The ops of `memref`: addresses, views, memory.

Arrays in C order are indexed by element, so that LLVM sees what it needs to vectorise; others
by byte, because their strides need not be multiples of the element size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue

from mlirad.backends import support
from mlirad.backends.descriptors import Descriptor, Layout
from mlirad.backends.emit_arith import literal, short
from mlirad.backends.writer import FunctionWriter, Handler, unsupported

LARGEST_ALLOCA = 64 * 1024
"""Bytes; larger local arrays live on the heap for as long as their block."""

ADDF, ADDI = 0, 1
# By the number that upstream gives the kind: the instruction, and the one of `atomicrmw`.
RMW: dict[int, tuple[str, str]] = {
    ADDF: ("fadd", "fadd"),
    ADDI: ("add", "add"),
    2: ("", "xchg"),
    3: ("llvm.maximum", "fmaximum"),
    4: ("llvm.smax", "max"),
    5: ("llvm.umax", "umax"),
    6: ("llvm.minimum", "fminimum"),
    7: ("llvm.smin", "min"),
    8: ("llvm.umin", "umin"),
    9: ("fmul", ""),
    10: ("mul", ""),
    11: ("or", "or"),
    12: ("and", "and"),
    13: ("llvm.maxnum", "fmax"),
    14: ("llvm.minnum", "fmin"),
    15: ("xor", "xor"),
}


def multiply(w: FunctionWriter, a: str, b: str, flags: str = " nsw") -> str:
    """a * b, folded where that is free."""
    x, y = literal(a), literal(b)
    if x is not None and y is not None:
        return str(x * y)
    if x == 1:
        return b
    if y == 1:
        return a
    if x == 0 or y == 0:
        return "0"
    return w.let(f"mul{flags} i64 {a}, {b}")


def add(w: FunctionWriter, a: str, b: str, flags: str = " nsw") -> str:
    if a == "0":
        return b
    if b == "0":
        return a
    return w.let(f"add{flags} i64 {a}, {b}")


def byte_strides(w: FunctionWriter, array: Descriptor) -> tuple[str, ...]:
    """The strides of any array, computed for one in C order."""
    if array.strides is not None:
        return array.strides
    strides: list[str] = []
    stride = str(array.layout.width)
    for size in reversed(array.sizes):
        strides.append(stride)
        stride = multiply(w, stride, size)
    return tuple(reversed(strides))


def offset_bytes(w: FunctionWriter, array: Descriptor, offset: str) -> str:
    """The pointer of `array` moved by `offset` bytes."""
    if offset == "0":
        return array.pointer
    return w.let(f"getelementptr inbounds i8, {array.layout.pointer} {array.pointer}, i64 {offset}")


def address(w: FunctionWriter, array: Descriptor, indices: Sequence[str]) -> str:
    """A pointer to the element at `indices`."""
    if not indices:
        return array.pointer
    pointer = array.pointer
    if array.strides is not None:
        # One step per axis, so that the steps of outer loops leave the inner ones.
        for index, stride in zip(indices, array.strides, strict=True):
            offset = multiply(w, index, stride)
            if offset != "0":
                pointer = w.let(
                    f"getelementptr inbounds i8, {array.layout.pointer} {pointer}, i64 {offset}"
                )
        return pointer
    position = indices[0]
    for index, size in zip(indices[1:], array.sizes[1:], strict=True):
        position = add(w, multiply(w, position, size, " nuw nsw"), index, " nuw nsw")
    return w.let(
        f"getelementptr inbounds {array.layout.storage}, "
        f"{array.layout.pointer} {pointer}, i64 {position}"
    )


def operands(w: FunctionWriter, values: Sequence[SSAValue]) -> list[str]:
    """The operands of scalars."""
    found: list[str] = []
    for value in values:
        operand = w.values[value]
        assert isinstance(operand, str)
        found.append(operand)
    return found


def read(w: FunctionWriter, array: Descriptor, pointer: str) -> str:
    layout = array.layout
    value = w.let(f"load {layout.storage}, {layout.pointer} {pointer}, align {array.align}")
    return w.let(f"icmp ne i8 {value}, 0") if layout.element == "i1" else value


def write(w: FunctionWriter, array: Descriptor, pointer: str, value: str) -> None:
    layout = array.layout
    if layout.element == "i1":
        value = w.let(f"zext i1 {value} to i8")
    w.do(f"store {layout.storage} {value}, {layout.pointer} {pointer}, align {array.align}")


def load(w: FunctionWriter, op: Operation) -> None:
    array, *indices = op.operands
    source = w.memref(array)
    pointer = address(w, source, operands(w, indices))
    layout = source.layout
    text = f"load {layout.storage}, {layout.pointer} {pointer}, align {source.align}"
    if layout.element == "i1":
        text = f"icmp ne i8 {w.let(text)}, 0"
    w.define(op.results[0], text)


def store(w: FunctionWriter, op: Operation) -> None:
    value, array, *indices = op.operands
    target = w.memref(array)
    pointer = address(w, target, operands(w, indices))
    write(w, target, pointer, operands(w, [value])[0])


def read_modify_write(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, memref.AtomicRMWOp)
    value, array, *indices = op.operands
    target, new = w.memref(array), operands(w, [value])[0]
    pointer = address(w, target, operands(w, indices))
    kind, layout = RMW.get(op.kind.value.data), target.layout
    if kind is None:
        raise unsupported(op, f"atomic operation number {op.kind.value.data} is not known")
    plain, atomic = kind
    type = layout.element
    if w.module.target.atomics:
        if not atomic or type == "i1":
            raise unsupported(op, f"this operation on {op.results[0].type} cannot be atomic")
        text = f"atomicrmw {atomic} {layout.pointer} {pointer}, {type} {new} monotonic"
        w.define(op.results[0], text)
        return
    old = read(w, target, pointer)
    w.values[op.results[0]] = old
    if plain.startswith("llvm."):
        symbol = f"{plain}.{short(type)}"
        w.module.pure_function(symbol, type, [type, type])
        new = w.let(f"call {type} @{symbol}({type} {old}, {type} {new})")
    elif plain:
        new = w.let(f"{plain} {type} {old}, {new}")
    write(w, target, pointer, new)


def release(w: FunctionWriter, pointer: str) -> str:
    """The line that gives memory back to the runtime."""
    w.module.declare("mlirad_free", support.FREE)
    return f"call void @mlirad_free(ptr %table, ptr {pointer})"


def heap(w: FunctionWriter, op: Operation, layout: Layout, sizes: tuple[str, ...]) -> str:
    """Zeroed memory from the runtime; leaves the function if there is none."""
    if layout.strides is not None or layout.pointer != "ptr":
        raise unsupported(op, f"an allocation of type {op.results[0].type} is not supported")
    w.module.declare("mlirad_alloc", support.ALLOC)
    total = str(layout.width)
    for size in sizes:
        x, y = literal(total), literal(size)
        if x is not None and y is not None:
            total = str(x * y)
        else:
            w.module.declare("mlirad_bytes", support.BYTES)
            total = w.let(f"call i64 @mlirad_bytes(i64 {total}, i64 {size})")
    pointer = w.let(f"call ptr @mlirad_alloc(ptr %table, ptr %status, i64 {total})")
    w.leave_if(w.let(f"icmp eq ptr {pointer}, null"))
    return pointer


def new_array(w: FunctionWriter, op: Operation) -> tuple[Layout, tuple[str, ...]]:
    """Layout and sizes of the result of an allocation."""
    layout = w.module.layout(op.results[0].type, op)
    dynamic = iter(operands(w, op.operands))
    return layout, tuple(str(n) if n is not None else next(dynamic) for n in layout.sizes)


def alloc(w: FunctionWriter, op: Operation) -> None:
    layout, sizes = new_array(w, op)
    pointer = heap(w, op, layout, sizes)
    w.hold(pointer, release(w, pointer))
    w.values[op.results[0]] = Descriptor(pointer, sizes, None, layout, layout.width)


def alloca(w: FunctionWriter, op: Operation) -> None:
    layout, sizes = new_array(w, op)
    total = layout.width
    for size in layout.sizes:
        total *= LARGEST_ALLOCA + 1 if size is None else size
    if total > LARGEST_ALLOCA:
        pointer = heap(w, op, layout, sizes)
        w.scoped.append(release(w, pointer))
    else:
        if layout.strides is not None:
            raise unsupported(op, f"a local array of type {op.results[0].type} is not supported")
        space = layout.pointer.removeprefix("ptr")
        pointer = w.fresh(op.results[0].name_hint)
        place = f", {space.strip()}" if space else ""
        w.allocas.append(f"{pointer} = alloca [{total} x i8]{place}, align 64")
    w.values[op.results[0]] = Descriptor(pointer, sizes, None, layout, layout.width)


def dealloc(w: FunctionWriter, op: Operation) -> None:
    pointer = w.memref(op.operands[0]).pointer
    w.do(release(w, pointer))
    w.let_go(pointer)


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
    sizes = [
        size if n is None else str(n) for size, n in zip(sizes, layout.sizes, strict=True)
    ]
    steps = None
    if layout.strides is not None:
        steps = tuple(
            stride if n is None else str(n)
            for stride, n in zip(strides, layout.strides, strict=True)
        )
    w.values[op.results[0]] = Descriptor(pointer, tuple(sizes), steps, layout, align)


def cast(w: FunctionWriter, op: Operation) -> None:
    if not isinstance(op.operands[0].type, MemRefType) or not isinstance(
        op.results[0].type, MemRefType
    ):
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
    kept = kept_axes(sizes, w.module.layout(op.result.type, op).sizes)
    if kept is None:
        raise unsupported(op, f"{op.name}: {op.result.type} is not a part of its source")
    pointer = offset_bytes(w, source, offset)
    view(w, op, pointer, source.align, [sizes[k] for k in kept], [strides[k] for k in kept])


def kept_axes(sizes: Sequence[str], wanted: Sequence[int | None]) -> list[int] | None:
    """The axes of a view that its type keeps: all but some of size one."""
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        at = len(kept)
        spare = len(sizes) - axis > len(wanted) - at
        fits = at < len(wanted) and (wanted[at] is None) == (literal(size) is None)
        if fits and literal(size) is not None:
            fits = literal(size) == wanted[at]
        if fits:
            kept.append(axis)
        elif not (spare and size == "1"):
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


def loops(w: FunctionWriter, sizes: Sequence[str], body: Callable[[list[str]], None]) -> None:
    """Loops over all indices of an array, writing `body` in the innermost."""
    indices: list[str] = []

    def level(axis: int) -> None:
        if axis == len(sizes):
            body(indices)
            return
        head, inside, done = (w.new_label(hint) for hint in ("each", "body", "done"))
        index, following = w.fresh(), w.fresh()
        before = w.label
        w.do(f"br label %{head}")
        w.start(head)
        at = len(w.lines)
        w.do("")
        more = w.let(f"icmp slt i64 {index}, {sizes[axis]}")
        w.do(f"br i1 {more}, label %{inside}, label %{done}")
        w.start(inside)
        indices.append(index)
        level(axis + 1)
        indices.pop()
        w.do(f"{following} = add nuw nsw i64 {index}, 1")
        w.lines[at] = f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{w.label} ]"
        w.do(f"br label %{head}")
        w.start(done)

    level(0)


def copy(w: FunctionWriter, op: Operation) -> None:
    source, target = w.memref(op.operands[0]), w.memref(op.operands[1])
    if source.strides is None and target.strides is None:
        total = str(source.layout.width)
        for size in source.sizes:
            total = multiply(w, total, size)
        name = "llvm.memmove.p0.p0.i64"
        w.module.declare(name, f"declare void @{name}(ptr, ptr, i64, i1)")
        arguments = f"ptr {target.pointer}, ptr {source.pointer}, i64 {total}, i1 false"
        w.do(f"call void @{name}({arguments})")
        return

    def one(indices: list[str]) -> None:
        value = read(w, source, address(w, source, indices))
        write(w, target, address(w, target, indices), value)

    loops(w, source.sizes, one)


def forward(w: FunctionWriter, op: Operation) -> None:
    """An assumption that does not change the array."""
    w.values[op.results[0]] = w.values[op.operands[0]]


HANDLERS: dict[type[Operation], Handler] = {
    memref.LoadOp: load,
    memref.StoreOp: store,
    memref.AtomicRMWOp: read_modify_write,
    memref.AllocOp: alloc,
    memref.AllocaOp: alloca,
    memref.DeallocOp: dealloc,
    memref.DimOp: dim,
    memref.RankOp: rank,
    memref.CastOp: cast,
    memref.SubviewOp: subview,
    memref.ReinterpretCastOp: reinterpret,
    memref.CopyOp: copy,
    memref.AssumeAlignmentOp: forward,
}
