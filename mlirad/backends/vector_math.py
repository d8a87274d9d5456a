"""
Vector versions of mathematical functions in glibc's libmvec.

A call that carries their names in `vector-function-abi-variant` is vectorised by LLVM like
an addition (SVML or a compiler flag are not needed). They are within 4 ulp.
"""

from __future__ import annotations

ONE = (
    "sin cos tan exp exp2 log log2 log10 tanh sinh cosh asin acos atan asinh acosh atanh "
    "expm1 log1p erf cbrt"
)
TWO = "pow atan2"
# Lanes of doubles, and the letter of the vector ABI: SSE, AVX2, AVX-512.
WIDTHS = ((2, "b"), (4, "d"), (8, "e"))
INTRINSIC = frozenset(
    "sin cos tan exp exp2 log log2 log10 tanh sinh cosh asin acos atan pow atan2".split()
)


def _variants() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for arguments, names in (("v", ONE), ("vv", TWO)):
        for name in names.split():
            for scale, short, letter in ((1, "f64", ""), (2, "f32", "f")):
                symbol = f"llvm.{name}.{short}" if name in INTRINSIC else name + letter
                found[symbol] = tuple(
                    f"_ZGV_LLVM_N{lanes * scale}{arguments}_{symbol}"
                    f"(_ZGV{isa}N{lanes * scale}{arguments}_{name}{letter})"
                    for lanes, isa in WIDTHS
                )
    return found


VARIANTS = _variants()
