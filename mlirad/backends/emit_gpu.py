"""
Kernels on a device: `gpu.func` and what only device code has.

The table here comes after those of the dialects and replaces handlers that need the runtime of
the host: a kernel cannot ask for memory, and what it shares between threads is a global.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func, gpu, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from mlirad.backends import emit_func, emit_llvm, emit_memref
from mlirad.backends.descriptors import Descriptor, Layout, is_memref
from mlirad.backends.emit_func import ALIAS, STACK, UNALIGNED, numbers
from mlirad.backends.native import NativeType
from mlirad.backends.target import Target
from mlirad.backends.writer import FunctionWriter, Handler, ModuleWriter, quoted, unsupported
from mlirad.dialects.autodiff import FenceOp
from mlirad.passes.analysis.memory import ORDERED, SEQUENTIAL
from mlirad.passes.analysis.ordering import EXCHANGE, hands_on

SHARED = 3
FENCES = {"block": "cta", "device": "gl", "system": "sys"}
BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
REGISTERS: dict[type[Operation], str] = {
    gpu.ThreadIdOp: "tid",
    gpu.BlockIdOp: "ctaid",
    gpu.BlockDimOp: "ntid",
    gpu.GridDimOp: "nctaid",
}
# What CUDA 12 gives a thread and, without asking for more, a block.
LARGEST_LOCAL, LARGEST_SHARED = 512 * 1024, 48 * 1024
STACK_REFUSED = (
    "what the reverse sweep needs from here has no size that is known before the launch, and a "
    "kernel on the GPU cannot ask for more memory: a kernel that counts first is not there yet"
)
STACK_WAY_OUT = (
    "run it on the CPU, or write the loop around it as 'for … in range(…)' of sizes and scalar "
    "arguments, with the exit as an 'if' inside"
)


def kernels(module: ModuleOp) -> list[gpu.FuncOp]:
    """
    The kernels of `module` that its functions launch, or all if nothing is launched.

    Raises `UnsupportedError` if they are in several modules: a PTX text is one.
    """
    launched = {
        (op.kernel.root_reference.data, *(name.data for name in op.kernel.nested_references))
        for op in module.walk()
        if isinstance(op, gpu.LaunchFuncOp)
    }
    homes = [op for op in module.ops if isinstance(op, gpu.ModuleOp)]
    found = [
        function
        for home in homes
        for function in home.body.block.ops
        if isinstance(function, gpu.FuncOp)
        and (not launched or (home.sym_name.data, function.sym_name.data) in launched)
    ]
    if len({id(function.parent_op()) for function in found}) > 1:
        raise unsupported(found[-1], "kernels of several gpu.modules in one PTX text")
    return found


def emit(found: list[gpu.FuncOp], target: Target) -> tuple[str, ModuleWriter]:
    """The LLVM text of kernels of one `gpu.module`, and what it was written with."""
    home = found[0].parent_op()
    assert isinstance(home, gpu.ModuleOp)
    functions = {op.sym_name.data: op for op in home.body.block.ops if isinstance(op, func.FuncOp)}
    writer = ModuleWriter(target, emit_llvm.HANDLERS | HANDLERS, functions)
    # LLVM takes what no pointer leads to from an argument marked `noalias` as untouched by a
    # barrier, as if no other thread could write there.
    apart = not any(isinstance(op, gpu.BarrierOp) for op in home.walk())
    for kernel in found:
        write_kernel(writer, kernel, apart)
    return emit_llvm.assemble(writer), writer


def signature(kernel: gpu.FuncOp) -> tuple[NativeType, ...]:
    """The arguments of a kernel; their words are its parameters."""
    return tuple(map(emit_llvm.native_type, kernel.function_type.inputs.data))


def symbol(name: str) -> str:
    """A kernel's name in PTX, which knows ASCII letters, digits, `_` and `$` only."""
    return "".join(
        c if c.isascii() and (c.isalpha() or c == "_" or (k and c.isdigit())) else f"${ord(c):x}$"
        for k, c in enumerate(name)
    )


def write_kernel(module: ModuleWriter, kernel: gpu.FuncOp, apart: bool) -> None:
    """A kernel has one parameter per word, also where its type fixes the value."""
    if len(kernel.body.blocks) != 1:
        raise unsupported(kernel, "a kernel with more than one block is not supported")
    w = FunctionWriter(module, bool(numbers(kernel, UNALIGNED)), module.target.atomics)
    texts = list(parameters(w, kernel, apart))
    w.block(kernel.body.block)
    refuse_order(kernel)
    name = quoted(symbol(kernel.sym_name.data))
    head = f"define ptx_kernel void {name}({', '.join(texts)}) #1 {{"
    module.bodies.append("\n".join([head, "entry:", *w.allocas, *w.lines, "ret void", "}"]))


def refuse_order(kernel: gpu.FuncOp) -> None:
    """
    Threads of a GPU have no order; those of a derivative with fences or exchanges need one.

    What atomic extrema need is refused where it is stored.
    """
    if SEQUENTIAL not in kernel.attributes:
        return
    reasons = [op for op in kernel.walk() if hands_on(op)]
    for op in reasons:
        if not isinstance(op, memref.AtomicRMWOp) or op.kind.value.data == EXCHANGE:
            what = "the derivative of a kernel whose blocks wait for each other needs their order"
            raise unsupported(op, what, "run it on the CPU, or split the kernel at this place")
    if not reasons:
        what = "a derivative with deterministic=True runs on one worker, which a GPU has not"
        raise unsupported(kernel, what, "run it on the CPU, or leave 'deterministic' out")


