"""What the forward and the reverse sweep share: where ops go, and what values are called there."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.errors import ActivityError, NoRuleError, describe
from mlirad.passes.analysis.activity import ActivityResult
from mlirad.passes.analysis.flow import location
from mlirad.passes.derivatives import vector_space
from mlirad.passes.derivatives.rule import Rule, Shadow
from mlirad.passes.derivatives.table import find_rule

OpT = TypeVar("OpT", bound=Operation)


class BaseSweep:
    """
    Builds ops at a moving place, each located at the primal op being differentiated.

    Values are looked up in frames, innermost block first, so that what one block defines is
    not used in another that it does not dominate.
    """

    def __init__(self, activity: ActivityResult, block: Block):
        self.activity = activity
        self.builder = Builder(InsertPoint.at_end(block))
        self.at: Operation | None = None
        """The primal op being differentiated."""
        self.values: list[dict[SSAValue, SSAValue]] = [{}]
        self.shadows: list[dict[SSAValue, Shadow]] = [{}]

    def insert(self, op: OpT) -> OpT:
        if self.at is not None and isinstance(op.location, UnknownLoc):
            op.location = self.at.location
        return self.builder.insert(op)

    def copy(self, op: OpT) -> OpT:
        """Adds a copy of a primal op, regions included; its results become the primal values."""
        mapping: dict[SSAValue, SSAValue] = {}
        for inner in op.walk():
            for operand in inner.operands:
                if (seen := self.known(operand)) is not None:
                    mapping[operand] = seen
        clone = self.builder.insert(op.clone(mapping))
        for result, seen in zip(op.results, clone.results, strict=True):
            self.set_primal(result, seen)
        return clone

    @contextmanager
    def at_end(self, block: Block) -> Iterator[None]:
        outer = self.builder
        self.builder = Builder(InsertPoint.at_end(block))
        self.values.append({})
        self.shadows.append({})
        try:
            yield
        finally:
            self.values.pop()
            self.shadows.pop()
            self.builder = outer

    def primals(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        return [self.primal(value) for value in values]

    def primal(self, value: SSAValue) -> SSAValue:
        found = self.known(value)
        assert found is not None, f"{value} is not known in the derived function"
        return found

    def known(self, value: SSAValue) -> SSAValue | None:
        for frame in reversed(self.values):
            if (found := frame.get(value)) is not None:
                return found
        return None

    def set_primal(self, value: SSAValue, seen: SSAValue) -> None:
        self.values[-1][value] = seen

    def known_shadow(self, value: SSAValue) -> Shadow:
        for frame in reversed(self.shadows):
            if (found := frame.get(value)) is not None:
                return found
        return None

    def set_shadow(self, value: SSAValue, shadow: Shadow) -> None:
        self.shadows[-1][value] = shadow

    def shadow(self, memory: SSAValue) -> SSAValue:
        if (found := self.known_shadow(memory)) is not None:
            return found
        name = memory.name_hint or "an array"
        raise ActivityError(
            describe(
                location(self.at) if self.at is not None else None,
                f"'{name}' was given as Const, but may overlap an array that has a shadow",
                "give both a shadow, or copy one of them first",
            )
        )

    def zero(self, type: Attribute) -> SSAValue:
        where = self.at.location if self.at is not None else UnknownLoc()
        return vector_space.zero(type, self.builder, where)


def rule_of(op: Operation) -> Rule:
    """The scalar rule of an active op."""
    if (found := find_rule(op)) is not None:
        return found
    what = f"'{op.name}' is active but has no derivative rule"
    if (callee := op.properties.get("callee")) is not None:
        what = f"the call of {callee} is active but has no derivative rule"
    raise NoRuleError(
        describe(
            location(op),
            f"{what}\n  in: {op!s}",
            f"add a rule to mlirad/passes/derivatives/{op.dialect_name()}.py, or hold the "
            "arguments it depends on fixed (Const)",
        )
    )


class BuilderBefore:
    """Builds the replacement of one op in front of it, at its location."""

    def __init__(self, op: Operation):
        self.op = op
        self.builder = Builder(InsertPoint.before(op))

    def __call__(self, op: OpT) -> OpT:
        op.location = self.op.location
        return self.builder.insert(op)

    def replace(self, old: SSAValue | None = None, new: SSAValue | None = None) -> None:
        """Removes the op; what used its result `old` uses `new`."""
        if old is not None and new is not None:
            old.replace_all_uses_with(new)
        self.op.detach()
        self.op.erase()
