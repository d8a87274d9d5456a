"""Complex numbers: types and values against numba, derivatives against differences."""

import cmath
import math
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import mlirad as ad
from mlirad.errors import TypingError, UnsupportedError
from mlirad.frontend import complex_functions

NARROW = np.complex64(0.5 - 1.25j)


def add(a, b):
    return a + b


def subtract(a, b):
    return a - b


def multiply(a, b):
    return a * b


def divide(a, b):
    return a / b


def power(a, b):
    return a**b


def square(a, b):
    return a**2 + b


def inverse_cube(a, b):
    return a**-3 - b**1


def root(a, b):
    return a**0.5 + 2.0**b


def pow_function(a, b):
    return pow(a, b)


def numpy_power(a, b):
    return np.power(a, b)


def equal(a, b):
    return a == b or a != a


def unequal(a, b):
    return a != b


def signs(a, b):
    return -a + (+b)


def truth(a, b):
    return not a or bool(b)


def either(a, b):
    return a if a else b


def one_of_both(a, b):
    return a and b


def chosen(a, b):
    if abs(a) > 1:
        c = a
    else:
        c = b
    return c


def parts(a, b):
    return a.real + b.imag


def conjugates(a, b):
    return a.conjugate() * np.conj(b)


def literals(a, b):
    return 1 + 2j * a - b * 3.5j


def narrow_global(a, b):
    return NARROW * a


def casts(a, b):
    return np.complex64(a) + np.complex64(b)


def wide_casts(a, b):
    return np.complex128(a) - complex(1.0, 2.0)


def numpy_parts(a, b):
    return np.real(a) - np.imag(b) + np.abs(a) + np.angle(b)


def logarithm(a, b):
    return cmath.log(a, b)


def loop(a, b):
    for _ in range(3):
        a = a * b + 1
    return a


def while_loop(a, b):
    n = 0
    while abs(a) < 4 and n < 20:
        a = a * a + b
        n += 1
    return a


BINARY: list[Callable[..., Any]] = [
    add, subtract, multiply, divide, power, square, inverse_cube, root, pow_function,
    numpy_power, equal, unequal, signs, truth, either, one_of_both, chosen, parts, conjugates,
    literals, narrow_global, casts, wide_casts, numpy_parts, logarithm, loop, while_loop,
]  # fmt: skip

PAIRS = [
    (1.5 - 0.5j, -0.25 + 2j),
    (np.complex64(0.75 + 0.5j), np.complex64(-1.5 + 0.25j)),
    (np.complex64(1.25 - 2j), 0.5 + 0.125j),
    (1.5 + 0.75j, 2),
    (np.complex64(1.5 + 0.75j), np.int8(2)),
    (np.complex64(1.5 + 0.75j), np.uint16(3)),
    (np.complex64(-0.5 + 0.75j), np.float32(1.5)),
    (np.complex64(-0.5 + 0.75j), 2.5),
    (1.5, 0.25 - 1.5j),
    (-2, 1.5 + 0.25j),
    (np.float32(0.75), np.complex64(-1.5 - 2j)),
]


def distance(got: complex, expected: complex, narrow: bool) -> float:
    """How many units in the last place of the larger part two numbers are apart."""
    if got == expected or (got != got and expected != expected):
        return 0.0
    largest = max(abs(complex(expected).real), abs(complex(expected).imag))
    unit = np.spacing(np.float32(largest) if narrow else largest)
    return abs(complex(got) - complex(expected)) / unit


def numba_type(function: Callable[..., Any], *args: Any) -> tuple[Any, str]:
    compiled = numba.njit(error_model="numpy")(function)
    value = compiled(*args)
    return value, str(compiled.nopython_signatures[-1].return_type)


def result_type(function: Any) -> str:
    last = function.specializations.last
    return str(function.program.lower(last.types, last.alias).result)


@pytest.mark.parametrize("function", BINARY)
def test_operators_have_the_types_and_values_of_numba(function: Callable[..., Any]) -> None:
    compiled = ad.jit(function)
    for pair in PAIRS:
        value, type_ = numba_type(function, *pair)
        got = compiled(*pair)
        assert result_type(compiled) == type_, pair
        assert distance(got, value, type_ in ("complex64", "float32")) <= 4, pair


SPECIAL = [
    0j, complex(0, -0.0), complex(-0.0, 0), 1 + 0j, -1 + 0j, complex(-1, -0.0), 2 + 0j, -2 + 0j,
    complex(-2, -0.0), 1j, -1j, 2j, complex(1, 1e-25), 1e200 + 1e200j, 1e-300 + 0j, 30 + 1j,
    complex(-25, -2), complex(math.inf, 0), complex(-math.inf, 1), complex(0, math.inf),
    complex(math.inf, -math.inf), complex(math.nan, 1), complex(1, math.nan),
    complex(math.nan, 0), complex(math.inf, math.nan),
]  # fmt: skip

