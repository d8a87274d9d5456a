"""
What mathematics is on NVIDIA GPUs: LLVM intrinsics with instructions, and libdevice.

Anything that is in neither table is refused before LLVM sees it, because code generation ends
the process on an intrinsic without code.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.backends.target import Target

# Exact or correctly rounded in both precisions on every processor since sm_75 (LLVM 22).
INTRINSICS = frozenset(
    "fabs ceil floor trunc round roundeven sqrt copysign fma maximum minimum maxnum minnum "
    "smax smin umax umin abs ctlz cttz ctpop fptosi fptoui".split()
)
NATIVE: Mapping[str, str] = {
    "math.absf": "fabs",
    "math.ceil": "ceil",
    "math.copysign": "copysign",
    "math.floor": "floor",
    "math.fma": "fma",
    "math.round": "round",
    "math.roundeven": "roundeven",
    "math.sqrt": "sqrt",
    "math.trunc": "trunc",
}
# By the name of the op: the function `__nv_NAME`, with an f at the end for float32.
LIBDEVICE: Mapping[str, str] = {
    "math.acos": "acos",
    "math.acosh": "acosh",
    "math.asin": "asin",
    "math.asinh": "asinh",
    "math.atan": "atan",
    "math.atan2": "atan2",
    "math.atanh": "atanh",
    "math.cbrt": "cbrt",
    "math.cos": "cos",
    "math.cosh": "cosh",
    "math.erf": "erf",
    "math.exp": "exp",
    "math.exp2": "exp2",
    "math.expm1": "expm1",
    "math.log": "log",
    "math.log10": "log10",
    "math.log1p": "log1p",
    "math.log2": "log2",
    "math.powf": "pow",
    "math.sin": "sin",
    "math.sinh": "sinh",
    "math.tan": "tan",
    "math.tanh": "tanh",
}
LIBRARY = (
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 fdim fmod "
    "hypot ldexp lgamma log log10 log1p log2 pow remainder sin sinh tan tanh tgamma".split()
)
"""Functions of the C library that libdevice has under the same name."""
PRECISIONS = (("double", "f64", ""), ("float", "f32", "f"))


def _maths() -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for llvm, short, letter in PRECISIONS:
        found |= {(op, llvm): f"llvm.{name}.{short}" for op, name in NATIVE.items()}
        found |= {(op, llvm): f"__nv_{name}{letter}" for op, name in LIBDEVICE.items()}
    return found


NVPTX = Target(
    maths=_maths(),
    spaces={3: 3},
    atomics=True,
    library={name + f: f"__nv_{name}{f}" for name in LIBRARY for _, _, f in PRECISIONS},
    intrinsics=INTRINSICS,
    runtime=False,
    attributes="convergent nounwind",
)
