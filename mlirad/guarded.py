"""Kernels that run for exactly `n` threads, however many are launched: `kernel.forall(n)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from inspect import Signature
from typing import Any

from mlirad.derived import DerivedProgram
from mlirad.frontend.types import Type
from mlirad.program import Lowered, Program


def guarded(program: Program) -> Program:
    """`program` with the kernel at its bottom guarded."""
    if isinstance(program, DerivedProgram):
        return replace(program, base=guarded(program.base))
    return GuardedProgram(program)


@dataclass(eq=False)
class GuardedProgram(Program):
    """The kernel `base`, whose threads beyond a number given after the six sizes do nothing."""

    base: Program
    name: str = field(init=False)
    is_kernel: bool = field(init=False, default=True)
    parameters: tuple[str, ...] = field(init=False)
    optional: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.name, self.parameters = self.base.name, self.base.parameters
        self.optional = self.base.optional

    @property
    def sizes(self) -> int:
        return self.base.sizes + 1

    @property
    def signature(self) -> Signature | None:
        return self.base.signature

    def agree(self, types: Sequence[Type]) -> tuple[Type, ...]:
        return self.base.agree(types)

    def lower(self, types: Sequence[Type], alias: Sequence[int]) -> Lowered:
        from mlirad.thread_guard import guard

        lowered = self.base.lower(types, alias)
        guard(lowered.module, lowered.symbol)
        return lowered

    def verify(self, args: Sequence[Any]) -> None:
        self.base.verify(args)

    def verify_again(self, args: Sequence[Any], alias: Sequence[int]) -> None:
        self.base.verify_again(args, alias)

    def fingerprint(self) -> bytes:
        return b"guarded|" + self.base.fingerprint()