CMATH = [*complex_functions.CMATH, "log10", "acosh", "tanh", "phase"]
NUMPY = [*complex_functions.NUMPY, "abs", "angle", "conj", "isnan", "isinf", "isfinite"]
BEYOND_NUMBA = {
    ("numpy", "tanh"),  # numba's is NaN for large numbers
    ("numpy", "arccosh"),  # for complex64 near 1, numba's rounds the root of z - 1 to single
}


def written(tmp_path, monkeypatch, module: str, name: str) -> Callable[..., Any]:
    """The function `z -> module.name(z)`, from a file, because its source is read."""
    path = tmp_path / f"call_{module}_{name}.py"
    path.write_text(
        f"import {module}\n"
        f"def each(z, out):\n    for i in range(len(z)):\n        out[i] = {module}.{name}(z[i])\n"
        f"def call(z):\n    return {module}.{name}(z)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return __import__(path.stem)


NARROW_TOO = ("exp", "sqrt", "tanh", "asin", "log10", "exp2", "log1p", "arccosh", "abs", "angle")


@pytest.mark.parametrize(
    ("module", "name", "dtype"),
    [
        (module, name, dtype)
        for module, names in (("cmath", CMATH), ("numpy", NUMPY))
        for name in names
        for dtype in (np.complex128, np.complex64)
        if dtype is np.complex128 or name in NARROW_TOO
    ],
)
def test_functions_have_the_values_of_numba(module, name, dtype, tmp_path, monkeypatch) -> None:
    functions = written(tmp_path, monkeypatch, module, name)
    random = np.random.default_rng(7)
    size = 10 ** random.uniform(-3, 1, (2, 60))
    ordinary = random.normal(size=60) * size[0] + 1j * random.normal(size=60) * size[1]
    special = [] if (module, name) in BEYOND_NUMBA else SPECIAL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = np.array([*ordinary, *special]).astype(dtype)
        expected, got = np.zeros(len(z), np.complex128), np.zeros(len(z), np.complex128)
        numba.njit(error_model="numpy")(functions.each)(z, expected)
        ad.jit(functions.each)(z, got)
    for number, a, b in zip(z, got, expected, strict=True):
        for x, y in ((a.real, b.real), (a.imag, b.imag)):
            assert math.isnan(x) == math.isnan(y), number
            assert math.isfinite(x) == math.isfinite(y), number
        if cmath.isfinite(b):
            assert distance(a, b, dtype is np.complex64) <= 4, number


def central(function: Callable[..., Any], z: complex) -> complex:
    """`dL/dre + i dL/dim` of a real function, by central differences."""
    step = 1e-6 * max(1.0, abs(z))
    real = (function(z + step) - function(z - step)) / (2 * step)
    imag = (function(z + step * 1j) - function(z - step * 1j)) / (2 * step)
    return complex(real, imag)


PLACES = [1.3 + 0.4j, -0.7 + 2j, -2 - 0.3j, 0.2 - 1.5j, 3 - 2j]


@pytest.mark.parametrize(
    ("module", "name"),
    [("cmath", n) for n in CMATH if not n.startswith("is")]
    + [("numpy", n) for n in complex_functions.NUMPY if n != "rint"],
)
def test_functions_have_their_derivatives(module, name, tmp_path, monkeypatch) -> None:
    function = written(tmp_path, monkeypatch, module, name).call
    compiled = ad.jit(function)
    for z in PLACES:
        value, pullback = ad.vjp(compiled, z)
        is_complex = isinstance(value, complex)
        tangents = [ad.jvp(compiled, (z,), (direction,))[1] for direction in (1.0, 1j)]
        for seed in (1.0, 1j) if is_complex else (1.0,):

            def loss(w: complex, seed: complex = seed) -> float:
                return (complex(seed).conjugate() * complex(compiled(w))).real

            expected = central(loss, z)
            assert pullback(seed)[0] == pytest.approx(expected, rel=2e-8, abs=1e-8)
            parts = [(complex(seed).conjugate() * t).real for t in tangents]
            assert complex(*parts) == pytest.approx(expected, rel=2e-8, abs=1e-8)


@pytest.mark.parametrize("function", [add, subtract, multiply, divide, power, square, literals,
                                      inverse_cube, root, conjugates, chosen, either, loop,
                                      numpy_parts, logarithm])  # fmt: skip
def test_operators_have_their_derivatives(function: Callable[..., Any]) -> None:
    compiled = ad.jit(function)
    seed = 0.7 - 0.4j
    a, b = 1.5 - 0.5j, 0.25 + 2j
    value, pullback = ad.vjp(compiled, a, b)
    own = seed if isinstance(value, complex) else 0.7

    def loss(x: complex, y: complex) -> float:
        return (complex(own).conjugate() * function(x, y)).real

    expected = central(lambda x: loss(x, b), a), central(lambda y: loss(a, y), b)
    assert pullback(own) == pytest.approx(expected, rel=1e-8)
    for place in (0, 1):
        tangents = [ad.jvp(compiled, (a, b), (d,), wrt=(place,))[1] for d in (1.0, 1j)]
        parts = [(complex(own).conjugate() * t).real for t in tangents]
        assert complex(*parts) == pytest.approx(expected[place], rel=1e-8)


def magnitude(z):
    return abs(z)


def cube(z):
    return z**3


def first(z):
    return z**1


def variable(z, n):
    return z**n


def division(z, w):
    return z / w


def test_derivatives_at_zero() -> None:
    assert ad.grad(magnitude)(0j) == 0
    assert ad.vjp(cube, 0j)[1](1.0)[0] == 0
    assert ad.vjp(first, 0j)[1](1.0)[0] == 1
    assert ad.vjp(first, 0j)[1](1j)[0] == 1j
    assert not cmath.isfinite(ad.vjp(written_root, 0j)[1](1.0)[0])
    assert ad.jit(division)(0j, 2 + 0j) == 0
    assert ad.vjp(division, 0j, 2j)[1](1.0) == (0.5j, 0j)


def written_root(z):
    return cmath.sqrt(z)


def test_an_exponent_of_two_is_differentiated_too() -> None:
    z, n = 1.5 + 0.5j, 2.0
    seed = 0.3 + 0.8j
    value, pullback = ad.vjp(variable, z, n)
    assert value == z * z
    expected = (seed.conjugate() * z * z * cmath.log(z)).real
    assert pullback(seed)[1] == pytest.approx(expected, rel=1e-14)


def on_the_cut(z):
    return cmath.sqrt(z).real


def test_the_root_beside_its_cut() -> None:
    above, below = complex(-4, 0.0), complex(-4, -0.0)
    assert ad.grad(on_the_cut)(above) == 0.25j
    assert ad.grad(on_the_cut)(below) == -0.25j


def exponential_of_square(z):
    return cmath.exp(z * z)


def test_second_derivatives() -> None:
    """Forward over reverse: the tangent of a cotangent is the second derivative."""
    inner = ad.reverse(ad.jit(exponential_of_square), ad.Active, ret=ad.Active)
    outer = ad.forward(inner, ad.Dual, ad.Const)
    z = 0.4 - 0.3j
    second = (2 + 4 * z * z) * cmath.exp(z * z)
    for direction in (1.0, 1j):
        _, (_, tangent) = outer(z, complex(direction), 1 + 0j)
        assert tangent == pytest.approx((second * direction).conjugate(), rel=1e-13)


def from_polar(r, phi):
    z = cmath.rect(r, phi)
    size, turned = cmath.polar(z * z)
    return z.real * size + turned


def test_polar_coordinates() -> None:
    for r, phi in ((2.0, 0.75), (np.float32(1.5), np.float32(0.5)), (0.0, math.inf)):
        value, type_ = numba_type(from_polar, r, phi)
        compiled = ad.jit(from_polar)
        assert distance(compiled(r, phi), value, type_ == "float32") <= 4
        assert result_type(compiled) == type_
    gradient = ad.grad(from_polar, (0, 1))(2.0, 0.75)
    cos, sin = math.cos(0.75), math.sin(0.75)
    assert gradient == pytest.approx((3 * 4 * cos, 2 - 8 * sin), rel=1e-14)


def seeded(z, w):
    return z * w


def test_autodiff_seeds_a_complex_result_with_one() -> None:
    z, w = 1 + 2j, 3 - 1j
    primal, gradients = ad.autodiff(ad.Reverse, ad.jit(seeded), ad.Active(z), ad.Active(w))
    assert primal == z * w
    assert gradients == (w.conjugate(), z.conjugate())
    primal, tangent = ad.autodiff(ad.Forward, ad.jit(seeded), ad.Dual(z, 1j), ad.Const(w))
    assert (primal, tangent) == (z * w, 1j * w)


def held(z):
    return (ad.stop_gradient(z) * z).real


def test_stop_gradient() -> None:
    assert ad.grad(held)(1 + 2j) == 1 - 2j


def remainder(z):
    return z % 2


def order(z):
    return z < 1j


def real_function(z):
    return math.sin(z)


def truncation(z):
    return int(z)


def index(z, a):
    return a[z]


def store(z, a):
    a[0] = z


def assigned_part(z):
    z.real = 1.0


def bool_parts(z):
    return complex(True, z)


def two_strings(z):
    return cmath.isclose(z, z)


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (remainder, TypingError, "'%' cannot take complex128 and int64"),
        (order, TypingError, "complex numbers have no order"),
        (real_function, TypingError, "see 'cmath' for complex ones"),
        (truncation, TypingError, "'int' cannot take (complex128)"),
        (index, TypingError, "a real number is needed here, but this is complex128"),
        (store, TypingError, "store its .real, its .imag or its abs()"),
        (assigned_part, UnsupportedError, "assign a whole complex number"),
        (bool_parts, TypingError, "'complex' cannot take (bool, complex128)"),
        (two_strings, UnsupportedError, "'cmath.isclose' is not compiled"),
    ],
)
def test_what_is_refused(function: Callable[..., Any], kind: type, words: str) -> None:
    arguments = (1j, np.zeros(2))[: function.__code__.co_argcount]
    with pytest.raises(kind) as error:
        ad.jit(function)(*arguments)
    assert words in str(error.value)
    assert f"{__file__}:{function.__code__.co_firstlineno + 1}:" in str(error.value)
