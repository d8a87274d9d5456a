"""Scalar functions: result types from numba's typing context, values from compiled numba."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import types as numba_types
from numba.core.registry import cpu_target

import mlirad as ad
from mlirad.frontend import functions
from mlirad.frontend.types import BOOL, Array, NoneType, Scalar, Tuple, Type
from tests.frontend.compiled import scalar_of

KINDS = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
SOME = "bool_ int8 int32 int64 uint8 uint64 float32 float64".split()
UNKNOWN_TO_NUMBA = (math.cbrt, math.fmod, np.where)
"""Python has them, numba has not; numba's `where` of numbers gives an array."""

KNOWN = {f: kind for table in functions.TABLES for f, kind in table().items()}
Points = Sequence[tuple[Any, ...]]
jit: Callable[..., Any] = numba.njit(error_model="numpy")


def spelled(type_: Type | None) -> str | None:
    if isinstance(type_, Tuple):
        return f"UniTuple({type_.elements[0]} x {len(type_.elements)})"
    assert not isinstance(type_, (Array, NoneType))
    return None if type_ is None else str(type_)


def type_in_numba(function: object, kinds: tuple[str, ...]) -> str | None:
    context: Any = cpu_target.typing_context
    given = [getattr(numba_types, "boolean" if k == "bool_" else k) for k in kinds]
    try:
        signature = context.resolve_function_type(context.resolve_value_type(function), given, {})
    except numba.TypingError:
        return None
    return None if signature is None else str(signature.return_type)


def result(function: object, kinds: tuple[str, ...]) -> Type | None:
    types = [scalar_of(np.dtype(getattr(np, kind))) for kind in kinds]
    return KNOWN[function].result(types, [None] * len(kinds))


@pytest.mark.parametrize("count", [1, 2])
def test_result_types_are_those_of_numba(count: int) -> None:
    context: Any = cpu_target.typing_context
    context.refresh()
    wrong: list[object] = []
    compared = 0
    for function in KNOWN:
        for kinds in itertools.product(KINDS if count == 1 else SOME, repeat=count):
            ours = spelled(result(function, kinds))
            if ours is None or function in UNKNOWN_TO_NUMBA or (function, count) == (math.log, 2):
                continue  # refused
            compared += 1
            if ours != (theirs := type_in_numba(function, kinds)):
                wrong.append((function, kinds, ours, theirs))
    assert not wrong
    assert compared > 500


def test_what_is_refused() -> None:
    f64 = Scalar("f", 64)
    unknown: tuple[object, ...] = ([], 3, math.gcd, np.linalg.norm, np.float16, len)
    assert all(functions.find(known) is None for known in unknown)
    assert all(
        kind.result([f64] * 4, [None] * 4) is None
        for kind in KNOWN.values()
        if kind not in (KNOWN[min], KNOWN[max])
    )
    assert result(min, ("float64",)) is None
    assert KNOWN[round].result([f64, Scalar("i", 64)], [None, None]) is None
    assert KNOWN[np.where].result([BOOL, f64, f64], [None] * 3) == f64


def test_every_name_finds_its_function() -> None:
    assert functions.find(np.abs) is functions.find(np.absolute)
    assert functions.find(np.arctan2) is not functions.find(math.atan2)
    named = "sin acos exp expm1 log1p cbrt hypot fmod erfc gamma lgamma degrees trunc isinf"
    assert all(functions.find(getattr(math, name)) for name in named.split())


# Values


def agree(function: Callable[..., Any], points: Points, precision: str = "float64") -> None:
    """Every result of `function` at every point is within 4 ulp of numba's."""
    ours, theirs = ad.jit(function), jit(function)
    for point in points:
        for i, (a, b) in enumerate(zip(ours(*point), theirs(*point), strict=True)):
            assert type(a) is type(b), (i, point, a, b)
            assert a == b or near(a, b, precision), (i, point, a, b)


def near(a: Any, b: Any, precision: str) -> bool:
    if not isinstance(b, float) or not (math.isfinite(a) and math.isfinite(b)):
        return a == b or (math.isnan(a) and math.isnan(b))
    dtype = getattr(np, precision)
    return bool(abs(a - b) <= 4 * np.spacing(dtype(abs(b))))


def of_math(x: Any) -> Any:
    return (
        math.sin(x), math.cos(x), math.tan(x), math.asin(x), math.acos(x), math.atan(x),
        math.sinh(x), math.cosh(x), math.tanh(x), math.asinh(x), math.acosh(x), math.atanh(x),
        math.exp(x), math.expm1(x), math.exp2(x), math.log(x), math.log1p(x), math.log2(x),
        math.log10(x), math.sqrt(x), math.fabs(x), math.erf(x), math.erfc(x), math.gamma(x),
        math.lgamma(x), math.degrees(x), math.radians(x), math.isnan(x), math.isinf(x),
        math.isfinite(x),
    )  # fmt: skip


