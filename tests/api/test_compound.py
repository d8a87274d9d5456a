"""Complex numbers, records, named tuples and dataclasses: derivatives, recordings, transforms."""

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import mlirad as ad
from mlirad import gpu
from mlirad.errors import AliasError, ArgumentTypeError, LaunchError, TypingError, UnsupportedError
from mlirad.runtime.aliasing import alias_partition
from mlirad.runtime.arguments import leaves

POINT = np.dtype([("x", "f8"), ("k", "i4"), ("v", "f8", (2,))])
ODD = np.dtype([("tag", "u1"), ("x", "f8"), ("z", "c8")])


@ad.kernel
def square_points(p):
    i = gpu.grid(1)
    if i < len(p):
        p[i].x = p[i].x * p[i].v[1]
        p[i].v[0] = p[p[i].k].v[1] * p[i].x


@ad.kernel
def square_complex(z):
    i = gpu.grid(1)
    if i < len(z):
        z[i] = z[i] * z[i]


def points() -> NDArray[Any]:
    p = np.zeros(3, POINT)
    p["x"], p["k"], p["v"] = [1.0, 2.0, 3.0], [1, 2, 0], [[1, 2], [3, 4], [5, 6]]
    return p


def run_points(p: NDArray[Any]) -> NDArray[Any]:
    """The same with numpy, for any dtype of the fields."""
    x = p["x"] * p["v"][:, 1]
    return np.stack([x, p["v"][p["k"], 1] * x, p["v"][:, 1]])


# Recordings


def test_a_tape_of_records() -> None:
    p = points()
    seed = np.array([[1.0, -2.0, 0.5], [0.25, 1.0, 2.0], [3.0, 0.0, 1.0]])
    with ad.Tape(p) as tape:
        square_points[1, 4](p)
        square_points[1, 4](p)
    shadow = tape.shadow(p)
    shadow["x"], shadow["v"][:, 0], shadow["v"][:, 1] = seed
    tape.backward()
    for name, index in [("x", 0), ("x", 2), ("v", (1, 0)), ("v", (0, 1)), ("v", (2, 1))]:
        values: list[float] = []
        for step in (1e-6, -1e-6):
            q = points()
            q[name][index] += step
            square_points[1, 4](q)
            square_points[1, 4](q)
            values.append(float((seed * [q["x"], q["v"][:, 0], q["v"][:, 1]]).sum()))
        slope = (values[0] - values[1]) / 2e-6
        assert tape.shadow(p)[name][index] == pytest.approx(slope, rel=1e-8, abs=1e-7)
    assert not tape.shadow(p)["k"].any()


def test_a_forward_tape_of_one_field() -> None:
    p = points()
    with ad.Tape(p, mode=ad.Forward) as tape:
        tape.shadow(p["x"])[...] = 1.0
        square_points[1, 4](p)
    assert list(tape.shadow(p)["x"]) == [2, 4, 6]
    assert list(tape.shadow(p["v"])[:, 0]) == [8, 24, 12]


def test_a_tape_of_complex_numbers() -> None:
    z = np.array([1 + 2j, -0.5 + 1j])
    start = z.copy()
    with ad.Tape(z) as tape:
        square_complex.forall(2)(z)
        tape.assign(z, z * 1.0)
    assert (tape.shadow(z) == 0).all()
    z = start.copy()
    with ad.Tape(z) as tape:
        square_complex.forall(2)(z)
        square_complex.forall(2)(z)
    tape.shadow(z)[...] = [1.0, 1j]
    tape.backward()
    np.testing.assert_allclose(
        tape.shadow(z), np.array([1.0, 1j]) * (4 * start**3).conj(), rtol=1e-15
    )


def test_assigning_records() -> None:
    p, q = points(), points()
    with ad.Tape(p, q) as tape:
        square_points[1, 4](p)
        tape.assign(q, p)
        tape.assign(p[:1], p[1:2])
        with pytest.raises(ArgumentTypeError, match="a record is a view"):
            tape.assign(p[:1], p[1])
        with pytest.raises(ArgumentTypeError, match="takes records of the same dtype"):
            tape.assign(p, np.zeros(3))
    tape.shadow(q)["x"] = 1.0
    tape.shadow(p)["x"][0] = 10.0
    tape.backward()
    assert list(tape.shadow(p)["x"]) == [2.0, 44.0, 6.0]
    assert not tape.shadow(q)["x"].any()
    assert (tape.shadow(p)["k"] == 0).all()


# Shadows


def sum_of_squares(z):
    total = 0.0
    for i in range(len(z)):
        total += abs(z[i]) ** 2
    return total


def doubled_x(p):
    for i in range(len(p)):
        p[i].x *= 2.0


