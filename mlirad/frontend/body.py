"""
The state of one function while it is lowered, and what every part of the lowering uses.

As in numba, a variable has one type wherever flows of control meet, and an assignment starts
anew. The body is lowered in one walk, which takes for a variable of a loop the type it has
before the loop. If the loop turns out to need a wider type, the walk is repeated with it; types
only ever widen, so this ends, and most functions need one walk.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, Protocol

from xdsl.dialects import arith
from xdsl.dialects.builtin import FileLineColLoc, IndexType, IntAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.errors import TypingError, UnsupportedError, describe
from mlirad.frontend import casts, complex_operators, operators
from mlirad.frontend.builder import SourceBuilder, Value
from mlirad.frontend.choice import Choice
from mlirad.frontend.ir_types import scalar_type, zero_attribute
from mlirad.frontend.operands import (
    ArrayRef,
    ComplexValue,
    Compound,
    Number,
    Operand,
    Origin,
    Static,
    TupleValue,
    spell,
)
from mlirad.frontend.refusals import refusal
from mlirad.frontend.source import Place, Source
from mlirad.frontend.types import INT64, Complex, Scalar, Tuple, Type, element_leaves

INDEX = IndexType()


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that is in the module."""

    symbol: str
    result: Type
    result_types: Sequence[Attribute]


class Program(Protocol):
    """The module under construction: lowers each function once per argument types."""

    def function(
        self, function: FunctionType, arguments: Sequence[Operand], device: bool, where: Place
    ) -> Callee: ...
    def kernel(self, function: FunctionType, arguments: Sequence[Operand]) -> str: ...