def of_numpy(x: Any) -> Any:
    return (
        np.sin(x), np.cos(x), np.tan(x), np.arcsin(x), np.arccos(x), np.arctan(x), np.sinh(x),
        np.cosh(x), np.tanh(x), np.arcsinh(x), np.arccosh(x), np.arctanh(x), np.exp(x),
        np.exp2(x), np.expm1(x), np.log(x), np.log2(x), np.log10(x), np.log1p(x), np.sqrt(x),
        np.cbrt(x), np.fabs(x), np.abs(x), np.floor(x), np.ceil(x), np.trunc(x), np.rint(x),
        np.sign(x), np.square(x), np.deg2rad(x), np.rad2deg(x), np.isnan(x), np.isinf(x),
        np.isfinite(x),
    )  # fmt: skip


EDGES = [0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -3.5, 30.0, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("function", [of_math, of_numpy])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_functions_of_one_float(function: Callable[..., Any], kind: str) -> None:
    agree(function, [(getattr(np, kind)(x),) for x in EDGES], kind)


@pytest.mark.parametrize(("kind", "precision"), [("int32", "float64"), ("int8", "float32")])
def test_numpy_functions_of_one_int(kind: str, precision: str) -> None:
    agree(of_numpy, [(getattr(np, kind)(x),) for x in (0, 1, -1, 7)], precision)


def of_two(a: Any, b: Any) -> Any:
    return (
        np.maximum(a, b), np.minimum(a, b), np.fmax(a, b), np.fmin(a, b), np.fmod(a, 1.5),
        np.arctan2(a, b), np.hypot(a, b), np.copysign(a, b), np.power(abs(a) + 1, b),
        np.power(a, 3),
        math.atan2(a, b), math.hypot(a, b), math.copysign(a, b), max(a, b), min(a, b),
        max(a, 1, b), min(b, 0.5, a), math.pow(abs(a) + 1, b),
    )  # fmt: skip


PAIRS = [("float32", "float32"), ("float64", "float64"), ("float32", "int64"), ("int32", "int8")]


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_functions_of_two(left: str, right: str) -> None:
    first, second = ([0, 1, -2, 7] if "int" in k else EDGES[1:] for k in (left, right))
    points = [(getattr(np, left)(a), getattr(np, right)(b)) for a in first for b in second]
    agree(of_two, points, left if left == "float32" else "float64")


def of_ints(a: Any, b: Any) -> Any:
    q, r = divmod(a, b)
    return q, r, np.square(a), abs(a), np.floor(a), np.sign(a), np.power(a, abs(b) % 5)


@pytest.mark.parametrize("kind", ["int8", "int64", "uint32"])
def test_functions_of_ints(kind: str) -> None:
    values = [0, 1, 3, 100] if kind == "uint32" else [0, 1, -1, 3, -7, 100]
    agree(of_ints, [tuple(map(getattr(np, kind), p)) for p in itertools.product(values, values)])


def test_remainders_of_ints_are_those_of_numpy() -> None:
    """numba divides the bits as unsigned numbers: its `np.fmod(-2, 7)` is 2."""

    def f(a: Any, b: Any) -> Any:
        return np.fmod(a, b)

    compiled = ad.jit(f)
    for a, b in itertools.product([-7, -2, 0, 5], [-3, -1, 2, 7]):
        assert compiled(a, b) == np.fmod(a, b)
        assert compiled(np.int8(a), np.int8(b)) == np.fmod(a, b)


def rounded(x: Any) -> Any:
    return round(x), round(x, 1), round(x, 3), round(x, -1), int(x), math.floor(x), math.trunc(x)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_rounding(kind: str) -> None:
    points = [0.35, 0.25, 2.5, 3.5, -2.5, -0.45, 1234.5675, 15.0, 25.0, -1e10]
    agree(rounded, [(getattr(np, kind)(x),) for x in points], kind)


def test_rounding_where_scaling_overflows() -> None:
    def f(x: Any) -> Any:
        return round(x, 20)

    largest = np.finfo(np.float32).max
    assert ad.jit(f)(largest) == largest
    assert ad.jit(f)(math.inf) == math.inf


def test_of_equal_values_the_first_wins() -> None:
    def f(a: Any, b: Any) -> Any:
        return math.copysign(1.0, max(a, b)), math.copysign(1.0, min(a, b))

    agree(f, [(0.0, -0.0), (-0.0, 0.0)])


def test_functions_that_numba_has_not() -> None:
    def f(x: Any, y: Any) -> Any:
        return (
            math.log(x, y),
            math.cbrt(x),
            math.fmod(x, y),
            np.where(x > y, x, 1),
            np.where(3, 5, y),
        )

    x, y = 5.5, 3.0
    expected = math.log(x, y), math.cbrt(x), math.fmod(x, y), x, 5.0
    assert ad.jit(f)(x, y) == pytest.approx(expected, rel=1e-15)
    assert ad.jit(f)(2, 3) == pytest.approx((math.log(2, 3), math.cbrt(2), 2.0, 1, 5), rel=1e-15)


def test_derivatives_follow_the_chosen_side() -> None:
    def f(x: Any, y: Any) -> Any:
        return max(x, y) * np.minimum(x, 2 * y) + np.square(x) + np.power(y, 3) + math.log(x, 2)

    gradient = ad.grad(f, wrt=(0, 1))(3.0, 2.0)
    assert gradient == pytest.approx((2 * 3 + 2 * 3 + 1 / (3 * math.log(2)), 3 * 4))
