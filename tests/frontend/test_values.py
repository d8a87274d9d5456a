"""Values of operators and functions on edge cases: what numba computes (`error_model="numpy"`)."""

import importlib.util
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numba
import numpy as np
import pytest

import mlirad as ad

INTS = [0, 1, -1, 2, -3, 7, -7, 2**62]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e300, np.inf, -np.inf, np.nan]

POINTS = {
    "int64": INTS,
    "int32": [0, 1, -1, 5, -6, 2**31 - 1, -(2**31)],
    "int8": [0, 1, -1, 127, -128],
    "uint8": [0, 1, 3, 255],
    "uint64": [0, 1, 3, 2**63, 2**64 - 1],
    "bool_": [False, True],
    "float64": FLOATS,
    "float32": [0.0, -0.0, 1.5, -2.5, 1e30, np.inf, np.nan],
}

BOTH = "a + b, a - b, a * b, a < b, a <= b, a > b, a >= b, a == b, a != b, min(a, b), max(a, b)"
DIVISION = "a / b, a // b, a % b"
BITS = "a & b, a | b, a ^ b"
PAIRS = [
    ("int64", "int64", f"{BOTH}, {DIVISION}, {BITS}"),
    ("int32", "uint8", f"{BOTH}, {DIVISION}, {BITS}"),
    ("int8", "uint64", f"a < b, a <= b, a > b, a >= b, a == b, a != b, {BITS}"),
    ("uint64", "uint8", f"{BOTH}, {DIVISION}, {BITS}"),
    ("bool_", "int64", f"{BOTH}, {BITS}"),
    ("float64", "float64", f"{BOTH}, {DIVISION}"),
    ("float32", "float32", f"{BOTH}, {DIVISION}"),
    ("float32", "int64", f"{BOTH}, {DIVISION}"),
    ("float64", "int64", f"{BOTH}, {DIVISION}"),
]
INT_UNARY = (
    "-a, +a, ~a, not a, abs(a), a ** 2, a ** 0, a ** 3, round(a), int(a), bool(a), a << 3, a >> 2"
)
FLOAT_UNARY = (
    "-a, +a, not a, abs(a), a ** 2, a ** 3, a ** 0, a ** 0.5, bool(a), "
    "math.isnan(a), math.isinf(a), math.isfinite(a), np.sign(a), np.floor(a), np.ceil(a), "
    "np.trunc(a), np.rint(a), round(a, 1), math.fabs(a), math.degrees(a), math.radians(a)"
)
MATH = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp expm1 log log1p log2 log10 "
    "sqrt erf erfc gamma lgamma"
).split()
CASTS = ["int8", "int16", "int32", "int64", "uint8", "float32", "float64"]


def built(folder: Path, name: str, parameters: str, results: str) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(
        f"import math\nimport numpy as np\n\n\ndef f({parameters}):\n    return {results}\n"
    )
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def compare(
    module: ModuleType, results: str, points: Sequence[tuple[object, ...]], ulps: int
) -> None:
    ours = ad.jit(module.f)
    theirs = numba.njit(error_model="numpy")(module.f)
    for point in points:
        for what, got, expected in zip(
            results.split(", "), ours(*point), theirs(*point), strict=False
        ):
            assert type(got) is type(expected), (what, point, got, expected)
            assert same(got, expected, ulps), (what, point, got, expected)


def same(got: object, expected: object, ulps: int) -> bool:
    if not isinstance(expected, float):
        return got == expected
    assert isinstance(got, float)
    if np.isnan(expected) or np.isinf(expected) or expected == 0.0:
        return np.array_equal(got, expected, equal_nan=True)
    return abs(got - expected) <= ulps * np.spacing(abs(expected))


@pytest.mark.parametrize(("left", "right", "results"), PAIRS)
def test_operators(left: str, right: str, results: str, tmp_path: Path) -> None:
    module = built(tmp_path, f"values_{left}_{right}", "a, b", results)
    first = [getattr(np, left)(v) for v in POINTS[left]]
    second = [getattr(np, right)(v) for v in POINTS[right]]
    compare(module, results, list(itertools.product(first, second)), 0)


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8"])
def test_unary_of_ints(kind: str, tmp_path: Path) -> None:
    module = built(tmp_path, f"unary_{kind}", "a", INT_UNARY)
    compare(module, INT_UNARY, [(getattr(np, kind)(v),) for v in POINTS[kind]], 0)


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_unary_of_floats(kind: str, tmp_path: Path) -> None:
    module = built(tmp_path, f"unary_{kind}", "a", FLOAT_UNARY)
    ulps = 4 if kind == "float64" else 2**31
    compare(module, FLOAT_UNARY, [(getattr(np, kind)(v),) for v in POINTS[kind]], ulps)


