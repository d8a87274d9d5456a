"""Typed SSA values and the builder that gives every op its source location."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.frontend.types import Scalar

OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True, slots=True)
class Value:
    """
    A number in the IR and its Python-level type.

    `constant` is set where the number is known while compiling (literals, globals, closures).
    """

    ssa: SSAValue
    type: Scalar
    constant: int | float | bool | None = None


class SourceBuilder:
    """Inserts ops at a point that moves along, each with the current source location."""

    def __init__(self, point: InsertPoint, location: LocationAttr | None = None):
        self.builder = Builder(point)
        self.location: LocationAttr = location or UnknownLoc()

    def insert(self, op: OpT) -> OpT:
        """Adds `op`; gives it the current location unless it already has one."""
        if isinstance(op.location, UnknownLoc):
            op.location = self.location
        return self.builder.insert(op)