@pytest.mark.parametrize(
    ("value", "shadow", "kind", "words"),
    [
        (np.zeros(2, complex), np.zeros(2), ArgumentTypeError, "dtype float64, but the argument"),
        (np.zeros(2, complex), np.zeros(2, np.complex64), ArgumentTypeError, "complex64"),
        (np.zeros(2, complex), np.zeros(3, complex), LaunchError, "has shape (3,)"),
        (np.zeros(2, complex), 1j, ArgumentTypeError, "is a complex, but the argument"),
    ],
)
def test_wrong_shadows_of_complex_arrays(value, shadow, kind, words) -> None:
    reverse = ad.reverse(ad.jit(sum_of_squares), ad.Duplicated)
    with pytest.raises(kind) as error:
        reverse(value, shadow, 1.0)
    assert words in str(error.value)


def test_wrong_shadows_of_records() -> None:
    reverse = ad.reverse(ad.jit(doubled_x), ad.Duplicated)
    with pytest.raises(ArgumentTypeError, match="dtype float64, but the argument"):
        reverse(points(), np.zeros(3))
    p = points()
    with pytest.raises(AliasError, match="overlaps argument 'p"):
        reverse(p, p)
    integers = np.zeros(2, [("a", "i4")])
    with pytest.raises(ArgumentTypeError, match="has no derivative"):
        ad.reverse(ad.jit(doubled_x), ad.Duplicated)(integers, integers.copy())


def test_records_that_are_not_aligned() -> None:
    p = np.zeros(4, ODD)
    p["x"], p["z"], p["tag"] = np.arange(4.0), 1 + 2j, 7
    reverse = ad.reverse(ad.jit(shifted), ad.Duplicated)
    for array in (p, p[1:], p[::-2]):
        shadow = np.zeros_like(array)
        expected = (array["x"] * abs(array["z"]) ** 2 + array["tag"]).sum()
        assert reverse(array, shadow, 1.0) == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(shadow["x"], abs(array["z"]) ** 2, rtol=1e-6)
        np.testing.assert_allclose(shadow["z"], 2 * array["x"] * array["z"], rtol=1e-6, atol=1e-12)
        assert not shadow["tag"].any()


def shifted(p):
    total = 0.0
    for i in range(len(p)):
        total += p[i].x * abs(p[i].z) ** 2 + p[i].tag
    return total


# Overlaps


def test_fields_do_not_overlap_but_records_do() -> None:
    p = points()
    assert alias_partition(leaves([p])) == (0, 1, 2)
    assert alias_partition(leaves([p[1:], p[:-1]])) == (0, 1, 2, 0, 1, 2)
    assert alias_partition(leaves([p, p["v"]])) == (0, 1, 2, 2)
    big = np.zeros((7, 9, 11), ODD)[:, ::2, 1:]
    assert alias_partition(leaves([big])) == (0, 1, 2, 3)
    z = np.zeros(6, complex)
    assert alias_partition(leaves([z, z.imag, z.real[::2]])) == (0, 1, 1, 0)
    assert alias_partition(leaves([z, z.view(float)])) == (0, 0, 0)


def move(a, b):
    for i in range(len(a)):
        a[i].x = b[i].x * b[i].x
        a[i].v[0] = a[i].x * b[i].v[1]


def test_overlapping_record_arrays() -> None:
    """`a` is one record behind `b`: what is written is read in the next iteration."""
    p, dp = points(), np.zeros(3, POINT)
    dp["x"], dp["v"][:, 0] = 1.0, 1.0
    ad.reverse(ad.jit(move), ad.Duplicated, ad.Duplicated)(p[1:], dp[1:], p[:-1], dp[:-1])
    assert list(p["x"]) == [1, 1, 1]
    assert list(p["v"][:, 0]) == [1, 2, 4]
    # x1 = x0 ** 2, w1 = x1 * v0, x2 = x1 ** 2, w2 = x2 * v1
    assert dp["x"][0] == 1 + 2 + 2 * 2 + 4 + 4 * 4
    assert list(dp["v"][:, 1]) == [1, 1, 0]
    with pytest.raises(AliasError, match="overlap in the same way"):
        ad.reverse(ad.jit(move), ad.Duplicated, ad.Duplicated)(
            p[1:], np.zeros(2, POINT), p[:-1], np.zeros(2, POINT)
        )


def gather(p, k):
    total = 0.0
    for i in range(len(p)):
        total += p[k[i]].x * p[i].x
    return total


def test_an_integer_field_beside_its_records() -> None:
    p, dp = points(), np.zeros(3, POINT)
    ad.reverse(ad.jit(gather), ad.Duplicated, ad.Const)(p, dp, p["k"], 1.0)
    assert list(dp["x"]) == [5, 4, 3]
    assert list(ad.grad(gather)(p, p["k"])["x"]) == [5, 4, 3]


