"""Arrays of records: element access as in numba, values against numba, derivatives of fields."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

import mlirad as ad
from mlirad import gpu
from mlirad.errors import TypingError, UnsupportedError

INNER = np.dtype([("y", "f4"), ("z", "c16")])
BODY = np.dtype(
    [("flag", "?"), ("x", "f8"), ("vec", "f8", (3,)), ("next", "i4"), ("in", INNER), ("w", "f8")]
)
ALIGNED = np.dtype([("x", "f8"), ("n", "i4"), ("y", "f4")], align=True)
GRID = np.dtype([("m", "f8", (2, 2)), ("points", [("p", "f8"), ("q", "f8")], (2,))])
NAME = "x"


def bodies(dtype: np.dtype[Any] = BODY, count: int = 4) -> NDArray[Any]:
    random = np.random.default_rng(3)
    array = np.zeros(count, dtype)
    array["flag"] = [True, False, True, True]
    for name in ("x", "w"):
        array[name] = random.normal(size=count)
    array["vec"] = random.normal(size=(count, 3))
    array["next"] = [2, 0, -1, 1]
    array["in"]["y"] = random.normal(size=count)
    array["in"]["z"] = random.normal(size=count) + 1j * random.normal(size=count)
    return array


def fields(a, out):
    for i in range(a.shape[0]):
        out[i] = a[i].x * a["w"][i] + a.x[i] * a[i]["w"]


def nested(a, out):
    for i in range(len(a)):
        z = a[i]["in"].z * a["in"].z[i]
        out[i] = z.real + a[i]["in"].y


def sub_array(a, out):
    for i in range(len(a)):
        out[i] = a[i].vec[0] * a["vec"][i, 1] + a[i]["vec"][-1]


def integers_lead(a, out):
    for i in range(len(a)):
        j = a[i].next
        out[i] = a[j].x * a[i].w
        if a[i].flag:
            out[i] += a[j].w


def references_write_through(a, out):
    for i in range(len(a)):
        r = a[i]
        r.x = r.w * r.x
        r.w += 2.0 * a[i].x
        r.vec[1] *= r.w
        r["in"].z = r["in"].z * (1.0 + 2.0j)
        out[i] = a[i].x + a["w"][i]


def whole_records(a, out):
    kept = a[0].x
    a[0] = a[2]
    a[2] = a[1]
    out[0] = kept * a[0].x + a[0].vec[2] + a[2]["in"].z.imag


def energy(r):
    return r.x * r.x + r["in"].y


def length(v):
    return v[0] * v[0] + v[1] * v[2]


def passed_on(a, out):
    for i in range(len(a)):
        out[i] = energy(a[i]) + length(a[i].vec)


def by_name_outside(a, out):
    for i in range(len(a)):
        out[i] = a[i][NAME]


def by_position(a, out):
    for i in range(len(a)):
        out[i] = a[i][1] * a[i][5]


def looped(a, out):
    i = 0
    total = 0.0
    while i < len(a):
        p = a[i]
        for k in range(len(p.vec)):
            total += p.vec[k] * p.x
        i += 1
    out[0] = total


def over_records(a, out):
    total = 0.0
    for k, r in enumerate(a):
        r.w *= 2.0
        total += r.x * r.w
        for v in r.vec:
            total += v * a[k].w
    out[0] = total


def windows(a, out):
    b = a[1:]
    b["w"][:] = b["x"]
    b[0:2] = a[0:2]
    a[3].vec[:] = 0.5
    a[0].vec[1:] = a[1].vec[:2]
    middle = b[::2]
    for i in range(len(middle)):
        out[i] = middle[i].x * b.w[i] + a[0].vec[2] + middle.vec[i, 1]
    out[3] = b.shape[0] + middle.size


FUNCTIONS = [
    fields, nested, sub_array, integers_lead, references_write_through, whole_records,
    by_name_outside, looped,
]  # fmt: skip
OURS = [passed_on, by_position, over_records, windows]


def in_numba(function: Callable[..., Any], a: NDArray[Any], out: NDArray[Any]) -> None:
    numba.njit(error_model="numpy")(function)(a, out)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_are_those_of_numba(function: Callable[..., Any]) -> None:
    a, b = bodies(), bodies()
    got, expected = np.zeros(4), np.zeros(4)
    ad.jit(function)(a, got)
    in_numba(function, b, expected)
    np.testing.assert_allclose(got, expected, rtol=1e-15)
    for name in ("x", "w", "vec"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-15)
    np.testing.assert_allclose(a["in"]["z"], b["in"]["z"], rtol=1e-15)


@pytest.mark.parametrize("function", OURS)
def test_values_are_those_of_python(function: Callable[..., Any]) -> None:
    a, b = bodies(), bodies()
    got, expected = np.zeros(4), np.zeros(4)
    ad.jit(function)(a, got)
    function(b.view(np.recarray), expected)
    np.testing.assert_allclose(got, expected, rtol=1e-15)
    np.testing.assert_array_equal(a, b)


def perturbed(
    function: Callable[..., Any], seed: NDArray[Any], path: list[str], index: Any, h: Any
):
    a, out = bodies(), np.zeros(4)
    target = a
    for name in path:
        target = target[name]
    target[index] += h
    ad.jit(function)(a, out)
    return a, float(seed @ out)


SEED = np.array([1.0, -0.5, 2.0, 0.25])
PATHS = [["x"], ["w"], ["vec"], ["in", "y"], ["in", "z"]]


@pytest.mark.parametrize("function", [*FUNCTIONS, *OURS])
def test_each_field_has_its_derivative(function: Callable[..., Any]) -> None:
    a, da, out, dout = bodies(), np.zeros(4, BODY), np.zeros(4), SEED.copy()
    reverse = ad.reverse(ad.jit(function), ad.Duplicated, ad.Duplicated)
    reverse(a, da, out, dout)
    forward = ad.forward(ad.jit(function), ad.Dual, ad.Dual)
    for path in PATHS:
        shadow = da
        for name in path:
            shadow = shadow[name]
        single = shadow.dtype == np.float32
        for index in np.ndindex(shadow.shape):
            directions = (1.0, 1j) if shadow.dtype.kind == "c" else (1.0,)
            for direction in directions:
                h = (1e-2 if single else 1e-6) * direction
                up = perturbed(function, SEED, path, index, h)[1]
                down = perturbed(function, SEED, path, index, -h)[1]
                expected = (up - down) / (2 * abs(h))
                got = (complex(shadow[index]) * np.conj(direction)).real
                assert got == pytest.approx(expected, rel=1e-4 if single else 1e-7, abs=1e-8)
                tangent = np.zeros(4, BODY)
                place = tangent
                for name in path:
                    place = place[name]
                place[index] = direction
                dout = np.zeros(4)
                forward(bodies(), tangent, np.zeros(4), dout)
                assert SEED @ dout == pytest.approx(got, rel=1e-6, abs=1e-12)
    assert not da["next"].any()
    assert not da["flag"].any()


def grids(a, out):
    for i in range(len(a)):
        for j in range(2):
            for k in range(2):
                out[i] += a[i].m[j, k] * a["m"][i, k, j]
            out[i] += a[i].points[j].p * a[i]["points"][j]["q"] * a["points"].p[i, j]


def test_sub_arrays_of_records() -> None:
    random = np.random.default_rng(5)
    a = np.zeros(3, GRID)
    a["m"] = random.normal(size=(3, 2, 2))
    a["points"]["p"] = random.normal(size=(3, 2))
    a["points"]["q"] = random.normal(size=(3, 2))
    out, da = np.zeros(3), np.zeros(3, GRID)
    m, p, q = a["m"], a["points"]["p"], a["points"]["q"]
    expected = (m * m.transpose(0, 2, 1)).sum((1, 2)) + (p * q * p).sum(1)
    ad.reverse(ad.jit(grids), ad.Duplicated, ad.Duplicated)(a, da, out, np.ones(3))
    np.testing.assert_allclose(out, expected, rtol=1e-14)
    np.testing.assert_allclose(da["m"], 2 * m.transpose(0, 2, 1), rtol=1e-14)
    np.testing.assert_allclose(da["points"]["p"], 2 * p * q, rtol=1e-14)
    np.testing.assert_allclose(da["points"]["q"], p * p, rtol=1e-14)


@ad.kernel
def scatter(a, idx):
    i = gpu.grid(1)
    if i < idx.shape[0]:
        r = a[idx[i]]
        gpu.atomic.add(a["x"], idx[i], 2.0 * a[i].w)
        gpu.atomic.add(r.vec, 1, a[i].w)


def test_atomic_addition_to_fields() -> None:
    idx = np.array([0, 1, 1, 0, 1])
    a = np.zeros(5, BODY)
    a["w"] = np.arange(1.0, 6.0)
    da = np.zeros(5, BODY)
    da["x"], da["vec"][:, 1] = [1.0, 10.0, 0, 0, 0], [100.0, 1000.0, 0, 0, 0]
    ad.reverse(scatter, ad.Duplicated, ad.Const)[1, 8](a, da, idx)
    assert list(a["x"]) == [10, 20, 0, 0, 0]
    assert list(a["vec"][:, 1]) == [5, 10, 0, 0, 0]
    assert list(da["w"]) == [102, 1020, 1020, 102, 1020]


def test_two_dimensional_strided_and_read_only_arrays() -> None:
    whole = np.zeros((4, 6), ALIGNED)
    whole["x"] = np.arange(24.0).reshape(4, 6)
    whole["n"] = 2
    a = whole[::-1, 1::2]
    expected = (a["x"] * a["n"]).sum()
    a.flags.writeable = False
    assert ad.jit(sum_of_products)(a) == expected
    gradient = ad.grad(sum_of_products)(a)
    assert gradient.dtype == ALIGNED
    assert (gradient["x"] == 2).all()
    with pytest.raises(TypingError, match="read-only"):
        ad.jit(writes)(a)


def sum_of_products(a):
    total = 0.0
    rows, columns = a.shape
    for i in range(rows):
        for j in range(columns):
            total += a[i, j].x * a[i, j].n
    return total + 0 * a.size + 0 * a.ndim


def writes(a):
    a[0, 0].x = 1.0


def complex_elements(a, out):
    for i in range(len(a)):
        a[i] *= a[i - 1]
        a[i] += 1.0
        out[i] = a[i].real * a.imag[i] + abs(a[i])


def test_complex_arrays() -> None:
    random = np.random.default_rng(4)
    start = random.normal(size=5) + 1j * random.normal(size=5)
    seed = random.normal(size=5)

    def loss(z: NDArray[Any]) -> float:
        z, out = z.copy(), np.zeros(5)
        complex_elements(z, out)
        return float(seed @ out)

    a, da, out = start.copy(), np.zeros(5, complex), np.zeros(5)
    ad.reverse(ad.jit(complex_elements), ad.Duplicated, ad.Duplicated)(a, da, out, seed.copy())
    expected, numba_out = start.copy(), np.zeros(5)
    numba.njit(complex_elements)(expected, numba_out)
    np.testing.assert_allclose(a, expected, rtol=1e-15)
    np.testing.assert_allclose(out, numba_out, rtol=1e-15)
    for i in range(5):
        for direction in (1.0, 1j):
            step = np.zeros(5, complex)
            step[i] = 1e-6 * direction
            slope = (loss(start + step) - loss(start - step)) / 2e-6
            assert (da[i] * np.conj(direction)).real == pytest.approx(slope, rel=1e-8, abs=1e-8)


def complex_windows(z, w):
    z[1:3] = 2.0 - 1.0j
    w[:] = z[::-1]
    w[0:2] = w[1:3]
    row = z[-2:]
    total = 0j
    for v in row:
        total += v * w[0]
    return total.real


def test_windows_of_complex_arrays() -> None:
    start = np.arange(4) * (1 - 2j) + 1j
    z, w = start.copy(), np.zeros(4, np.complex64)
    expected = start.copy(), np.zeros(4, np.complex64)
    value = complex_windows(*expected)
    dz, dw = np.zeros(4, complex), np.zeros(4, np.complex64)
    reverse = ad.reverse(ad.jit(complex_windows), ad.Duplicated, ad.Duplicated)
    assert reverse(z, dz, w, dw, 1.0) == pytest.approx(value)
    np.testing.assert_array_equal(z, expected[0])
    np.testing.assert_array_equal(w, expected[1])
    # w[0] is what z[2] was given; z[3] meets it.
    np.testing.assert_allclose(dz, [0, 0, 0, (2 - 1j).conjugate()])


def no_such_field(a):
    return a[0].speed


def whole_sub_array(a):
    a[0].vec = 1.0


def other_record(a, b):
    a[0] = b[0]


def arithmetic(a):
    return a[0] + 1


def too_many(a):
    return a[0, 1].x


def number_into_record(a):
    a[0] = 1.0


def changing_reference(a):
    r = a[0]
    for i in range(3):
        r = a[i]
    return r.x


def returned(a):
    return a[0]


def conditional(a):
    return (a[0] if a[0].x > 0 else a[1]).x


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (no_such_field, TypingError, "its fields are flag, x, vec, next, in, w"),
        (whole_sub_array, UnsupportedError, "assign its elements: …[:] = …"),
        (other_record, TypingError, "assign an element of an array with the same fields"),
        (arithmetic, TypingError, "take one of its fields"),
        (too_many, TypingError, "2 indices for"),
        (number_into_record, TypingError, "cannot hold float64"),
        (changing_reference, UnsupportedError, "'r' is a different object"),
        (returned, UnsupportedError, "a function cannot return an array"),
        (conditional, UnsupportedError, "a condition cannot choose between an element of"),
    ],
)
def test_what_is_refused(function: Callable[..., Any], kind: type, words: str) -> None:
    arguments = (bodies(), np.zeros(4, ALIGNED))[: function.__code__.co_argcount]
    with pytest.raises(kind) as error:
        ad.jit(function)(*arguments)
    assert words in str(error.value)
    assert f"{__file__}:" in str(error.value)
