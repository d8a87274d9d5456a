"""What differs from one target of the emitter to the next, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlirad.backends.vector_math import VARIANTS, VectorVersion

# By the name of the op. Each becomes the intrinsic `llvm.NAME.TYPE`.
INTRINSICS: Mapping[str, str] = {
    "math.absf": "fabs",
    "math.acos": "acos",
    "math.asin": "asin",
    "math.atan": "atan",
    "math.atan2": "atan2",
    "math.ceil": "ceil",
    "math.copysign": "copysign",
    "math.cos": "cos",
    "math.cosh": "cosh",
    "math.exp": "exp",
    "math.exp2": "exp2",
    "math.floor": "floor",
    "math.fma": "fma",
    "math.log": "log",
    "math.log10": "log10",
    "math.log2": "log2",
    "math.powf": "pow",
    "math.round": "round",
    "math.roundeven": "roundeven",
    "math.sin": "sin",
    "math.sinh": "sinh",
    "math.sqrt": "sqrt",
    "math.tan": "tan",
    "math.tanh": "tanh",
    "math.trunc": "trunc",
}
# These have no intrinsic. Each becomes a call of the C library.
LIBM: Mapping[str, str] = {
    "math.acosh": "acosh",
    "math.asinh": "asinh",
    "math.atanh": "atanh",
    "math.cbrt": "cbrt",
    "math.erf": "erf",
    "math.expm1": "expm1",
    "math.log1p": "log1p",
}


def _cpu_maths() -> dict[tuple[str, str], str]:
    suffixes = (("double", "f64", ""), ("float", "f32", "f"))
    intrinsics = {
        (op, llvm): f"llvm.{name}.{short}"
        for op, name in INTRINSICS.items()
        for llvm, short, _ in suffixes
    }
    libm = {(op, llvm): name + letter for op, name in LIBM.items() for llvm, _, letter in suffixes}
    return intrinsics | libm


@dataclass(frozen=True, slots=True)
class Target:
    """
    A variant of the emitter.

    `maths` names the function for an op of `math` on an LLVM type; `spaces` the LLVM address
    space for a memory space of a memref; `atomics` makes `memref.atomic_rmw` atomic, in functions
    that several workers run; `variants` are the vector versions of functions.
    `library` names the function for one of the C library, None if they are there as they are;
    `intrinsics` are those of LLVM that have code (the second part of their name), None if all.
    With a `runtime`, functions take its table and the address of the status.
    `attributes` are those of all functions.
    """

    maths: Mapping[tuple[str, str], str]
    spaces: Mapping[int, int] = field(default_factory=lambda: dict[int, int]())
    atomics: bool = False
    variants: Mapping[str, tuple[VectorVersion, ...]] = field(
        default_factory=lambda: dict[str, tuple[VectorVersion, ...]]()
    )
    library: Mapping[str, str] | None = None
    intrinsics: frozenset[str] | None = None
    runtime: bool = True
    attributes: str = "nounwind"

    @property
    def context(self) -> list[str]:
        """The parameters that each function takes before its own."""
        return ["ptr %table", "ptr %status"] if self.runtime else []


CPU = Target(_cpu_maths())
CPU_VECTOR = Target(_cpu_maths(), variants=VARIANTS)