# Transforms


def product(z, w):
    return z * w


def test_grad_needs_a_real_result() -> None:
    with pytest.raises(ArgumentTypeError) as error:
        ad.grad(product)(1j, 2j)
    assert "one float, not complex128" in str(error.value)
    assert "abs(z)" in str(error.value)


def test_complex_gradients_are_of_dtype_and_shape() -> None:
    z = np.array([1 + 2j, 3 - 1j], np.complex64)
    gradient = ad.grad(sum_of_squares)(z)
    assert gradient.dtype == np.complex64
    np.testing.assert_allclose(gradient, 2 * z, rtol=1e-6)
    value, tangent = ad.jvp(sum_of_squares, (z,), (np.array([1j, 1.0], np.complex64),))
    assert value == pytest.approx(15)
    assert tangent == pytest.approx(4 + 6)


def test_a_seed_of_a_complex_result_is_complex() -> None:
    reverse = ad.reverse(ad.jit(product), ad.Active, ad.Const)
    assert reverse(1 + 2j, 3 - 1j, 1j) == (5 + 5j, 1j * (3 + 1j))
    with pytest.raises(ArgumentTypeError, match=r"complex\(1\)"):
        reverse(1 + 2j, 3 - 1j, 1.0)
    forward = ad.forward(ad.jit(product), ad.Dual, ad.Const)
    assert forward(1 + 2j, 1j, 2j) == (-4 + 2j, -2 + 0j)
    with pytest.raises(ArgumentTypeError, match="the tangent of a complex number"):
        forward(1 + 2j, 1.0, 2j)
    assert ad.vjp(product, 1j, 2j)[1](1) == (-2j, -1j)


# Named tuples and dataclasses


class Spring(NamedTuple):
    k: float
    rest: NDArray[Any]
    steps: int = 3


@dataclass
class Chain:
    x: NDArray[Any]
    spring: Spring
    label: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Wave:
    z: NDArray[Any]
    phase: complex


def potential(c, s):
    total = 0.0
    for i in range(len(c.x) - 1):
        stretch = c.x[i + 1] - c.x[i] - c.spring.rest[i]
        total += 0.5 * c.spring.k * stretch**c.spring.steps
    for i in range(s.z.shape[0]):
        total += (s.z[i] * s.phase).real
    return total + c.spring[0]


def chain() -> tuple[Chain, Wave]:
    spring = Spring(2.0, np.array([0.5, 0.25]))
    return Chain(np.array([0.0, 1.0, 3.0]), spring), Wave(np.array([1 + 1j, 2j]), 0.5 - 1j)


def test_structures_in_both_modes() -> None:
    c, w = chain()
    f = ad.jit(potential)
    assert f(c, w) == potential(c, w)
    gradient, wave = ad.grad(f, (0, 1))(c, w)
    assert type(gradient) is Chain
    assert type(gradient.spring) is Spring
    assert gradient.label is None
    assert gradient.spring.steps is None
    stretch = np.array([0.5, 1.75])
    np.testing.assert_allclose(gradient.spring.rest, -3 * stretch**2)
    np.testing.assert_allclose(gradient.x, [-0.75, 0.75 - 3 * 1.75**2, 3 * 1.75**2])
    assert gradient.spring.k == pytest.approx(1 + 0.5 * (stretch**3).sum())
    np.testing.assert_allclose(wave.z, [0.5 + 1j, 0.5 + 1j])
    assert wave.phase == pytest.approx((w.z.sum()).conjugate())
    tangents = (
        Chain(np.array([1.0, 0, 0]), Spring(0.5, np.zeros(2), 0)),
        Wave(np.zeros(2, complex), 1j),
    )
    _, tangent = ad.jvp(f, (c, w), tangents)
    expected = gradient.x[0] + 0.5 * gradient.spring.k + (wave.phase.conjugate() * 1j).real
    assert tangent == pytest.approx(expected)
    assert c.x[1] == 1.0


class Pair(NamedTuple):
    a: NDArray[Any]
    b: NDArray[Any]


def swap_squares(p):
    for i in range(len(p.a)):
        p.a[i], p.b[i] = p.b[i] * p.b[i], p[0][i]


def test_a_shadow_has_the_class_of_its_argument() -> None:
    p, dp = Pair(np.array([2.0]), np.array([3.0])), Pair(np.array([1.0]), np.array([10.0]))
    reverse = ad.reverse(ad.jit(swap_squares), ad.Duplicated)
    reverse(p, dp)
    assert (p.a[0], p.b[0], dp.a[0], dp.b[0]) == (9, 2, 10, 6)
    with pytest.raises(ArgumentTypeError, match="shadow of argument 'p' is a tuple"):
        reverse(p, tuple(dp))
    with pytest.raises(ArgumentTypeError, match=r"shadow of argument 'p\.b' has dtype float32"):
        reverse(p, Pair(dp.a, dp.b.astype(np.float32)))


