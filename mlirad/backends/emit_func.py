"""
Functions, calls and launches.

A function becomes an internal LLVM function whose first parameters are the table of the
runtime and the address of the status. One that can run out of memory stores 1 there and
returns at once; its caller looks and does the same.
"""

from __future__ import annotations

from collections import Counter

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, UnitAttr
from xdsl.ir import Operation

from mlirad.backends import support
from mlirad.backends.descriptors import Descriptor, is_memref
from mlirad.backends.writer import (
    FunctionInfo,
    FunctionWriter,
    Handler,
    ModuleWriter,
    quoted,
    result_type,
    unsupported,
)

LAUNCH, PURE, ALIAS, UNALIGNED = "mlirad.launch", "mlirad.pure", "mlirad.alias", "mlirad.unaligned"
SEQUENTIAL = "mlirad.sequential"
STACK = "mlirad_stack_"


def numbers(op: Operation, name: str) -> tuple[int, ...]:
    """The integers of an array attribute; none if it is absent."""
    found = op.attributes.get(name)
    if not isinstance(found, DenseArrayBase):
        return ()
    return tuple(int(n) for n in found.get_values())


def is_sequential(function: func.FuncOp) -> bool:
    """
    Whether one worker runs all blocks, in order.

    Nothing can be added atomically to a misaligned array.
    """
    return SEQUENTIAL in function.attributes or bool(numbers(function, UNALIGNED))


def body_name(name: str) -> str:
    return quoted(f"{name}.body")


def finished(module: ModuleWriter, name: str) -> FunctionInfo:
    """Writes the function `name` unless it is there already."""
    info = module.finished.get(name)
    if info is None:
        function = module.functions[name]
        results = module.components(function.function_type.outputs.data, function)
        arguments = module.components(function.function_type.inputs.data, function)
        # A function that calls itself: suppose the worst.
        module.finished[name] = FunctionInfo(arguments, results, True, True)
        info = module.finished[name] = write_function(module, function)
    return info


def parameters(w: FunctionWriter, function: func.FuncOp) -> list[str]:
    """Names the arguments; returns them as LLVM has them, arrays apart from all others marked."""
    classes = numbers(function, ALIAS)
    times = Counter(classes)
    unaligned = numbers(function, UNALIGNED)
    texts = w.module.target.context
    for position, argument in enumerate(function.body.block.args):
        if not is_memref(argument.type):
            name = w.fresh(argument.name_hint)
            w.values[argument] = name
            texts.append(f"{w.scalar(argument, function)} {name}")
            continue
        layout = w.module.layout(argument.type, function)
        names = [w.fresh(argument.name_hint) for _ in layout.components]
        w.values[argument] = Descriptor.of_parts(layout, names, position not in unaligned)
        alone = position < len(classes) and times[classes[position]] == 1
        mark = " noalias" if alone else ""
        texts.append(f"{layout.pointer}{mark} {names[0]}")
        texts += [f"i64 {name}" for name in names[1:]]
    return texts


def write_function(module: ModuleWriter, function: func.FuncOp) -> FunctionInfo:
    if len(function.body.blocks) != 1:
        raise unsupported(function, "a function with more than one block is not supported")
    atomics = module.target.atomics and not is_sequential(function)
    w = FunctionWriter(module, unaligned=bool(numbers(function, UNALIGNED)), atomics=atomics)
    texts = parameters(w, function)
    arguments = module.components(function.function_type.inputs.data, function)
    results = module.components(function.function_type.outputs.data, function)
    result = result_type(results)
    values = w.flatten(w.block(function.body.block))
    if len(results) == 1:
        w.do(f"ret {result} {values[0]}")
    elif results:
        pack = "poison"
        for k, (type, value) in enumerate(zip(results, values, strict=True)):
            pack = w.let(f"insertvalue {result} {pack}, {type} {value}, {k}")
        w.do(f"ret {result} {pack}")
    else:
        w.do("ret void")
    if w.can_fail:
        w.write_leaving()
        w.do(f"ret {result} zeroinitializer" if results else "ret void")
    name = function.sym_name.data
    head = f"define internal {result} {body_name(name)}({', '.join(texts)}) #1 {{"
    module.bodies.append("\n".join([head, "entry:", *w.allocas, *w.lines, "}"]))
    return FunctionInfo(arguments, results, w.can_fail, w.frees_arguments)


def call(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, func.CallOp)
    name = op.callee.root_reference.data
    callee = w.module.functions.get(name)
    if callee is None:
        raise unsupported(op, f"the function '{name}' is not defined")
    if callee.body.blocks:
        if LAUNCH in op.attributes:
            launch(w, op, name)
        else:
            call_function(w, op, name)
    elif name.startswith(STACK):
        call_stack(w, op, name)
    elif isinstance(callee.attributes.get(PURE), UnitAttr):
        call_library(w, op, name)
    else:
        raise unsupported(op, f"the function '{name}' has no definition")


def call_function(w: FunctionWriter, op: func.CallOp, name: str) -> None:
    info = finished(w.module, name)
    parts = w.flatten(op.operands)
    arguments = w.module.target.context
    arguments += [f"{t} {v}" for t, v in zip(info.arguments, parts, strict=True)]
    text = f"call {info.result} {body_name(name)}({', '.join(arguments)})"
    if not info.results:
        w.do(text)
        values: list[str] = []
    elif len(info.results) == 1:
        values = [w.let(text)]
    else:
        pack = w.let(text)
        values = [
            w.let(f"extractvalue {info.result} {pack}, {k}") for k in range(len(info.results))
        ]
    if info.frees_arguments:
        # It may have freed what we hold: rather keep too much than free twice.
        w.live.clear()
        w.frees_arguments = True
    w.bind(op.results, values, op)
    if info.can_fail:
        w.leave_if_failed()


