"""Which arrays overlap: exactly where that is cheap to find out."""

import numpy as np
import pytest

from mlirad.runtime.aliasing import alias_partition, bounds
from mlirad.runtime.copies import Copies


def test_only_arrays_have_numbers_and_they_count_up():
    a, b = np.zeros(3), np.zeros(3)
    assert alias_partition([1.0, b, 2, a, b]) == (-1, 0, -1, 1, 0)


def test_interleaved_views_do_not_overlap():
    a = np.zeros(10)
    assert alias_partition([a[::2], a[1::2]]) == (0, 1)
    assert alias_partition([a[:5], a[5:]]) == (0, 1)
    assert alias_partition([a[:6], a[5:]]) == (0, 0)


def test_overlap_is_made_transitive():
    a = np.zeros(10)
    assert alias_partition([a[:4], a[6:], a]) == (0, 0, 0)


def test_other_dtypes_of_the_same_bytes_overlap():
    a = np.zeros(4)
    assert alias_partition([a, a.view(np.int64)[::-1]]) == (0, 0)


def test_empty_arrays_overlap_with_nothing():
    a = np.zeros(4)
    assert alias_partition([a, a[2:2]]) == (0, 1)


@pytest.mark.parametrize(
    "view", [np.s_[::-1, ::2], np.s_[1:3, 1:2], np.s_[::2], np.s_[:, ::-3], np.s_[...]]
)
def test_bounds_hold_every_element(view: tuple[slice, ...]):
    whole = np.zeros((4, 6))
    array = whole[view]
    touched = np.zeros_like(whole, dtype=bool)
    touched[view] = True
    places = np.flatnonzero(touched)
    start = whole.ctypes.data
    assert bounds(array) == (start + 8 * places[0], start + 8 * places[-1] + 8)


def test_copies_overlap_as_their_originals():
    a = np.arange(10.0)
    apart = np.ones((2, 3), order="F")
    copies = Copies([a, (a[2:6], 5), a[::2], apart, 3])
    whole, (part, number), even, other, last = copies.primals()
    np.testing.assert_array_equal(whole, a)
    np.testing.assert_array_equal(part, a[2:6])
    assert (number, last) == (5, 3)
    assert other.strides == apart.strides
    part[0] = -1.0
    assert whole[2] == even[1] == -1.0
    assert a[2] == 2.0
    zeros = copies.zeros([True, False, True, False, False])
    assert set(zeros) == {0, 2}
    zeros[0][2] = 1.0
    assert zeros[2][1] == 1.0
    np.testing.assert_array_equal(copies.primals()[0], a)
