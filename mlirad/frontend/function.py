"""One function: walks its body until the types of its variables no longer change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from xdsl.dialects import func, gpu
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.frontend.body import Program
from mlirad.frontend.builder import Value
from mlirad.frontend.ir_types import flatten_types
from mlirad.frontend.liveness import Liveness, names, ordered_assignments
from mlirad.frontend.operands import (
    NONE,
    ArrayRef,
    ComplexValue,
    Compound,
    Operand,
    Origin,
    Static,
    TupleValue,
    array_leaves,
    flatten,
    part_of,
    spell,
    type_of,
)
from mlirad.frontend.source import Source
from mlirad.frontend.statements import Statements
from mlirad.frontend.structure import DONE, RESULT, leaves, structure
from mlirad.frontend.types import (
    Array,
    Complex,
    Function,
    NoneType,
    Part,
    Scalar,
    Tuple,
    Type,
)
from mlirad.frontend.types import leaves as type_leaves


def returned_values(tree: ast.FunctionDef) -> tuple[list[ast.Return], list[ast.Return]]:
    """The `return` statements with a value and those without."""
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Return)]

    def has_value(node: ast.Return) -> bool:
        literal_none = isinstance(node.value, ast.Constant) and node.value.value is None
        return node.value is not None and not literal_none

    return [n for n in found if has_value(n)], [n for n in found if not has_value(n)]


class FunctionBody(Statements):
    """
    A function for given parameters: types, or Python objects known while compiling.

    `groups` has one number per number and array in the parameters: their alias partition.
    """

    def __init__(
        self,
        program: Program,
        source: Source,
        parameters: Sequence[Type | Static],
        *,
        device: bool,
        groups: Sequence[int] | None = None,
    ):
        code = source.function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        self.parameters = dict(zip(code.co_varnames[:count], parameters, strict=True))
        types = {n: None if isinstance(p, Static) else p for n, p in self.parameters.items()}
        super().__init__(program, source, types, device=device)
        self.groups = groups
        self.statements = structure(source.tree)
        assigned = frozenset(ordered_assignments(self.statements))
        flags = frozenset(n for s in self.statements for n in names(s, ast.Load) if n[0] == "$")
        self.locals = assigned | frozenset(self.parameters) | flags | {DONE}
        self.liveness = Liveness(self.statements, frozenset({RESULT}))

    def run(self, kernel: bool = False) -> tuple[Block, Type]:
        """The finished block, with its terminator, and the type of the result."""
        valued = self.check_returns(kernel)
        while True:
            known = dict(self.types)
            block = self.walk()
            if not self.widened and self.incomplete is None:
                break
            if known == self.types and self.incomplete is not None:
                what = f"the type of '{self.incomplete.name}' cannot be found"
                way_out = f"assign '{self.incomplete.name}' before it is used"
                raise self.typing_error(self.incomplete.node, what, way_out)
        result: Operand = Static(None)
        self.locate(self.source.tree)
        if valued:
            if RESULT not in self.env:
                what = f"'{self.source.name}' never reaches a 'return'"
                raise self.typing_error(valued[0], what, "is a condition always false?")
            result = self.env[RESULT]
        type_ = type_of(result)
        if type_ is None or array_leaves(result):
            noun = "an array" if array_leaves(result) else spell(result)
            what = f"a function cannot return {noun}"
            way_out = "return numbers; change arrays in place"
            raise self.unsupported(valued[0], what, way_out)
        terminator = gpu.ReturnOp([]) if kernel else func.ReturnOp(*flatten(result))
        self.builder.insert(terminator)
        return block, type_

    def check_returns(self, kernel: bool) -> list[ast.Return]:
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Try | ast.TryStar | ast.With | ast.Match):
                raise self.refused(node)  # where they end is not for us to say
        valued, empty = returned_values(self.source.tree)
        if kernel and valued:
            what = f"kernel '{self.source.name}' returns a value"
            raise self.typing_error(valued[0], what, "store it in an array argument")
        if valued and empty:
            what = f"'{self.source.name}' returns a value elsewhere, but none here"
            raise self.typing_error(empty[0], what, "return a value everywhere")
        if valued and not leaves(self.source.tree.body):
            what = f"'{self.source.name}' can end without the value it returns elsewhere"
            raise self.typing_error(self.source.tree.body[-1], what, "end with a 'return'")
        return valued

    def argument(
        self, type_: Type, values: Iterator[SSAValue], groups: Iterator[int] | None
    ) -> Operand:
        """An argument of the function from the arguments of its block."""
        match type_:
            case Tuple(elements, names, home):
                inner = tuple([self.argument(e, values, groups) for e in elements])
                return TupleValue(inner, names, home)
            case Complex():
                real, imag = (self.argument(part, values, groups) for part in type_leaves(type_))
                assert isinstance(real, Value)
                assert isinstance(imag, Value)
                return ComplexValue(real, imag)
            case Part(array, given):
                whole = self.argument(array, values, groups)
                for _ in range(given if groups else 0):
                    next(groups or iter(()))
                return part_of(whole, tuple([next(values) for _ in range(given)]))
            case Array() if not isinstance(type_.element, Scalar):
                parts = [self.argument(leaf, values, groups) for leaf in type_leaves(type_)]
                return Compound(tuple([p for p in parts if isinstance(p, ArrayRef)]), type_)
            case Array():
                group = next(groups) if groups else None
                origin = Origin(True, len(self.origins))
                self.origins[origin] = ArrayRef(next(values), type_, group, origin)
                return self.origins[origin]
            case Scalar():
                if groups:
                    next(groups)
                return Value(next(values), type_)
            case NoneType():
                return NONE
            case Function(found):
                return Static(found)

    def statement(self, node: ast.stmt) -> None:
        try:
            super().statement(node)
        except RecursionError:
            what = "a statement is nested too deeply"
            raise self.unsupported(node, what, "split it into several statements") from None

    def walk(self) -> Block:
        """Lowers the body once, with the types of variables known so far."""
        self.widened, self.incomplete, self.unknown = False, None, {}
        self.nonnegative, self.as_index = set(), {}
        self.constants, self.index_constants, self.sizes = {}, {}, {}
        types = [p for p in self.parameters.values() if not isinstance(p, Static)]
        block = Block(arg_types=flatten_types(types))
        self.entry = block
        self.builder.builder.insertion_point = InsertPoint.at_end(block)
        values, groups = iter(block.args), iter(self.groups) if self.groups is not None else None
        self.env, self.origins = {}, {}
        for name, parameter in self.parameters.items():
            if isinstance(parameter, Static):
                self.env[name] = self.materialise(parameter, self.source.tree)
            else:
                operand = self.argument(parameter, values, groups)
                self.hint(name, operand)
                self.env[name] = operand
        self.block(self.statements)
        return block