def call_library(w: FunctionWriter, op: func.CallOp, name: str) -> None:
    """A function of the C library; it depends on nothing but its arguments."""
    types = [w.scalar(v, op) for v in op.operands]
    if len(op.results) != 1:
        raise unsupported(op, f"the library function '{name}' must have one result")
    result = w.scalar(op.results[0], op)
    symbol = library_symbol(w, op, name)
    group = w.module.pure_function(symbol, result, types, op)
    arguments = ", ".join(f"{t} {w.values[v]}" for t, v in zip(types, op.operands, strict=True))
    w.define(op.results[0], f"call {result} @{symbol}({arguments}){group}")


def library_symbol(w: FunctionWriter, op: func.CallOp, name: str) -> str:
    """What the target calls the function `name` of the C library."""
    library = w.module.target.library
    if library is None:
        return name
    if name not in library:
        raise unsupported(op, f"the library function '{name}' has no counterpart on this target")
    return library[name]


def call_stack(w: FunctionWriter, op: func.CallOp, name: str) -> None:
    for needed, text in (("mlirad_alloc", support.ALLOC), ("mlirad_free", support.FREE)):
        w.module.declare(needed, text)
    w.module.declare("mlirad_stack", support.STACK)
    action, _, element = name.removeprefix(STACK).partition("_")
    kind = support.STACK_TYPES.get(element, "")
    operands = [str(w.values[v]) for v in op.operands]
    match action:
        case "new":
            handle = w.let("call i64 @mlirad_stack_new(ptr %table, ptr %status)")
            w.leave_if(w.let(f"icmp eq i64 {handle}, 0"))
            w.hold(handle, f"call void @mlirad_stack_free(ptr %table, i64 {handle})")
            w.values[op.results[0]] = handle
        case "free":
            w.do(f"call void @mlirad_stack_free(ptr %table, i64 {operands[0]})")
            w.let_go(operands[0])
        case "push" if kind:
            w.module.declare(name, support.push(element))
            handle, value = operands
            if element == "i1":
                value = w.let(f"zext i1 {value} to i8")
            arguments = f"ptr %table, ptr %status, i64 {handle}, {kind} {value}"
            kept = w.let(f"call i1 @{name}({arguments})")
            w.leave_if(w.let(f"xor i1 {kept}, true"))
        case "pop" if kind:
            w.module.declare(name, support.pop(element))
            value = w.let(f"call {kind} @{name}(i64 {operands[0]})")
            w.values[op.results[0]] = w.let(f"trunc i8 {value} to i1") if element == "i1" else value
        case _:
            raise unsupported(op, f"there is no stack function '{name}'")


def launch(w: FunctionWriter, op: func.CallOp, name: str) -> None:
    """Packs the arguments into words and asks the runtime to run the blocks, or runs them."""
    info = finished(w.module, name)
    declare_range(w.module, name, info)
    blocks = w.values[op.operands[1]]
    types, parts = info.arguments[2:], w.flatten(op.operands[2:])
    words = w.fresh("words")
    w.allocas.append(f"{words} = alloca [{1 + len(parts)} x i64], align 8")
    w.do(f"store ptr %status, ptr {words}, align 8")
    for k, (type, part) in enumerate(zip(types, parts, strict=True), 1):
        slot = w.let(f"getelementptr inbounds i64, ptr {words}, i64 {k}")
        w.do(f"store {type} {part}, ptr {slot}, align 8")
    kernel = quoted(f"{name}.range")
    if is_sequential(w.module.functions[name]):
        w.do(f"call void {kernel}(ptr %table, ptr {words}, i64 0, i64 {blocks})")
    else:
        entry = w.let("getelementptr inbounds ptr, ptr %table, i64 2")
        run = w.let(f"load ptr, ptr {entry}, align 8")
        w.do(f"call void {run}(ptr {kernel}, ptr %table, ptr {words}, i64 {blocks})")
    if info.can_fail:
        w.leave_if_failed()


def declare_range(module: ModuleWriter, name: str, info: FunctionInfo) -> None:
    """The function that runs a range of blocks of the kernel `name`, its arguments in words."""
    lines = [
        f"define internal void {quoted(f'{name}.range')}"
        "(ptr %table, ptr %words, i64 %first, i64 %end) #1 {",
        "%status = load ptr, ptr %words, align 8",
    ]
    arguments = ["ptr %table", "ptr %status", "i64 %first", "i64 %end"]
    for k, type in enumerate(info.arguments[2:], 1):
        lines.append(f"%slot.{k} = getelementptr inbounds i64, ptr %words, i64 {k}")
        lines.append(f"%arg.{k} = load {type}, ptr %slot.{k}, align 8")
        arguments.append(f"{type} %arg.{k}")
    # Not inlined, because parameters are where LLVM learns that arrays are apart.
    lines.append(f"call void {body_name(name)}({', '.join(arguments)}) noinline")
    module.declare(f"{name}.range", "\n".join([*lines, "ret void", "}"]))


HANDLERS: dict[type[Operation], Handler] = {func.CallOp: call}
