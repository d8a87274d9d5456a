"""
The text of one LLVM module and of one function while it is being written.

The tables of the dialects (`emit_arith` …) use it: a handler gets the writer and an op,
appends lines and says which operand the result of the op has become.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.backends.descriptors import Descriptor, Layout, is_memref, layout_of
from mlirad.backends.target import Target
from mlirad.errors import UnsupportedError, describe
from mlirad.passes.analysis.flow import location

Operand = str | Descriptor
"""What a value has become: the text of an LLVM operand, or a memref's parts."""
Handler = Callable[["FunctionWriter", Operation], None]


def unsupported(op: Operation, what: str, way_out: str = "") -> UnsupportedError:
    """The error for an op that has no machine code."""
    return UnsupportedError(describe(location(op), what, way_out))


SCALARS: dict[Attribute, str] = {
    Float64Type(): "double",
    Float32Type(): "float",
    IndexType(): "i64",
    IntegerType(1): "i1",
    IntegerType(8): "i8",
    IntegerType(16): "i16",
    IntegerType(32): "i32",
    IntegerType(64): "i64",
}


def storage(llvm: str) -> str:
    """The type in memory of a value of type `llvm`: a bool takes a byte."""
    return "i8" if llvm == "i1" else llvm


def quoted(name: str) -> str:
    """`name` as a global of LLVM."""
    escaped = name.replace("\\", "\\5C").replace('"', "\\22")
    return f'@"{escaped}"'


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """What the caller of a finished function must know."""

    arguments: list[str]
    results: list[str]
    can_fail: bool
    frees_arguments: bool

    @property
    def result(self) -> str:
        return result_type(self.results)


def result_type(parts: Sequence[str]) -> str:
    """The LLVM type that returns values of the types `parts`."""
    if not parts:
        return "void"
    return parts[0] if len(parts) == 1 else f"{{ {', '.join(parts)} }}"


@dataclass(slots=True)
class ModuleWriter:
    """Declarations, support functions and finished functions of one LLVM module."""

    target: Target
    handlers: dict[type[Operation], Handler]
    functions: dict[str, FuncOp]
    finished: dict[str, FunctionInfo] = field(default_factory=lambda: dict[str, FunctionInfo]())
    declarations: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    bodies: list[str] = field(default_factory=lambda: list[str]())
    variants: dict[str, int] = field(default_factory=lambda: dict[str, int]())
    users: dict[str, Operation] = field(default_factory=lambda: dict[str, Operation]())
    """The first op that needs a declared function."""
    constants: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    layouts: dict[Attribute, Layout] = field(default_factory=lambda: dict[Attribute, Layout]())

    def declare(self, name: str, text: str) -> None:
        """Adds a global named `name` (a declaration or a support function) once."""
        if name not in self.declarations:
            self.declarations[name] = text

    def check_intrinsic(self, symbol: str, op: Operation) -> None:
        """Raises if the target has no code for an intrinsic: LLVM would end the process."""
        allowed = self.target.intrinsics
        if allowed is None or not symbol.startswith("llvm."):
            return
        if symbol.split(".")[1] not in allowed:
            raise unsupported(op, f"{op.name} needs '{symbol}', which this target does not have")

    def layout(self, type: Attribute, op: Operation) -> Layout:
        """How values of the memref type `type` are addressed."""
        layout = self.layouts.get(type)
        if layout is None:
            assert is_memref(type)
            element = self.scalar(type.element_type, op)
            layout = layout_of(type, element, storage(element), self.target.spaces)
            if layout is None:
                raise unsupported(op, f"arrays of type {type} are not supported")
            self.layouts[type] = layout
        return layout

    def scalar(self, type: Attribute, op: Operation) -> str:
        """The LLVM type of the scalar type `type`."""
        found = SCALARS.get(type)
        if found is None:
            raise unsupported(op, f"{op.name}: values of type {type} are not supported")
        return found

    def components(self, types: Iterable[Attribute], op: Operation) -> list[str]:
        """The LLVM types of values of `types`, memrefs taken apart."""
        parts: list[str] = []
        for type in types:
            if is_memref(type):
                parts += self.layout(type, op).components
            else:
                parts.append(self.scalar(type, op))
        return parts

    def pure_function(
        self, symbol: str, result: str, arguments: Sequence[str], op: Operation
    ) -> str:
        """Declares a function without side effects for `op`; returns the attribute for calls."""
        if symbol not in self.declarations:
            self.check_intrinsic(symbol, op)
            self.users[symbol] = op
            group = "" if symbol.startswith("llvm.") else " #0"
            self.declarations[symbol] = f"declare {result} @{symbol}({', '.join(arguments)}){group}"
        if symbol not in self.target.variants:
            return ""
        return f" #{self.variants.setdefault(symbol, len(self.variants) + 2)}"


