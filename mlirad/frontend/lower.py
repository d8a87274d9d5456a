"""
From a Python function and the types of its arguments to a module at stage `python`.

`lower` gives the module; `lower_function` gives the type of the result with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from types import FunctionType

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import (
    DenseArrayBase,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Block, Operation, Region

from mlirad.errors import ArgumentTypeError, UnsupportedError, describe
from mlirad.frontend.body import INDEX, Callee
from mlirad.frontend.calls import KERNELS, bind_arguments
from mlirad.frontend.function import FunctionBody
from mlirad.frontend.ir_types import flatten_types
from mlirad.frontend.operands import Operand, Static, array_leaves, type_of
from mlirad.frontend.source import Place, Source, read
from mlirad.frontend.types import (
    Array,
    Complex,
    Function,
    NoneType,
    Scalar,
    Tuple,
    Type,
    leaves,
)
from mlirad.passes.derivatives.libm import LIBM_RULES

SIZES = ("gx", "gy", "gz", "bx", "by", "bz")
"""The first arguments of the host function of a kernel: blocks, then threads per block."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A module, the symbol of its entry, and the Python-level types of a call."""

    module: ModuleOp
    name: str
    arguments: tuple[Type, ...]
    result: Type


class ModuleBuilder:
    """The module under construction, with each function lowered once per argument types."""

    def __init__(self, name: str) -> None:
        self.host = Block()
        self.device = Block()
        # A Python function named like one of libm must not take its place.
        self.symbols: dict[bool, set[str]] = {False: set(LIBM_RULES), True: set(LIBM_RULES)}
        self.name = self.unique(name, False)
        self.functions: dict[Hashable, Callee] = {}
        self.kernels: dict[Hashable, str] = {}
        self.objects: list[object] = []
        self.active: list[tuple[object, bool]] = []

    def key(self, parameter: Type | Static) -> Hashable:
        """What tells parameters apart; objects are kept so that their ids stay theirs."""
        if not isinstance(parameter, Static):
            return parameter
        self.objects.append(parameter.object)
        return ("object", id(parameter.object), parameter.path)

    def unique(self, name: str, device: bool) -> str:
        taken, candidate, number = self.symbols[device], name, 0
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate)
        return candidate

    def function(
        self, function: FunctionType, arguments: Sequence[Operand], device: bool, where: Place
    ) -> Callee:
        """A private function for arguments like these, lowered unless it is there already."""
        parameters = [parameter(operand) for operand in arguments]
        key = (function, device, *map(self.key, parameters))
        if (known := self.functions.get(key)) is not None:
            return known
        source = read(function)
        if (function, device) in self.active:
            what = f"'{source.name}' calls itself, directly or through others"
            raise UnsupportedError(describe(where, what, "write the recursion as a loop"))
        self.active.append((function, device))
        body = FunctionBody(self, source, parameters, device=device)
        block, result = body.run()
        self.active.pop()
        symbol = self.unique(source.name, device)
        types = flatten_types([result])
        op = func.FuncOp(symbol, (block.arg_types, types), Region(block), visibility="private")
        describe_arguments(op, [p for p in parameters if not isinstance(p, Static)], None, 0)
        self.add(op, body, device)
        self.functions[key] = Callee(symbol, result, types)
        return self.functions[key]

    def kernel(self, function: FunctionType, arguments: Sequence[Operand]) -> str:
        """A kernel for arguments like these; arrays keep what is known about their overlaps."""
        groups = [a.group for operand in arguments for a in array_leaves(operand)]
        parameters = [parameter(operand) for operand in arguments]
        known = [group for group in groups if group is not None]
        alias = None
        if len(known) == len(groups):
            order = {group: n for n, group in enumerate(dict.fromkeys(known))}
            numbers = iter(order[group] for group in known)
            alias = [
                next(numbers) if isinstance(leaf, Array) else -1
                for p in parameters
                if not isinstance(p, Static)
                for leaf in leaves(p)
            ]
        key = (function, tuple(alias) if alias else None, *map(self.key, parameters))
        if key not in self.kernels:
            self.kernels[key] = self.add_kernel(read(function), parameters, alias)
        return self.kernels[key]

    def add_kernel(
        self,
        source: Source,
        parameters: Sequence[Type | Static],
        alias: Sequence[int] | None,
        name: str | None = None,
    ) -> str:
        body = FunctionBody(self, source, parameters, device=True, groups=alias)
        block, _ = body.run(kernel=True)
        symbol = self.unique(name or source.name, True)
        op = gpu.FuncOp(symbol, (block.arg_types, []), Region(block), kernel=True)
        describe_arguments(op, [p for p in parameters if not isinstance(p, Static)], alias, 0)
        self.add(op, body, True)
        return symbol

    def add(self, op: Operation, body: FunctionBody, device: bool) -> None:
        body.locate(body.source.tree)
        op.location = body.builder.location
        (self.device if device else self.host).add_op(op)

    def finish(self) -> ModuleOp:
        """The module: functions, then the kernels and what they call."""
        declare_missing(self.host)
        declare_missing(self.device)
        functions = list(self.host.ops)
        for op in functions:
            op.detach()
        module = ModuleOp([])
        if self.device.first_op is not None:
            module.attributes["gpu.container_module"] = UnitAttr()
            kernels = gpu.ModuleOp(SymbolRefAttr(KERNELS), Region(self.device))
            kernels.properties["sym_name"] = StringAttr(KERNELS)
            kernels.location = self.device.first_op.location
            module.body.block.add_op(kernels)
        module.body.block.add_ops(functions)
        return module


