"""The ops of `memref` that read, write, allocate and free."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import memref
from xdsl.ir import Operation

from mlirad.backends import support
from mlirad.backends.addresses import address, multiply, operands
from mlirad.backends.descriptors import Descriptor, Layout
from mlirad.backends.emit_arith import float_literal, literal, short
from mlirad.backends.writer import FunctionWriter, Handler, unsupported
from mlirad.dialects.autodiff import CompareExchangeOp, ConstantArrayOp, FenceOp

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
    if w.atomics and target.align >= layout.width:
        if not atomic or type == "i1":
            raise unsupported(op, f"this operation on {op.results[0].type} cannot be atomic")
        text = f"atomicrmw {atomic} {layout.pointer} {pointer}, {type} {new} monotonic"
        w.define(op.results[0], text)
        return
    old = read(w, target, pointer)
    w.values[op.results[0]] = old
    if plain.startswith("llvm."):
        symbol = f"{plain}.{short(type)}"
        w.module.pure_function(symbol, type, [type, type], op)
        new = w.let(f"call {type} @{symbol}({type} {old}, {type} {new})")
    elif plain:
        new = w.let(f"{plain} {type} {old}, {new}")
    write(w, target, pointer, new)


def compare_exchange(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, CompareExchangeOp)
    expected, desired = operands(w, [op.expected, op.desired])
    target = w.memref(op.memref)
    pointer = address(w, target, operands(w, op.indices))
    layout, type = target.layout, target.layout.element
    if type == "i1":
        raise unsupported(op, "a bool cannot be compared and exchanged")
    if w.atomics and target.align >= layout.width:
        text = f"{layout.pointer} {pointer}, {type} {expected}, {type} {desired}"
        pair = w.let(f"cmpxchg {text} acq_rel acquire")
        w.define(op.old, f"extractvalue {{ {type}, i1 }} {pair}, 0")
        return
    old = w.values[op.old] = read(w, target, pointer)
    equal = w.let(f"icmp eq {type} {old}, {expected}")
    new = w.let(f"select i1 {equal}, {type} {desired}, {type} {old}")
    write(w, target, pointer, new)


def fence(w: FunctionWriter, op: Operation) -> None:
    """One worker runs blocks one after the other: each sees what those before it wrote."""
    if w.atomics:
        w.do("fence seq_cst")


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
        place = f",{space}" if space else ""
        w.allocas.append(f"{pointer} = alloca [{total} x i8], align 64{place}")
    w.values[op.results[0]] = Descriptor(pointer, sizes, None, layout, layout.width)


def constant_array(w: FunctionWriter, op: Operation) -> None:
    """A constant of the module, shared by all that hold the same."""
    assert isinstance(op, ConstantArrayOp)
    layout, sizes = new_array(w, op)
    type = layout.storage
    values = op.contents.get_values()
    texts = [float_literal(v, type) if isinstance(v, float) else str(v) for v in values]
    held = ", ".join(f"{type} {text}" for text in texts)
    body = f"constant [{len(texts)} x {type}] [{held}], align 64"
    name = w.module.constants.setdefault(body, f"@mlirad.constant.{len(w.module.constants)}")
    w.module.declare(name, f"{name} = private unnamed_addr {body}")
    w.values[op.array] = Descriptor(name, sizes, None, layout, layout.width)


def dealloc(w: FunctionWriter, op: Operation) -> None:
    pointer = w.memref(op.operands[0]).pointer
    w.do(release(w, pointer))
    w.let_go(pointer)


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
    plain = source.layout.pointer == target.layout.pointer == "ptr"
    if plain and source.strides is None and target.strides is None:
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


HANDLERS: dict[type[Operation], Handler] = {
    memref.LoadOp: load,
    memref.StoreOp: store,
    memref.AtomicRMWOp: read_modify_write,
    ConstantArrayOp: constant_array,
    CompareExchangeOp: compare_exchange,
    FenceOp: fence,
    memref.AllocOp: alloc,
    memref.AllocaOp: alloca,
    memref.DeallocOp: dealloc,
    memref.CopyOp: copy,
}