class FunctionWriter:
    """One function: its lines so far, and what each SSA value has become."""

    def __init__(self, module: ModuleWriter, unaligned: bool, atomics: bool):
        self.module = module
        self.handlers = module.handlers
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.values: dict[SSAValue, Operand] = {}
        self.label = "entry"
        self.unaligned = unaligned
        self.atomics = atomics
        self.can_fail = False
        self.frees_arguments = False
        # What to write to free memory that is still held: if the function leaves early
        # (by handle), and at the end of the block.
        self.live: dict[str, str] = {}
        self.scoped: list[str] = []
        self._leaving: dict[tuple[str, ...], str] = {}
        self._next = 0

    def fresh(self, hint: str | None = None) -> str:
        """A name that is not in use."""
        self._next += 1
        if hint:
            return f"%{hint}.{self._next}"
        return f"%.{self._next}"

    def define(self, value: SSAValue, text: str) -> None:
        """Appends an instruction whose result is `value`."""
        self._next = number = self._next + 1
        hint = value.name_hint
        name = f"%{hint}.{number}" if hint else f"%.{number}"
        self.lines.append(f"{name} = {text}")
        self.values[value] = name

    def let(self, text: str) -> str:
        """Appends an instruction; returns the name of its result."""
        self._next += 1
        name = f"%.{self._next}"
        self.lines.append(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Appends an instruction without a result."""
        self.lines.append(text)

    def new_label(self, hint: str) -> str:
        """A name for a block."""
        self._next += 1
        return f"{hint}.{self._next}"

    def start(self, label: str) -> None:
        """Starts the block `label`."""
        self.lines.append(f"{label}:")
        self.label = label

    def scalar(self, value: SSAValue, op: Operation) -> str:
        """The LLVM type of `value`."""
        found = SCALARS.get(value.type)
        return found if found is not None else self.module.scalar(value.type, op)

    def memref(self, value: SSAValue) -> Descriptor:
        """The parts of a memref."""
        found = self.values[value]
        assert isinstance(found, Descriptor)
        return found

    def flatten(self, values: Iterable[SSAValue]) -> list[str]:
        """The operands of `values`, memrefs taken apart."""
        parts: list[str] = []
        for value in values:
            operand = self.values[value]
            if isinstance(operand, str):
                parts.append(operand)
            else:
                parts += operand.parts(self.module.layout(value.type, self.owner(value)))
        return parts

    def owner(self, value: SSAValue) -> Operation:
        """The op that a message about `value` is about."""
        if isinstance(value.owner, Operation):
            return value.owner
        parent = value.owner.parent_op()
        assert parent is not None
        return parent

    def bind(self, values: Sequence[SSAValue], parts: Sequence[str], op: Operation) -> None:
        """Says what `values` are, given the operands of their parts."""
        at = 0
        for value in values:
            if is_memref(value.type):
                layout = self.module.layout(value.type, op)
                end = at + len(layout.components)
                aligned = not self.unaligned
                self.values[value] = Descriptor.of_parts(layout, parts[at:end], aligned)
                at = end
            else:
                self.values[value] = parts[at]
                at += 1

    def block(self, block: Block) -> Sequence[SSAValue]:
        """Writes the ops of `block`; returns the operands of its terminator."""
        handlers = self.handlers
        outside, scoped = set(self.live), len(self.scoped)
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is last:
                break
            handler = handlers.get(type(op))
            if handler is None:
                raise unsupported(op, f"{op.name} has no machine code on this target")
            handler(self, op)
        while len(self.scoped) > scoped:
            self.lines.append(self.scoped.pop())
        self.live = {h: text for h, text in self.live.items() if h in outside}
        return last.operands

    def hold(self, handle: str, release: str) -> None:
        """Notes that `release` frees `handle`, should the function have to leave early."""
        self.live[handle] = release

    def let_go(self, handle: str) -> None:
        """Notes that `handle` has been freed; after an unknown one nothing is sure."""
        if self.live.pop(handle, None) is None:
            self.live.clear()
            self.frees_arguments = True

    def leave_if(self, failed: str) -> None:
        """Leaves the function early, freeing what it still holds, if `failed`."""
        self.can_fail = True
        stop, go = self.leaving((*self.scoped, *self.live.values())), self.new_label("go")
        self.do(f"br i1 {failed}, label %{stop}, label %{go}, !prof !0")
        self.start(go)

    def leaving(self, pending: tuple[str, ...]) -> str:
        """
        The label of code that does `pending`, the last first, and leaves the function.

        Written once and shared: with a copy for everything that may fail, the code would grow
        with the square of the number of caches.
        """
        for done in range(len(pending), 0, -1):
            if pending[:done] in self._leaving:
                break
            self._leaving[pending[:done]] = self.new_label("failed")
        return self._leaving.get(pending, "fail")

    def write_leaving(self) -> None:
        """Writes the code that `leaving` named, and the block `fail` up to its `ret`."""
        for pending, label in self._leaving.items():
            following = self._leaving.get(pending[:-1], "fail")
            self.lines += [f"{label}:", pending[-1], f"br label %{following}"]
        self.start("fail")

    def leave_if_failed(self) -> None:
        """Leaves the function early if a call has failed."""
        order = ("atomic ", " monotonic") if self.module.target.atomics else ("", "")
        status = self.let(f"load {order[0]}i32, ptr %status{order[1]}, align 4")
        self.leave_if(self.let(f"icmp ne i32 {status}, 0"))
