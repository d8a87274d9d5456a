"""
Vector versions of mathematical functions in glibc's libmvec.

A call that carries their names in `vector-function-abi-variant` is vectorised by LLVM like
an addition (SVML or a compiler flag are not needed). They are within 4 ulp.
"""

from __future__ import annotations

from dataclasses import dataclass

ONE = (
    "sin cos tan exp exp2 log log2 log10 tanh sinh cosh asin acos atan asinh acosh atanh "
    "expm1 log1p erf erfc exp10 cbrt"
)
TWO = "pow atan2 hypot"
# Lanes of doubles, and the letter of the vector ABI: SSE, AVX2, AVX-512.
WIDTHS = ((2, "b"), (4, "d"), (8, "e"))
INTRINSIC = frozenset(
    "sin cos tan exp exp2 log log2 log10 tanh sinh cosh asin acos atan pow atan2".split()
)


@dataclass(frozen=True, slots=True)
class VectorVersion:
    """
    One vector version of a function.

    `mapping` is its entry in the attribute `vector-function-abi-variant`, `declaration` its
    declaration for LLVM.
    """

    name: str
    mapping: str
    declaration: str


def _variants() -> dict[str, tuple[VectorVersion, ...]]:
    found: dict[str, tuple[VectorVersion, ...]] = {}
    for arguments, names in (("v", ONE), ("vv", TWO)):
        for name in names.split():
            for scale, element, short, letter in (
                (1, "double", "f64", ""),
                (2, "float", "f32", "f"),
            ):
                symbol = f"llvm.{name}.{short}" if name in INTRINSIC else name + letter
                versions: list[VectorVersion] = []
                for width, isa in WIDTHS:
                    lanes = width * scale
                    vector = f"_ZGV{isa}N{lanes}{arguments}_{name}{letter}"
                    mapping = f"_ZGV_LLVM_N{lanes}{arguments}_{symbol}({vector})"
                    type = f"<{lanes} x {element}>"
                    parameters = ", ".join(type for _ in arguments)
                    declaration = f"declare {type} @{vector}({parameters}) #0"
                    versions.append(VectorVersion(vector, mapping, declaration))
                found[symbol] = tuple(versions)
    return found


VARIANTS = _variants()
"""By the symbol of the scalar function."""
