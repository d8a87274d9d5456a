"""From structured IR (stage `cpu`) to the text of an LLVM module."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    IndexType,
    IntegerType,
    ModuleOp,
    StridedLayoutAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation

from mlirad.backends import emit_arith, emit_func, emit_math, emit_memref, emit_scf, emit_views
from mlirad.backends.descriptors import is_memref
from mlirad.backends.emit_func import body_name, finished
from mlirad.backends.native import EntrySignature, NativeType, entry_symbol
from mlirad.backends.target import CPU, Target
from mlirad.backends.writer import Handler, ModuleWriter, quoted

ENTRY = "mlirad.entry"
HANDLERS: dict[type[Operation], Handler] = (
    emit_arith.HANDLERS
    | emit_math.HANDLERS
    | emit_memref.HANDLERS
    | emit_views.HANDLERS
    | emit_scf.HANDLERS
    | emit_func.HANDLERS
)


def emit(module: ModuleOp, target: Target = CPU) -> str:
    """
    The LLVM text of a verified module at stage `cpu`.

    Only what the entries reach is written; everything, if there is no entry.
    Raises `UnsupportedError` for an op without machine code.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    writer = ModuleWriter(target, HANDLERS, functions)
    entries = [f for f in functions.values() if is_entry(f)]
    for function in entries or [f for f in functions.values() if f.body.blocks]:
        finished(writer, function.sym_name.data)
    for function in entries:
        write_entry(writer, function)
    return assemble(writer)


def is_entry(function: func.FuncOp) -> bool:
    return isinstance(function.attributes.get(ENTRY), UnitAttr)


def assemble(writer: ModuleWriter) -> str:
    """All parts of the module, in an order that LLVM accepts."""
    parts = [
        *writer.declarations.values(),
        *writer.bodies,
        "attributes #0 = { nounwind willreturn memory(none) }",
        f"attributes #1 = {{ {writer.target.attributes} }}",
        '!0 = !{!"branch_weights", i32 1, i32 100000}',
    ]
    used: list[str] = []
    for symbol, group in writer.variants.items():
        versions = writer.target.variants[symbol]
        mappings = ",".join(version.mapping for version in versions)
        parts.append(
            f"attributes #{group} = {{ nounwind willreturn memory(none) "
            f'"vector-function-abi-variant"="{mappings}" }}'
        )
        parts += [version.declaration for version in versions]
        used += [f"ptr @{version.name}" for version in versions]
    if used:
        parts.append(
            f"@llvm.compiler.used = appending global [{len(used)} x ptr] "
            f'[{", ".join(used)}], section "llvm.metadata"'
        )
    return "\n".join(parts) + "\n"


def native_type(type: Attribute) -> NativeType:
    """How values of `type` cross the border to Python."""
    if is_memref(type):
        strided = isinstance(type.layout, StridedLayoutAttr)
        return NativeType("memref", element_name(type.element_type), type.get_num_dims(), strided)
    return NativeType("scalar", element_name(type))


def element_name(type: Attribute) -> str:
    """`i8` … `i64`, `i1`, `index`, `f32` or `f64`."""
    return "index" if isinstance(type, IndexType) else str(type)


def signature(function: func.FuncOp) -> EntrySignature:
    """Arguments and results of an entry as its caller sees them."""
    types = function.function_type
    return EntrySignature(
        tuple(native_type(t) for t in types.inputs.data),
        tuple(native_type(t) for t in types.outputs.data),
    )


def signatures(module: ModuleOp) -> dict[str, EntrySignature]:
    """The entries of a module by name."""
    return {
        op.sym_name.data: signature(op)
        for op in module.ops
        if isinstance(op, func.FuncOp) and is_entry(op)
    }


def write_entry(writer: ModuleWriter, function: func.FuncOp) -> None:
    """`i32 NAME.entry(table, args, results)`: takes words apart, calls, puts words together."""
    name = function.sym_name.data
    info = finished(writer, name)
    lines = [
        f"define i32 {quoted(entry_symbol(name))}(ptr %table, ptr %args, ptr %results) #1 {{",
        "%status = alloca i32, align 4",
        "store i32 0, ptr %status, align 4",
    ]
    arguments = ["ptr %table", "ptr %status"]
    word = 0
    for type in function.function_type.inputs.data:
        for part, needed in words_of(writer, type, function):
            if needed:
                lines.append(f"%at.{word} = getelementptr inbounds i64, ptr %args, i64 {word}")
                stored = "i8" if part == "i1" else part
                lines.append(f"%word.{word} = load {stored}, ptr %at.{word}, align 8")
                value = f"%word.{word}"
                if part == "i1":
                    lines.append(f"%bool.{word} = icmp ne i8 {value}, 0")
                    value = f"%bool.{word}"
                arguments.append(f"{part} {value}")
            word += 1
    call = f"call {info.result} {body_name(name)}({', '.join(arguments)}) noinline"
    lines.append(f"%result = {call}" if info.results else call)
    if info.can_fail:
        lines.append("%failed = load i32, ptr %status, align 4")
        lines.append("%stop = icmp ne i32 %failed, 0")
        lines.append("br i1 %stop, label %out, label %in")
        lines.append("in:")
    lines += result_lines(writer, function, info.result)
    if info.can_fail:
        lines += ["br label %out", "out:", "ret i32 %failed", "}"]
    else:
        lines += ["ret i32 0", "}"]
    writer.bodies.append("\n".join(lines))


def words_of(writer: ModuleWriter, type: Attribute, op: Operation) -> list[tuple[str, bool]]:
    """The LLVM type of each word of a value; False for those that its type fixes anyway."""
    if not is_memref(type):
        return [(writer.scalar(type, op), True)]
    layout = writer.layout(type, op)
    words = [(layout.pointer, True)]
    words += [("i64", n is None) for n in (*layout.sizes, *(layout.strides or ()))]
    return words


def result_lines(writer: ModuleWriter, function: func.FuncOp, result: str) -> list[str]:
    """Stores the results as words; integers keep their sign, a bool is 0 or 1."""
    lines: list[str] = []
    word = part = 0
    count = len(finished(writer, function.sym_name.data).results)
    for type in function.function_type.outputs.data:
        fixed: list[int | None] = []
        if is_memref(type):
            layout = writer.layout(type, function)
            fixed = [None, *layout.sizes, *(layout.strides or ())]
        for k, (llvm, needed) in enumerate(words_of(writer, type, function)):
            value = str(fixed[k]) if not needed else f"%part.{part}"
            if needed and count > 1:
                lines.append(f"%part.{part} = extractvalue {result} %result, {part}")
            elif needed:
                value = "%result"
            if llvm == "float":
                lines.append(f"%bits.{word} = bitcast float {value} to i32")
                llvm, value = "i32", f"%bits.{word}"
            if llvm in ("i1", "i8", "i16", "i32"):
                extend = "sext" if type == IntegerType(int(llvm[1:])) and llvm != "i1" else "zext"
                lines.append(f"%wide.{word} = {extend} {llvm} {value} to i64")
                llvm, value = "i64", f"%wide.{word}"
            lines.append(f"%to.{word} = getelementptr inbounds i64, ptr %results, i64 {word}")
            lines.append(f"store {llvm} {value}, ptr %to.{word}, align 8")
            word += 1
            part += needed
    return lines
