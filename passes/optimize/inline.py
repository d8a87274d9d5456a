"""`inline-calls`: puts the body of each function where it is called."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from mlirad.errors import UnsupportedError, describe
from mlirad.passes.analysis.flow import location
from mlirad.passes.base import Pass
from mlirad.passes.optimize.symbols import (
    ENTRY,
    LAUNCH,
    Function,
    functions,
    is_declaration,
    references,
    remove_unreferenced,
    tables,
)


@dataclass(frozen=True)
class InlinePass(Pass):
    """
    Inlines every call of a function that has a body.

    Leaves calls of declarations and launches. Removes the functions that nothing names any
    more, except `mlirad.entry` ones and, in a module without those, public ones.
    """

    name = "inline-calls"

    def rewrite(self, module: ModuleOp) -> None:
        uses: Counter[str] = Counter(
            name.data
            for op in module.walk()
            for symbol in references(op)
            for name in (symbol.root_reference, *symbol.nested_references.data)
        )
        for table in tables(module):
            callees = {f.sym_name.data: f for f in functions(table)}
            inliner = Inliner(callees, uses)
            for function in tuple(callees.values()):
                inliner.visit(function)
        remove_unreferenced(module)


@dataclass
class Inliner:
    """Inlines within one symbol table, callees before callers."""

    callees: dict[str, Function]
    uses: Counter[str]
    """How often anything in the module names a symbol."""
    done: set[str] = field(default_factory=set[str])
    active: list[str] = field(default_factory=list[str])
    """The chain of calls that leads to the function being visited."""

    def visit(self, function: Function) -> None:
        """Inlines all calls in `function`, after those in the functions that it calls."""
        name = function.sym_name.data
        if name in self.done:
            return
        self.active.append(name)
        for op in tuple(function.walk()):
            if not isinstance(op, func.CallOp) or LAUNCH in op.attributes:
                continue
            callee = self.callees.get(op.callee.root_reference.data)
            if callee is None or is_declaration(callee):
                continue
            self.refuse_recursion(op, callee)
            self.visit(callee)
            self.inline(op, callee)
        self.active.pop()
        self.done.add(name)

    def refuse_recursion(self, call: Operation, callee: Function) -> None:
        name = callee.sym_name.data
        if name in self.active:
            cycle = [*self.active[self.active.index(name) :], name]
            raise UnsupportedError(
                describe(
                    location(call),
                    "recursive call: " + " -> ".join(f"'{n}'" for n in cycle),
                    "write the recursion as a loop",
                )
            )

    def inline(self, call: func.CallOp, callee: Function) -> None:
        name = callee.sym_name.data
        self.uses[name] -= 1
        last = self.uses[name] == 0 and ENTRY not in callee.attributes
        if last and callee.properties.get("sym_visibility") is not None:
            results = move_body(callee.body.block, call)
            callee.detach()
            callee.erase()  # what is left of it: the return
            del self.callees[name]
        else:
            results = clone_body(callee.body.block, call)
        for old, new in zip(call.results, results, strict=True):
            old.replace_all_uses_with(new)
        call.detach()
        call.erase()


def clone_body(body: Block, call: Operation) -> list[SSAValue]:
    """Clones the ops of `body` before `call`; returns what the clone returns."""
    block = call.parent
    assert block is not None
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
    returned = body.last_op
    assert returned is not None
    for op in body.ops:
        if op is not returned:
            block.insert_op_before(op.clone(values), call)
    return [values.get(v, v) for v in returned.operands]


def move_body(body: Block, call: Operation) -> list[SSAValue]:
    """Moves the ops of `body` before `call`; returns what they return."""
    block = call.parent
    assert block is not None
    for argument, value in zip(body.args, tuple(call.operands), strict=True):
        argument.replace_all_uses_with(value)
    returned = body.last_op
    assert returned is not None
    results = list(returned.operands)
    for op in tuple(body.ops):
        if op is not returned:
            op.detach()
            block.insert_op_before(op, call)
    return results
