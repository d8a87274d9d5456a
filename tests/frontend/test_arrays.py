"""Arrays: negative indices, shapes, layouts, element types."""

import numpy as np

from mlirad.frontend.lower import lower
from mlirad.frontend.types import FLOAT64, Array
from tests.frontend.compiled import call

FACTORS = (2.0, 3.0, 5.0)


def negative_indices(a, i):
    a[i] += 2.0
    a[-1] *= a[0]
    return a[i - 1]


def sizes(a):
    n, m = a.shape
    return n * 1000 + m * 100 + len(a) * 10 + a.ndim + a.size * 10000 + a.shape[-1]


def transpose_into(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]


def flip(flags, counts):
    for i in range(len(flags)):
        flags[i] = not flags[i]
        counts[i] += flags[i]


def tuple_constants(k):
    return FACTORS[k] + FACTORS[-1] * len(FACTORS)


def swapped(x, y):
    a, b = x, y
    a, b = b, a
    a[0] = 1.0
    return b[0]


def test_negative_indices_count_from_the_end() -> None:
    for i in (0, 1, 2, -1, -2):
        expected, got = np.arange(1.0, 4.0), np.arange(1.0, 4.0)
        assert call(negative_indices, got, i) == negative_indices(expected, i)
        np.testing.assert_array_equal(got, expected)


def test_small_and_unsigned_indices() -> None:
    for i in (np.int8(-2), np.int32(1), np.uint8(2), np.uint64(1)):
        a = np.arange(1.0, 4.0)
        call(negative_indices, a, i)
        assert a[int(i)] != np.arange(1.0, 4.0)[int(i)]


def test_shape_and_its_relatives() -> None:
    a = np.zeros((3, 4))
    assert call(sizes, a) == sizes(a)


def test_strided_arrays() -> None:
    base = np.arange(24.0).reshape(4, 6)
    for a in (base[::2, ::-3], base.T, base[1:, 2:4]):
        out = np.zeros(a.T.shape)
        call(transpose_into, a, out)
        np.testing.assert_array_equal(out, a.T)


def test_bool_elements() -> None:
    flags, counts = np.array([True, False]), np.array([5, 5], dtype=np.int16)
    call(flip, flags, counts)
    assert flags.tolist() == [False, True]
    assert counts.tolist() == [5, 6]


def test_tuples_of_constants_take_any_index() -> None:
    assert [call(tuple_constants, k) for k in (0, 2, -2)] == [17.0, 20.0, 18.0]


def test_arrays_are_rebound_without_copies() -> None:
    x, y = np.array([7.0]), np.array([8.0])
    assert call(swapped, x, y) == 7.0
    assert y[0] == 1.0


def hashed_index(a, n):
    for i in range(n, n + 1):
        a[((i + 1) * 6364136223846793005) >> 62] = 1.0


def test_overflow_is_no_proof_of_a_sign() -> None:
    # numba wraps the product too; the shift of a negative number is a negative index.
    for n in range(4):
        a, expected = np.zeros(4), np.zeros(4)
        product = ((n + 1) * 6364136223846793005) & (2**64 - 1)
        expected[(product - 2**64 * (product >> 63)) >> 62] = 1.0
        call(hashed_index, a, n)
        np.testing.assert_array_equal(a, expected)


def backwards(a):
    for i in range(len(a) - 2, -1, -1):
        a[i] += a[i + 1]


def test_a_loop_down_to_zero_needs_no_wraparound() -> None:
    assert "arith.select" not in str(lower(backwards, [Array(FLOAT64, 1)], kernel=False))
    a = np.arange(4.0)
    call(backwards, a)
    assert a.tolist() == [6.0, 6.0, 5.0, 3.0]
