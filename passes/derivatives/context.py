"""What structural rules may ask of the sweep they are used in."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from xdsl.builder import Builder
from xdsl.dialects import gpu, scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.passes.analysis.activity import ActivityResult
from mlirad.passes.derivatives.rule import Shadow

OpT = TypeVar("OpT", bound=Operation)


class Sweep(Protocol):
    """What forward and reverse sweeps have in common."""

    builder: Builder
    activity: ActivityResult

    def insert(self, op: OpT) -> OpT:
        """Adds `op` at the current place, located at the primal op being differentiated."""
        ...

    def at_end(self, block: Block) -> AbstractContextManager[None]:
        """Within it, `insert` adds at the end of `block`, and values stay local to it."""
        ...

    def primal(self, value: SSAValue) -> SSAValue:
        """`value` of the primal, as this sweep sees it."""
        ...

    def primals(self, values: Iterable[SSAValue]) -> list[SSAValue]: ...

    def set_primal(self, value: SSAValue, seen: SSAValue) -> None: ...

    def shadow(self, memory: SSAValue) -> SSAValue:
        """The shadow of an active memref or cache."""
        ...

    def set_shadow(self, value: SSAValue, shadow: Shadow) -> None:
        """Records the shadow of memory; forward also the tangent of a number."""
        ...

    def zero(self, type: Attribute) -> SSAValue: ...


class ForwardSweep(Sweep, Protocol):
    """The tangent function, at the place of the primal op being pushed forward."""

    def copy(self, op: OpT) -> OpT:
        """Adds a copy of a primal op without regions; its results become the primal values."""
        ...

    def tangent(self, value: SSAValue) -> Shadow: ...

    def instantiated(self, value: SSAValue) -> SSAValue:
        """The tangent of `value`, a real zero if it has none."""
        ...

    def push_block(self, block: Block) -> None:
        """Pushes the ops of `block`, without its terminator, forward."""
        ...

    def tangent_kernel(self, launch: gpu.LaunchFuncOp, active: Sequence[bool]) -> str:
        """The name of the kernel that carries tangents of the arguments that are active."""
        ...


class ReverseSweep(Sweep, Protocol):
    """The reverse function, at the mirror image of the op being pulled back."""

    def cotangent(self, value: SSAValue) -> Shadow:
        """The cotangent gathered for `value` so far."""
        ...

    def take_cotangent(self, value: SSAValue) -> Shadow:
        """The same; the value's cotangent becomes zero."""
        ...

    def add_cotangent(self, value: SSAValue, contribution: Shadow) -> None:
        """Adds to the cotangent of `value`; does nothing if `value` is not active."""
        ...

    def frame(self, cotangents: dict[SSAValue, Shadow]) -> AbstractContextManager[None]:
        """Within it, cotangents gather in `cotangents` alone."""
        ...

    def iteration(self, index: SSAValue, count: SSAValue) -> AbstractContextManager[None]:
        """Within it, the sweep mirrors iteration `index` of a loop."""
        ...

    def pull_block(self, block: Block) -> None:
        """Pulls the ops of `block`, without its terminator, back."""
        ...

    def trip_count(self, loop: scf.WhileOp) -> SSAValue:
        """How often the body of a `while` ran, as recorded by the augmented primal."""
        ...

    def reverse_launch(self, launch: gpu.LaunchFuncOp) -> "ReverseLaunch": ...


class ReverseLaunch(Protocol):
    """What the reverse of a launch runs: a kernel, and what it takes beyond the shadows."""

    name: str
    extra: list[SSAValue]
    restored: dict[int, tuple[SSAValue, SSAValue]]


class StructuralRule(Protocol):
    """The derivative of an op that moves data or control rather than computing numbers."""

    def push_forward(self, op: Operation, sweep: ForwardSweep) -> None: ...

    def uses(self, op: Operation, activity: ActivityResult) -> Iterator[SSAValue]:
        """The primal values `pull_back` asks the sweep for; read by residual analysis."""
        ...

    def pull_back(self, op: Operation, sweep: ReverseSweep) -> None: ...