@pytest.mark.parametrize("kind", ["float64", "int64"])
def test_functions_of_math(kind: str, tmp_path: Path) -> None:
    results = ", ".join(f"math.{name}(a)" for name in MATH)
    module = built(tmp_path, f"math_{kind}", "a", results)
    points = [0.3, 0.9, -0.4, 1.7, 0.0, 12.5] if kind == "float64" else [0, 1, 3]
    compare(module, results, [(getattr(np, kind)(v),) for v in points], 4)


def test_functions_of_two(tmp_path: Path) -> None:
    results = (
        "math.pow(a, b), math.atan2(a, b), math.copysign(a, b), math.hypot(a, b), a ** b, "
        "np.maximum(a, b), np.minimum(a, b), np.fmax(a, b), np.fmin(a, b), max(a, b, 0.5)"
    )
    module = built(tmp_path, "binary_functions", "a, b", results)
    points = list(itertools.product([0.0, 1.0, -2.5, 0.3, np.nan], [0.0, 2.0, -0.7, np.nan]))
    compare(module, results, points, 4)


def test_whole_powers(tmp_path: Path) -> None:
    results = "a ** n, 2.0 ** n, n ** 2, a ** -1, a ** -2"
    module = built(tmp_path, "powers", "a, n", results)
    compare(module, results, list(itertools.product([0.5, -1.5, 3.0], [0, 1, 2, 5, -3])), 4)


@pytest.mark.parametrize("kind", ["float64", "int64"])
def test_casts_and_rounding(kind: str, tmp_path: Path) -> None:
    results = ", ".join(f"float(np.{name}(a))" for name in CASTS)
    results += ", int(a), float(a), round(a), math.floor(a), math.ceil(a), math.trunc(a)"
    module = built(tmp_path, f"casts_{kind}", "a", results)
    points = [0.0, 1.5, 2.5, 3.5, 100.2] if kind == "float64" else [0, 1, -1, 100]
    compare(module, results, [(getattr(np, kind)(v),) for v in points], 0)


def test_huge_unsigned_powers(tmp_path: Path) -> None:
    module = built(tmp_path, "unsigned_powers", "a, n", "a ** n, n")
    exponents = [np.uint64(n) for n in (0, 1, 3, 2**63, 2**64 - 1)]
    compare(module, "a ** n", list(itertools.product([0.0, 0.5, 1.0, -2.0], exponents)), 1)


def test_negatives_of_frozen_numbers(tmp_path: Path) -> None:
    names = {
        "I8": np.int8(-128),
        "U8": np.uint8(5),
        "I64": -(2**63),
        "U64": np.uint64(2**63),
        "F32": np.float32(0.1),
    }
    results = ", ".join(f"-{name}, ~{name} * a, -{name} * a" for name in names)
    results = results.replace("~F32", "F32") + ", -9223372036854775808"
    module = built(tmp_path, "frozen", "a", results)
    vars(module).update(names)
    compare(module, results, [(1.7,)], 0)


def test_literals_are_folded_as_python_does(tmp_path: Path) -> None:
    results = "2**-1, -7 // 2, 7 % -3, 2**62 - 1 + 2**62, (1 << 4) - 3, 1 / 4 + a, a * 2**-2, -2**2"
    module = built(tmp_path, "literals", "a", results)
    compare(module, results, [(1.5,)], 0)


@pytest.mark.parametrize("expression", ["10**30 + a", "a * (1 << 70)", "18446744073709551616 - a"])
def test_literals_beyond_64_bits_are_refused(expression: str, tmp_path: Path) -> None:
    module = built(tmp_path, "huge", "a", expression)
    with pytest.raises(ad.errors.TypingError, match="does not fit into 64 bits"):
        ad.jit(module.f)(1.0)