def unify(a: Type, b: Type) -> Type | None:
    """The type that holds values of both; tuples element by element, arrays only if equal."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return casts.unify(a, b)
    if isinstance(a, Complex) or isinstance(b, Complex):
        return complex_operators.common_type(a, b, in_a_variable=True)
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.elements) == len(b.elements):
        elements = [unify(x, y) for x, y in zip(a.elements, b.elements, strict=True)]
        known = tuple(e for e in elements if e is not None)
        alike = (a.names, a.home) == (b.names, b.home) and len(known) == len(elements)
        return replace(a, elements=known) if alike else None
    return a if a == b else None


class Unresolved(Exception):
    """A variable was read whose type this walk does not know yet."""

    def __init__(self, name: str, node: ast.AST):
        super().__init__(name)
        self.name, self.node = name, node


class Body:
    """One function (or kernel) being lowered for given argument types."""

    def __init__(
        self,
        program: Program,
        source: Source,
        arguments: dict[str, Type | None],
        *,
        device: bool,
    ):
        self.program, self.source, self.arguments, self.device = program, source, arguments, device
        self.types: dict[tuple[ast.stmt, str], Type | Choice] = {}
        self.origins: dict[Origin, ArrayRef] = {}
        self.env: dict[str, Operand] = {}
        self.locals: frozenset[str] = frozenset()
        self.unknown: dict[str, ast.AST] = {}
        self.widened = False
        self.incomplete: Unresolved | None = None
        self.nonnegative: set[SSAValue] = set()
        self.as_index: dict[SSAValue, SSAValue] = {}
        self.constants: dict[tuple[str, str], Value] = {}
        self.index_constants: dict[int, SSAValue] = {}
        self.sizes: dict[tuple[SSAValue, int], SSAValue] = {}
        self.entry = Block()
        self.outer_blocks: dict[Block, Block] = {}
        self.builder = SourceBuilder(InsertPoint.at_end(self.entry))
        self.locations: dict[tuple[int, int], FileLineColLoc] = {}
        self.filename = StringAttr(source.filename)

    # Places and errors

    def locate(self, node: ast.AST) -> None:
        """Ops inserted from now on come from `node`."""
        where = self.source.where(node)
        key = (where.line, where.column)
        if (location := self.locations.get(key)) is None:
            location = FileLineColLoc(self.filename, *map(IntAttr, key))
            self.locations[key] = location
        self.builder.location = location

    def typing_error(self, node: ast.AST, what: str, way_out: str = "") -> TypingError:
        """A `TypingError` at `node` that names the arguments it involves and their types."""
        used = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        causes = [
            f"argument '{name}' is {self.arguments[name]}"
            for name in used
            if self.arguments.get(name) is not None
        ]
        hints = [*(["; ".join(causes)] if causes else []), *([way_out] if way_out else [])]
        return TypingError(describe(self.source.where(node), what, "\n  ".join(hints)))

    def unsupported(self, node: ast.AST, what: str, way_out: str = "") -> UnsupportedError:
        return UnsupportedError(describe(self.source.where(node), what, way_out))

    def refused(self, node: ast.AST) -> UnsupportedError:
        return refusal(self.source, node)

    # Building

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Ops go to the end of `block` meanwhile; variables are restored afterwards."""
        builder = self.builder.builder
        point, env = builder.insertion_point, self.env
        self.outer_blocks[block] = point.block
        builder.insertion_point = InsertPoint.at_end(block)
        self.env = dict(env)
        try:
            yield
        finally:
            builder.insertion_point, self.env = point, env

    def op(self, op: Operation) -> SSAValue:
        """Inserts `op` and returns its only result."""
        return self.builder.insert(op).results[0]

    @contextmanager
    def at_entry(self) -> Generator[None]:
        """
        Ops go to the front of the function meanwhile, where everything sees them: constants
        and sizes of arguments are made once.
        """
        builder = self.builder.builder
        point, first = builder.insertion_point, self.entry.first_op
        builder.insertion_point = (
            InsertPoint.before(first) if first else InsertPoint.at_end(self.entry)
        )
        try:
            yield
        finally:
            builder.insertion_point = point

    def index_constant(self, value: int) -> SSAValue:
        if (known := self.index_constants.get(value)) is None:
            with self.at_entry():
                known = self.op(arith.ConstantOp(IntegerAttr(value, INDEX)))
            self.index_constants[value] = known
        return known

    def zero(self, type_: Type) -> Operand:
        """What a variable holds on a path that never assigns it."""
        match type_:
            case Tuple(elements, names, home):
                return TupleValue(tuple(self.zero(e) for e in elements), names, home)
            case Complex():
                return complex_operators.constant(0j, type_, self.builder)
            case Scalar():
                return Value(self.op(arith.ConstantOp(zero_attribute(type_))), type_)
            case _:
                return Static(None)

    def count_value(
        self, index: SSAValue, type_: Scalar = INT64, nonnegative: bool = True
    ) -> Value:
        """A Python int from an `index`, remembered so that indexing needs no cast back."""
        ssa = self.op(arith.IndexCastOp(index, scalar_type(type_)))
        self.as_index[ssa] = index
        if nonnegative:
            self.nonnegative.add(ssa)
        return Value(ssa, type_)

    def is_nonnegative(self, value: Value) -> bool:
        if value.constant is not None:
            return value.constant >= 0
        return value.type.kind in "ub" or value.ssa in self.nonnegative

    def index(self, value: Value, node: ast.AST) -> SSAValue:
        """An int as an `index`, as it is (negative stays negative)."""
        if value.type.kind not in "iu":
            raise self.typing_error(
                node,
                f"an int is needed here, but this is {value.type}",
                "convert it with int(...)",
            )
        if (known := self.as_index.get(value.ssa)) is not None:
            return known
        if isinstance(value.constant, int):
            return self.index_constant(value.constant)
        wide = value.ssa
        if value.type.kind == "u" and value.type.bits < 64:
            wide = self.op(arith.ExtUIOp(wide, i64))
        return self.op(arith.IndexCastOp(wide, INDEX))

    # Types of variables

    def coerce(self, operand: Operand, type_: Type, node: ast.AST) -> Operand:
        """`operand` as a value of `type_`, to which it is known to convert."""
        if isinstance(operand, Value) and isinstance(type_, Scalar):
            if operand.type == type_:
                return operand
            converted = casts.convert(operand, type_, self.builder)
            if type_.kind == "i" and self.is_nonnegative(operand) and operand.type.kind != "f":
                if operand.type.bits < type_.bits or operand.type.kind == "i":
                    self.nonnegative.add(converted.ssa)
            return converted
        if isinstance(operand, (Value, ComplexValue)) and isinstance(type_, Complex):
            return complex_operators.convert(operand, type_, self.builder)
        if isinstance(operand, TupleValue) and isinstance(type_, Tuple):
            pairs = zip(operand.elements, type_.elements, strict=True)
            return replace(operand, elements=tuple(self.coerce(o, t, node) for o, t in pairs))
        return operand

    def bind(self, name: str, operand: Operand) -> None:
        """Assigns to a variable; it has the type of what was assigned last."""
        self.env[name] = operand
        self.hint(name, operand)

    def unified(self, name: str, known: Type, new: Type, node: ast.AST) -> Type:
        """The type of a variable where two flows of control meet."""
        unified = unify(known, new)
        if unified is None:
            what = f"the type of '{name}' changes from {known} to {new}"
            if name.startswith("$"):
                what = f"one 'return' gives {known}, another {new}"
            raise self.typing_error(node, what, "use one name per type")
        return unified

    def hint(self, name: str, operand: Operand) -> None:
        """Names the SSA values of a variable after it, unless they have a name."""
        if name.startswith("$"):
            return
        if isinstance(operand, TupleValue):
            for position, element in enumerate(operand.elements):
                self.hint(f"{name}_{position}", element)
        elif isinstance(operand, ComplexValue):
            self.hint(f"{name}_real", operand.real)
            self.hint(f"{name}_imag", operand.imag)
        elif isinstance(operand, Compound):
            for part, (path, _, _) in zip(operand.parts, element_leaves(operand.array.element)):
                self.hint(name + path.replace(".", "_"), part)
        elif isinstance(operand, Value) and operand.constant is not None:
            return  # shared by everything equal to it
        elif isinstance(operand, (Value, ArrayRef)) and operand.ssa.name_hint is None:
            if name.strip("_"):
                operand.ssa.name_hint = name

    # To be filled in by the layers above

    def expression(self, node: ast.expr) -> Operand:
        raise NotImplementedError

    def value(self, node: ast.expr) -> Value:
        """The real number that `node` is."""
        return self.as_value(self.expression(node), node)

    def number_of(self, node: ast.expr) -> Number:
        """The real or complex number that `node` is."""
        operand = self.expression(node)
        return operand if isinstance(operand, ComplexValue) else self.as_value(operand, node)

    def as_value(self, operand: Operand, node: ast.AST) -> Value:
        if isinstance(operand, Value):
            return operand
        what = f"a number is needed here, but this is {spell(operand)}"
        if isinstance(operand, ComplexValue):
            what = f"a real number is needed here, but this is {spell(operand)}"
            raise self.typing_error(node, what, "take its .real, its .imag or its abs()")
        if isinstance(operand, Compound) and not operand.rest:
            raise self.typing_error(node, what, "take one of its fields")
        if isinstance(operand, (ArrayRef, Compound)):
            way_out = "index it to get one element; a whole array takes a 'for' loop"
            raise self.typing_error(node, what, way_out)
        raise self.typing_error(node, what)

    def truth(self, node: ast.expr) -> SSAValue:
        """The truth of `node` as an `i1`."""
        number = self.number_of(node)
        self.locate(node)
        return self.truth_of(number)

    def truth_of(self, number: Number) -> SSAValue:
        if isinstance(number, ComplexValue):
            return complex_operators.truth(number, self.builder)
        return operators.truth(number, self.builder)

    def constant(self, number: Any) -> Value:
        key = (repr(number.__class__), repr(number))
        if (known := self.constants.get(key)) is None:
            with self.at_entry():
                known = operators.constant(number, self.builder)
            self.constants[key] = known
        return known
