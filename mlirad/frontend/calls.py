"""Calls: scalar functions, other Python functions, and launches of kernels."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import is_dataclass
from types import FunctionType

from xdsl.dialects import arith, func, gpu
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import SSAValue

from mlirad.dialects.autodiff import StopGradientOp
from mlirad.frontend import functions
from mlirad.frontend.allocations import maker
from mlirad.frontend.body import Callee
from mlirad.frontend.builder import Value
from mlirad.frontend.declared import declared
from mlirad.frontend.intrinsics import Intrinsics
from mlirad.frontend.operands import (
    ArrayRef,
    ComplexValue,
    Compound,
    Number,
    Operand,
    Static,
    TupleValue,
    flatten,
    rebuild,
    spell,
    type_of,
)
from mlirad.frontend.source import unwrap
from mlirad.frontend.types import NoneType, Type

KERNELS = "kernels"
FORALL_BLOCK = 128
"""Threads per block of `kernel.forall(n)`."""

OPEN = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS

WAYS_OUT = {
    "print": "store the numbers in an array argument and print them outside",
    "enumerate": "use it in 'for i, v in enumerate(…)'",
    "zip": "use it in 'for a, b in zip(…)'",
    "reversed": "use it in 'for v in reversed(…)'",
    **dict.fromkeys(("sum", "any", "all", "map", "filter", "sorted"), "write a 'for' loop"),
    **dict.fromkeys(
        ("isinstance", "type", "getattr", "hasattr", "callable"),
        "types are known while compiling: write one function per type",
    ),
    **dict.fromkeys(
        ("float16", "longdouble"), "numbers are float32 or float64: use np.float32 or np.float64"
    ),
    **dict.fromkeys(("complex", "complex64", "complex128"), "use two floats"),
    **dict.fromkeys(
        ("input", "open", "exec", "eval", "id", "time", "rand", "random", "normal"),
        "call it outside and pass what it gives as an argument",
    ),
    **dict.fromkeys(("list", "dict", "set", "str"), "use a tuple, or an array that is an argument"),
}


def is_launchable(found: object) -> bool:
    """Whether `found` is a kernel object of ours or of numba.cuda."""
    if getattr(found, "is_kernel", False):
        return True
    return hasattr(found, "forall") and unwrap(found) is not None


def field_names(home: type) -> tuple[str, ...]:
    """The fields of a class of named tuples."""
    return tuple(getattr(home, "_fields", ()))


def is_stop_gradient(found: object) -> bool:
    """Whether `found` is `mlirad.stop_gradient`, recognised by name: the API is above us."""
    module = str(getattr(found, "__module__", "")).partition(".")[0]
    return module == "mlirad" and getattr(found, "__name__", "") == "stop_gradient"


def bind_arguments(
    function: FunctionType, positional: Sequence[object], keywords: dict[str, object]
) -> dict[str, object]:
    """
    Parameters of `function` in order, with the argument for each; defaults are `Static`.

    Raises `TypeError`, with a message in Python's words, if they do not fit.
    """
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & OPEN:
        raise TypeError(f"'{function.__name__}' takes '*' arguments, which are not compiled")
    names, by_position = code.co_varnames[:count], code.co_argcount
    if len(positional) > by_position:
        raise TypeError(
            f"'{function.__name__}' takes {by_position} arguments, but got {len(positional)}"
        )
    given = dict(zip(names, positional, strict=False))
    for name, argument in keywords.items():
        if name not in names or name in names[: code.co_posonlyargcount]:
            raise TypeError(f"'{function.__name__}' has no argument '{name}'")
        if name in given:
            raise TypeError(f"'{function.__name__}' gets '{name}' twice")
        given[name] = argument
    defaults = function.__defaults__ or ()
    known = dict(zip(names[by_position - len(defaults) : by_position], defaults, strict=True))
    known |= function.__kwdefaults__ or {}
    missing = [name for name in names if name not in given and name not in known]
    if missing:
        listed = ", ".join(f"'{name}'" for name in missing)
        raise TypeError(f"'{function.__name__}' is missing {listed}")
    return {name: given[name] if name in given else Static(known[name]) for name in names}


class Calls(Intrinsics):
    """Evaluates calls."""

    def call(self, node: ast.Call) -> Operand:
        if (launch := self.as_launch(node)) is not None:
            kernel, grid, block = launch
            return self.launch(kernel, grid, block, node)
        if isinstance(node.func, ast.Attribute):
            base = self.expression(node.func.value)
            if isinstance(base, ArrayRef):
                return self.array_method(base, node.func.attr, node)
            if isinstance(base, (Value, ComplexValue)) and node.func.attr == "conjugate":
                return self.conjugate_call(base, node)
        called = self.expression(node.func)
        if not isinstance(called, Static):
            raise self.typing_error(node, f"{spell(called)} cannot be called")
        if called.path is not None:
            return self.gpu_call(called.path, node)
        if called.object is len and len(node.args) == 1 and not node.keywords:
            operand = self.expression(node.args[0])
            self.locate(node)
            return self.length(operand, node)
        if called.object is range:
            return self.range(node)
        if (function := maker(called.object)) is not None:
            return self.made_array(function, node)
        if is_stop_gradient(called.object):
            return self.stop_gradient(node)
        scalar = functions.find(called.object)
        if scalar is not None or self.is_complex_function(called.object):
            return self.number_call(scalar, called, node)
        if is_launchable(called.object) and getattr(called.object, "is_kernel", False):
            what = f"kernel '{self.spelling(node.func)}' is called without a grid"
            raise self.typing_error(node, what, "launch it: kernel[grid, block](…)")
        if (function := unwrap(called.object)) is not None:
            return self.function_call(function, called.object, node)
        if isinstance(called.object, type) and hasattr(called.object, "_fields"):
            return self.named_tuple(called.object, node)
        name = getattr(called.object, "__name__", None) or ""
        way_out = WAYS_OUT.get(name, "write it with loops and scalar functions")
        if is_dataclass(called.object):
            way_out = "instances of dataclasses are arguments only: return a named tuple or a tuple"
        written = self.spelling(node.func)
        if name and written in self.env:  # an argument that stands for it
            written = name
        raise self.unsupported(node, f"'{written}' is not compiled", way_out)

    def stop_gradient(self, node: ast.Call) -> Operand:
        if len(node.args) != 1 or node.keywords:
            raise self.typing_error(node, "'stop_gradient' takes one number")
        number = self.number_of(node.args[0])
        self.locate(node)
        if isinstance(number, ComplexValue):
            return ComplexValue(self.held(number.real), self.held(number.imag))
        return self.held(number)

    def held(self, value: Value) -> Value:
        return Value(self.op(StopGradientOp(value.ssa)), value.type)

    def array_method(self, array: ArrayRef, name: str, node: ast.Call) -> Operand:
        """`array.name(…)`."""
        match name, node.args, node.keywords:
            case "transpose", [], []:
                return self.transposed(array)
            case "copy", [], []:
                self.locate(node)
                return self.copied(array, node)
            case "fill", [value], []:
                self.update(array, self.value(value), node)
                return Static(None)
            case _:
                what = f"the call of '.{name}' of an array is not compiled"
                raise self.unsupported(node, what, "write a 'for' loop over its elements")

    def conjugate_call(self, number: Number, node: ast.Call) -> Operand:
        """`z.conjugate()`."""
        if node.args or node.keywords:
            raise self.typing_error(node, "'conjugate' takes no arguments")
        self.locate(node)
        return self.conjugate(number)

    def spelling(self, node: ast.expr) -> str:
        return ast.unparse(node)

    def number_call(
        self, function: functions.ScalarFunction | None, called: Static, node: ast.Call
    ) -> Operand:
        """A call of a function of real or complex numbers."""
        name = self.spelling(node.func)
        if node.keywords:
            what = f"keyword arguments of '{name}' are not compiled"
            raise self.unsupported(node, what, "pass them by position, or leave them out")
        operands = [self.expression(argument) for argument in node.args]
        self.locate(node)
        result = self.complex_call(called.object, operands, node, name)
        if result is not None:
            return result
        if function is None:
            listed = ", ".join(map(spell, operands))
            raise self.typing_error(node, f"'{name}' cannot take ({listed})")
        return self.scalar_call(function, called, operands, node)

    def scalar_call(
        self,
        function: functions.ScalarFunction,
        called: Static,
        operands: Sequence[Operand],
        node: ast.Call,
    ) -> Operand:
        values = [o for o in operands if isinstance(o, Value)]
        types = [v.type for v in values]
        result = None
        if len(values) == len(operands):
            result = function.result(types, [v.constant for v in values])
        if result is None:
            listed = ", ".join(map(spell, operands))
            what = f"'{self.spelling(node.func)}' cannot take ({listed})"
            way_out = "it takes single numbers"
            if any(isinstance(o, ComplexValue) for o in operands):
                way_out = "it takes real numbers: see 'cmath' for complex ones, or take a part"
            raise self.typing_error(node, what, way_out)
        emitted = function.emit(values, self.builder)
        if isinstance(emitted, tuple):
            return TupleValue(emitted)
        bounds = [self.is_nonnegative(v) for v in values]
        if emitted.type.kind == "i" and (
            (called.object is max and any(bounds))
            or (
                called.object in (min, int, abs)
                and all(bounds)
                and all(t.kind != "f" for t in types)
            )
        ):
            self.nonnegative.add(emitted.ssa)
        return emitted

    def named_tuple(self, home: type, node: ast.Call) -> Operand:
        """A named tuple made of its fields, given by position or by name."""
        names = field_names(home)
        given = dict(zip(names, node.args, strict=False))
        keywords = {k.arg: k.value for k in node.keywords if k.arg is not None}
        defaults: dict[str, object] = getattr(home, "_field_defaults", {})
        missing = [n for n in names if n not in given and n not in keywords and n not in defaults]
        unknown = [n for n in keywords if n not in names or n in given]
        if missing or unknown or len(node.args) > len(names) or len(keywords) < len(node.keywords):
            what = f"'{home.__name__}' takes the fields {', '.join(names)}"
            raise self.typing_error(node, what, "give each of them once")
        found = {name: self.expression(value) for name, value in (given | keywords).items()}
        elements = (
            found[name] if name in found else self.materialise(Static(defaults[name]), node)
            for name in names
        )
        return TupleValue(tuple(elements), names, home)

    def arguments_of(self, function: FunctionType, node: ast.Call) -> list[Operand]:
        positional: list[object] = []
        for argument in node.args:
            positional.append(self.expression(argument))
        if function.__code__.co_flags & OPEN:
            what = f"'{function.__name__}' takes '*' arguments, which are not compiled"
            raise self.unsupported(node, what, "name each argument, or pass a tuple")
        keywords: dict[str, object] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.unsupported(node, "'**' arguments are not compiled", "name each")
            keywords[keyword.arg] = self.expression(keyword.value)
        try:
            bound = bind_arguments(function, positional, keywords)
        except TypeError as error:
            raise self.typing_error(node, str(error), "change the call") from None
        self.locate(node)
        return [
            self.materialise(o, node) if isinstance(o, Static) else o
            for o in bound.values()
            if isinstance(o, (Value, ComplexValue, ArrayRef, Compound, TupleValue, Static))
        ]

    def function_call(self, function: FunctionType, found: object, node: ast.Call) -> Operand:
        """A call of another Python function, compiled for these argument types."""
        arguments = self.arguments_of(function, node)
        callee: Callee = self.program.function(
            function, arguments, self.device, self.source.where(node)
        )
        self.check_declared(found, arguments, callee.result, node)
        operands = [ssa for argument in arguments for ssa in flatten(argument)]
        self.locate(node)
        call = self.builder.insert(func.CallOp(callee.symbol, operands, callee.result_types))
        return rebuild(callee.result, iter(call.results))

    # Launches

    def as_launch(self, node: ast.Call) -> tuple[object, list[SSAValue], list[SSAValue]] | None:
        """The kernel, grid and block of `kernel[grid, block](…)` or `kernel.forall(n)(…)`."""
        match node.func:
            case ast.Subscript(value=base, slice=configuration):
                kernel = self.expression(base)
                if not isinstance(kernel, Static):
                    return None
                if not is_launchable(kernel.object):
                    what = f"'{self.spelling(base)}' is no kernel and cannot be launched"
                    raise self.typing_error(node, what, "decorate it with a kernel decorator")
                sizes = self.expression(configuration)
                if not isinstance(sizes, TupleValue) or len(sizes.elements) != 2:
                    what = "a launch needs exactly a grid and a block"
                    raise self.typing_error(node, what, "write kernel[grid, block](…)")
                grid, block = (self.launch_sizes(e, node) for e in sizes.elements)
                return kernel.object, grid, block
            case ast.Call(func=ast.Attribute(value=base, attr="forall")) as inner:
                kernel = self.expression(base)
                if isinstance(kernel, Static) and is_launchable(kernel.object):
                    return kernel.object, *self.forall_sizes(inner)
                return None
            case _:
                return None

    def check_declared(
        self, found: object, arguments: Sequence[Operand], result: Type, node: ast.Call
    ) -> None:
        """What a numba object was declared with must not be lost silently."""
        name, says = self.spelling(node.func), declared(found)
        types = [type_of(operand) or NoneType() for operand in arguments]
        if problem := says.lost(name):
            raise self.unsupported(node, *problem)
        if problem := says.converted(name, types, result):
            raise self.typing_error(node, *problem)

    def launch_sizes(self, operand: Operand, node: ast.AST) -> list[SSAValue]:
        """One, two or three sizes, filled up with ones."""
        self.locate(node)
        elements = operand.elements if isinstance(operand, TupleValue) else (operand,)
        if not 1 <= len(elements) <= 3:
            raise self.typing_error(node, f"a grid or block has 1 to 3 sizes, not {len(elements)}")
        sizes = [self.index(self.as_value(e, node), node) for e in elements]
        return sizes + [self.index_constant(1) for _ in range(3 - len(sizes))]

    def forall_sizes(self, node: ast.Call) -> tuple[list[SSAValue], list[SSAValue]]:
        """As many blocks as hold `n` threads: none for n = 0."""
        if len(node.args) != 1 or node.keywords:
            what = "'forall' takes the number of threads and nothing else"
            raise self.unsupported(node, what, "write kernel[grid, block](…) for other choices")
        threads = self.index(self.value(node.args[0]), node)
        self.locate(node)
        width = self.index_constant(FORALL_BLOCK)
        blocks = self.op(arith.CeilDivSIOp(threads, width))
        one = self.index_constant(1)
        return [blocks, one, one], [width, one, one]

    def launch(
        self, kernel: object, grid: list[SSAValue], block: list[SSAValue], node: ast.Call
    ) -> Operand:
        if self.device:
            what = "a kernel cannot launch kernels"
            raise self.unsupported(node, what, "launch it from a function")
        function = unwrap(kernel)
        assert function is not None
        arguments = self.arguments_of(function, node)
        for operand in arguments:
            if not isinstance(operand, Static) and type_of(operand) is None:
                raise self.typing_error(node, f"a kernel cannot take {spell(operand)}")
        symbol = self.program.kernel(function, arguments)
        self.check_declared(kernel, arguments, NoneType(), node)
        operands = [ssa for argument in arguments for ssa in flatten(argument)]
        reference = SymbolRefAttr(KERNELS, [StringAttr(symbol)])
        self.builder.insert(gpu.LaunchFuncOp(reference, grid, block, None, operands))
        return Static(None)