def declare_missing(block: Block) -> None:
    """Declares the functions of libm that the functions of a symbol table call."""
    known = {op.sym_name.data for op in block.ops if isinstance(op, (func.FuncOp, gpu.FuncOp))}
    for top in list(block.ops):
        for op in top.walk():
            if isinstance(op, func.CallOp) and (name := op.callee.string_value()) not in known:
                types = [v.type for v in op.operands], [v.type for v in op.results]
                declaration = func.FuncOp.external(name, *types)
                declaration.attributes["mlirad.pure"] = UnitAttr()
                declaration.location = op.location
                block.add_op(declaration)
                known.add(name)


def parameter(operand: Operand) -> Type | Static:
    """What a function is specialised for: the type of an argument, or a Python object."""
    type_ = type_of(operand)
    if type_ is not None and not isinstance(type_, NoneType):
        return type_
    assert isinstance(operand, Static), operand
    return operand


def as_parameter(found: object) -> Type | Static:
    """A type given by the caller, or the default of a parameter that was left out."""
    if isinstance(found, (Scalar, Complex, Array, Tuple, Static)):
        return found
    if isinstance(found, Function):
        return Static(found.object)
    assert isinstance(found, NoneType), found
    return Static(None)


def describe_arguments(
    op: Operation, types: Sequence[Type], alias: Sequence[int] | None, before: int
) -> None:
    """Attributes for the arguments; `before` sizes come in front of those of `types`."""
    flat = [leaf for type_ in types for leaf in leaves(type_)]
    if alias is not None:
        numbers = [-1] * before + list(alias)
        op.attributes["mlirad.alias"] = DenseArrayBase.from_list(i64, numbers)
    unaligned = [
        before + position
        for position, leaf in enumerate(flat)
        if isinstance(leaf, Array) and not leaf.aligned
    ]
    if unaligned:
        op.attributes["mlirad.unaligned"] = DenseArrayBase.from_list(i64, unaligned)