def test_a_tape_of_structures() -> None:
    p = Pair(np.array([2.0]), np.array([3.0]))
    with ad.Tape(p.a, p.b) as tape:
        ad.jit(swap_squares)(p)
    tape.shadow(p.a)[0], tape.shadow(p.b)[0] = 1.0, 10.0
    tape.backward()
    assert (tape.shadow(p.a)[0], tape.shadow(p.b)[0]) == (10, 6)


class Number(NamedTuple):
    value: float
    turned: complex
    count: int = 1


def advanced(n, factor):
    for _ in range(n.count):
        n = Number(n.value * factor, turned=n.turned * n.value)
    return n


def test_named_tuples_as_results() -> None:
    start = Number(2.0, 1j, 2)
    result = ad.jit(advanced)(start, 3.0)
    assert result == advanced(start, 3.0)
    assert type(result) is Number
    _, pullback = ad.vjp(advanced, start, 3.0)
    gradient, factor = pullback(Number(1.0, 1j, None))
    # value = 9 v, turned = t v (3 v)
    assert type(gradient) is Number
    assert gradient.value == pytest.approx(9 + 3 * 2 * 2.0)
    assert gradient.turned == pytest.approx(12j)
    assert factor == pytest.approx(2 * 2 * 3.0 + 4.0)


def of_a_field(c):
    return c.spring.mass


def indexed(c):
    return c[0]


def assigned(c):
    c.label = 1


def built(c):
    return Chain(c.x, c.spring)


def wrong_fields(c):
    return Number(1.0)


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (of_a_field, TypingError, "its fields are k, rest, steps"),
        (indexed, TypingError, "cannot be indexed"),
        (assigned, UnsupportedError, "'c.label' cannot be assigned"),
        (built, UnsupportedError, "instances of dataclasses are arguments only"),
        (wrong_fields, TypingError, "'Number' takes the fields value, turned, count"),
    ],
)
def test_what_is_refused_of_structures(function, kind, words) -> None:
    with pytest.raises(kind) as error:
        ad.jit(function)(chain()[0])
    assert words in str(error.value)


def test_numbers_beside_arrays_are_not_duplicated() -> None:
    c, w = chain()
    reverse = ad.reverse(ad.jit(potential), ad.Duplicated, ad.Const)
    with pytest.raises(ArgumentTypeError) as error:
        reverse(c, chain()[0], w, 1.0)
    assert "'c.spring.k' is a float64, but is annotated Duplicated" in str(error.value)
    assert "grad and vjp take them as they are" in str(error.value)


def test_a_field_that_cannot_be_passed_is_named() -> None:
    with pytest.raises(ArgumentTypeError, match="a Spring whose 'rest' is a list"):
        ad.jit(of_a_field)(Spring(1.0, [1.0]))  # pyright: ignore[reportArgumentType]


# The disk cache

PROGRAM = """
import sys
import numpy as np
import mlirad as ad
from typing import NamedTuple

class State(NamedTuple):
    p: np.ndarray
    z: complex

def step(s, r):
    for i in range(len(r)):
        r[i].x = r[i].x * s.p[i] * abs(s.z)
    return State2(s.p[0] * 2.0, s.z * s.z)

class State2(NamedTuple):
    {fields}

r = np.zeros(2, [("x", "f8"), {extra} ("y", "{y}")])
r["x"] = 2.0
result = ad.jit(step)(State(np.array([1.0, 3.0]), 3 + 4j), r)
print(result, r["x"].tolist(), "xdsl" in sys.modules)
"""


def test_the_disk_cache_tells_compound_types_apart(tmp_path) -> None:
    """What is found in it has the types of the call; other fields are another program."""

    def run(fields: str, extra: str, y: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(PROGRAM).format(fields=fields, extra=extra, y=y))
        environment = {**os.environ, "MLIRAD_CACHE": "1", "MLIRAD_CACHE_DIR": str(tmp_path / "c")}
        command = [sys.executable, str(path)]
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout

    ab = "a: float\n    b: complex"
    expected = "State2(a=2.0, b=(-7+24j)) [10.0, 30.0]"
    for _ in range(2):
        assert expected in run(ab, "", "f8")
    assert expected in run(ab, '("w", "f4"),', "f8")
    assert expected in run(ab, "", "c16")
    other = run("u: float\n    v: complex", "", "f8")
    assert "State2(u=2.0, v=(-7+24j)) [10.0, 30.0]" in other
