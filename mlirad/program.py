"""
What can be compiled: Python functions and kernels, and the derivatives of other programs.

A `Program` is lowered anew for each combination of argument types and alias partition. It
knows nothing of values; `mlirad.specialise` compiles it and calls the result.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import Signature
from types import FunctionType
from typing import TYPE_CHECKING, Any

from mlirad.errors import ArgumentTypeError, describe
from mlirad.frontend.declared import NOTHING, Declared
from mlirad.frontend.source import beginning
from mlirad.frontend.types import Type
from mlirad.runtime.checks import check_types, report

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

SIZES = 6
"""A kernel's host function begins with its grid and block: three `index` arguments each."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """
    A program in IR: the entry function `symbol` of `module` takes `types` and returns a
    `result`. The types may differ in layout from those that were asked for.
    """

    module: ModuleOp
    symbol: str
    result: Type
    types: tuple[Type, ...]


class Program(ABC):
    """Something with named parameters that can be lowered to IR."""

    name: str
    is_kernel: bool
    parameters: tuple[str, ...]
    optional: tuple[str, ...] = ()
    """Parameters that follow if the types demand it."""

    @abstractmethod
    def lower(self, types: Sequence[Type], alias: Sequence[int]) -> Lowered:
        """
        The IR at stage `python` for arguments of `types`, one per parameter.

        `alias` has one number per leaf of the arguments (tuples flattened): arrays with equal
        numbers may overlap, -1 is for what is no array. The module is the caller's.
        """

    @abstractmethod
    def fingerprint(self) -> bytes:
        """What the IR depends on besides types and alias partition, for the disk cache."""

    @property
    def sizes(self) -> int:
        """How many sizes of a launch the entry function takes before its arguments."""
        return SIZES if self.is_kernel else 0

    @property
    def signature(self) -> Signature | None:
        """The Python signature, where keywords and defaults mean something."""
        return None

    def agree(self, types: Sequence[Type]) -> tuple[Type, ...]:
        """`types` with those adjusted that this program needs to be alike."""
        return tuple(types)

    @abstractmethod
    def verify(self, args: Sequence[Any]) -> None:
        """Raises one error for all that is wrong with `args`, which are one per parameter."""

    def verify_again(self, args: Sequence[Any], alias: Sequence[int]) -> None:
        """As `verify`, when values of the same types and overlaps have passed before."""


@dataclass(eq=False)
class PythonProgram(Program):
    """A Python function, or a kernel together with the host function that launches it."""

    function: FunctionType
    is_kernel: bool
    declared: Declared = NOTHING
    """What the numba object around the function says."""
    name: str = field(init=False)
    parameters: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        code = self.function.__code__
        self.name = self.function.__name__
        self.parameters = code.co_varnames[: code.co_argcount]

    @property
    def signature(self) -> Signature | None:
        return inspect.signature(self.function)

    def lower(self, types: Sequence[Type], alias: Sequence[int]) -> Lowered:
        from mlirad.frontend.lower import lower_function

        lowered = lower_function(
            self.function, tuple(types), kernel=self.is_kernel, alias=tuple(alias)
        )
        if problem := self.declared.converted(self.name, types, lowered.result):
            raise ArgumentTypeError(describe(beginning(self.function), *problem))
        return Lowered(lowered.module, lowered.name, lowered.result, tuple(types))

    def verify(self, args: Sequence[Any]) -> None:
        report(self.name, list(check_types(self.parameters, args)))

    def fingerprint(self) -> bytes:
        from mlirad.runtime.fingerprint import fingerprint

        kind = b"kernel" if self.is_kernel else b"jit"
        return fingerprint(self.function) + kind + repr(self.declared).encode()