def host_function(kernel: gpu.FuncOp, name: str) -> func.FuncOp:
    """The function that launches `kernel` with sizes given as its first arguments."""
    types = kernel.function_type.inputs.data
    block = Block(arg_types=[INDEX] * len(SIZES) + list(types))
    hints = [*SIZES, *(a.name_hint for a in kernel.body.block.args)]
    for argument, hint in zip(block.args, hints, strict=True):
        argument.name_hint = hint
    sizes, arguments = block.args[: len(SIZES)], block.args[len(SIZES) :]
    reference = SymbolRefAttr(KERNELS, [kernel.sym_name])
    launch = gpu.LaunchFuncOp(reference, sizes[:3], sizes[3:], None, arguments)
    done = func.ReturnOp()
    block.add_ops([launch, done])
    op = func.FuncOp(name, (block.arg_types, []), Region(block))
    op.location = launch.location = done.location = kernel.location
    return op


def check_arguments(source: Source, types: Sequence[Type], alias: Sequence[int] | None) -> None:
    try:
        bind_arguments(source.function, types, {})
    except TypeError as error:
        where = source.where(source.tree)
        raise ArgumentTypeError(describe(where, str(error), "change the call")) from None
    count = sum(len(leaves(type_)) for type_ in types)
    if alias is not None and len(alias) != count:
        raise ArgumentTypeError(
            f"'{source.name}' has {count} numbers and arrays as arguments, but the alias "
            f"partition has {len(alias)} entries"
        )


def lower_function(
    function: Callable[..., object],
    types: Sequence[Type],
    *,
    kernel: bool,
    alias: Sequence[int] | None = None,
    name: str | None = None,
    boundscheck: bool = False,
) -> Lowered:
    """
    Lowers `function` for arguments of `types`.

    Args:
        function: a Python function, or an object with one as `py_func`.
        types: one per argument; parameters left out take their defaults.
        kernel: whether it is launched on a grid. Its entry then takes six sizes first.
        alias: one number per array and scalar among the arguments (tuples flattened): arrays
            with equal numbers may overlap, others never do; -1 for scalars.
        name: the symbol of the entry, by default the function's name; one that belongs to
            libm gets a number.
        boundscheck: not compiled yet.

    Raises:
        ArgumentTypeError: the number of arguments is wrong.
        TypingError: the body does not type-check.
        UnsupportedError: it uses something that is not compiled.
    """
    source = read(function)
    if boundscheck:
        where = source.where(source.tree)
        what = "'boundscheck=True' is not compiled yet"
        raise UnsupportedError(describe(where, what, "leave it out"))
    check_arguments(source, types, alias)
    bound = bind_arguments(source.function, types, {})
    parameters = [as_parameter(p) for p in bound.values()]
    builder = ModuleBuilder(name or source.name)
    symbol = builder.name
    result: Type = NoneType()
    if kernel:
        builder.add_kernel(source, parameters, alias, symbol)
        kernel_op = builder.device.last_op
        assert isinstance(kernel_op, gpu.FuncOp)
        entry, before = host_function(kernel_op, symbol), len(SIZES)
        builder.host.add_op(entry)
    else:
        builder.active.append((source.function, False))
        body = FunctionBody(builder, source, parameters, device=False, groups=alias)
        block, result = body.run()
        entry, before = (
            func.FuncOp(symbol, (block.arg_types, flatten_types([result])), Region(block)),
            0,
        )
        builder.add(entry, body, False)
    describe_arguments(entry, types, alias, before)
    entry.attributes["mlirad.entry"] = UnitAttr()
    return Lowered(builder.finish(), symbol, tuple(types), result)


def lower(
    function: Callable[..., object],
    types: Sequence[Type],
    *,
    kernel: bool,
    alias: Sequence[int] | None = None,
    name: str | None = None,
    boundscheck: bool = False,
) -> ModuleOp:
    """The module of `lower_function`, which see."""
    return lower_function(
        function, types, kernel=kernel, alias=alias, name=name, boundscheck=boundscheck
    ).module


def result_type(function: Callable[..., object], types: Sequence[Type]) -> Type:
    """The type of what `function` returns for arguments of `types`."""
    return lower_function(function, types, kernel=False).result