def fence(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, FenceOp)
    name = f"llvm.nvvm.membar.{FENCES[op.scope.data]}"
    w.module.declare(name, f"declare void @{name}()")
    w.do(f"call void @{name}()")


def parameters(w: FunctionWriter, kernel: gpu.FuncOp, apart: bool) -> Iterator[str]:
    """Names the arguments; gives them as LLVM has them."""
    classes, unaligned = numbers(kernel, ALIAS), numbers(kernel, UNALIGNED)
    for position, argument in enumerate(kernel.body.block.args):
        words = emit_llvm.words_of(w.module, argument.type, kernel)
        names = [w.fresh(argument.name_hint) for _ in words]
        if not is_memref(argument.type):
            yield scalar_parameter(w, position, kernel, names[0])
            continue
        layout = w.module.layout(argument.type, kernel)
        parts = [name for name, (_, needed) in zip(names, words, strict=True) if needed]
        w.values[argument] = Descriptor.of_parts(layout, parts, position not in unaligned)
        alone = apart and position < len(classes) and classes.count(classes[position]) == 1
        yield f"{layout.pointer}{' noalias' if alone else ''} {names[0]}"
        yield from (f"i64 {name}" for name in names[1:])


def scalar_parameter(w: FunctionWriter, position: int, kernel: gpu.FuncOp, name: str) -> str:
    argument = kernel.body.block.args[position]
    type = w.scalar(argument, kernel)
    w.values[argument] = name
    if type == "i1":
        w.values[argument] = w.let(f"icmp ne i8 {name}, 0")
        type = "i8"
    return f"{type} {name}"


def register(w: FunctionWriter, op: Operation, name: str, axis: str) -> str:
    """A special register, as an index."""
    intrinsic = f"llvm.nvvm.read.ptx.sreg.{name}.{axis}"
    w.module.declare(intrinsic, f"declare i32 @{intrinsic}()")
    return w.let(f"zext i32 {w.let(f'call i32 @{intrinsic}()')} to i64")


def read_id(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, gpu.ThreadIdOp | gpu.BlockIdOp | gpu.BlockDimOp | gpu.GridDimOp)
    w.values[op.results[0]] = register(w, op, REGISTERS[type(op)], str(op.dimension.data))


def global_id(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, gpu.GlobalIdOp)
    axis = str(op.dimension.data)
    block, size, thread = (register(w, op, name, axis) for name in ("ctaid", "ntid", "tid"))
    start = w.let(f"mul nuw nsw i64 {block}, {size}")
    w.define(op.results[0], f"add nuw nsw i64 {start}, {thread}")


def barrier(w: FunctionWriter, op: Operation) -> None:
    w.module.declare(BARRIER, f"declare void @{BARRIER}(i32) #1")
    w.do(f"call void @{BARRIER}(i32 0)")


def call(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, func.CallOp)
    if op.callee.root_reference.data.startswith(STACK):
        raise unsupported(op, STACK_REFUSED, STACK_WAY_OUT)
    emit_func.call(w, op)


def alloca(w: FunctionWriter, op: Operation) -> None:
    """Local arrays are on the stack of the thread, shared ones are globals of the block."""
    layout, sizes = emit_memref.new_array(w, op)
    shared = layout.pointer == f"ptr addrspace({SHARED})"
    total = bytes_of(layout)
    limit, whose = (LARGEST_SHARED, "shared") if shared else (LARGEST_LOCAL, "local")
    if total is None:
        raise unsupported(op, f"the size of a {whose} array must be a literal on the GPU")
    if total > limit:
        raise unsupported(op, f"a {whose} array of {total} bytes: the GPU has {limit}")
    if shared:
        pointer = quoted(f"shared.{len(w.module.declarations)}")
        w.module.declare(
            pointer,
            f"{pointer} = internal addrspace({SHARED}) global [{total} x i8] undef, align 16",
        )
    else:
        pointer = w.fresh(op.results[0].name_hint)
        w.allocas.append(f"{pointer} = alloca [{total} x i8], align 16")
    w.values[op.results[0]] = Descriptor(pointer, sizes, None, layout, layout.width)


def bytes_of(layout: Layout) -> int | None:
    total = layout.width
    for size in layout.sizes:
        if size is None:
            return None
        total *= size
    return total


def refuse_heap(w: FunctionWriter, op: Operation) -> None:
    what = "memory is allocated in a kernel, which on the GPU must have its size at compile time"
    way_out = "use local.array with a literal shape, or pass the array as an argument"
    raise unsupported(op, what, way_out)


def atomic(w: FunctionWriter, op: Operation) -> None:
    """NVPTX turns what it has no instruction for into loops of compare-and-swap."""
    array = w.memref(op.operands[1])
    if array.align < array.layout.width:
        what = "an atomic operation on an array that is not aligned to its elements"
        raise unsupported(op, what, "pass an aligned copy of it")
    emit_memref.read_modify_write(w, op)


def store(w: FunctionWriter, op: Operation) -> None:
    if ORDERED in op.attributes:
        what = (
            "the derivative of an atomic maximum or minimum follows the order in which threads "
            "run, and threads on a GPU have none"
        )
        raise unsupported(op, what, "run it on the CPU, or take the maximum in one thread")
    emit_memref.store(w, op)


HANDLERS: dict[type[Operation], Handler] = {
    **dict.fromkeys(REGISTERS, read_id),
    gpu.GlobalIdOp: global_id,
    gpu.BarrierOp: barrier,
    FenceOp: fence,
    func.CallOp: call,
    memref.AllocaOp: alloca,
    memref.AllocOp: refuse_heap,
    memref.DeallocOp: refuse_heap,
    memref.AtomicRMWOp: atomic,
    memref.StoreOp: store,
}
