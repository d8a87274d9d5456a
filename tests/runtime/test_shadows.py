"""Shadows follow memory, whatever array object looks at it."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from mlirad.errors import AliasError
from mlirad.runtime.shadows import Buffer, Shadows, owner


@pytest.fixture
def shadows() -> Shadows:
    return Shadows()


VIEWS = {
    "slice": lambda x: x[1:3],
    "steps": lambda x: x[::2, 1::2],
    "reversed": lambda x: x[::-1, ::-1],
    "transposed": lambda x: x.T,
    "row": lambda x: x[2],
    "element": lambda x: x[1, 1, ...],
    "reshaped": lambda x: x.reshape(-1),
    "view of a view": lambda x: x[1:].T[1:],
    "strided": lambda x: as_strided(x, (3, 3), (sum(x.strides), x.strides[1])),
    "through a memoryview": lambda x: np.asarray(memoryview(x))[1:],
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_gets_the_same_view_of_the_shadow(shadows: Shadows, view, order):
    x = np.asarray(np.arange(24.0).reshape(4, 6), order=order)
    if not np.may_share_memory(x, view(x)):
        return  # a copy
    shadow = shadows.shadow(x, "x")
    shadow[...] = x
    part = shadows.shadow(view(x), "part")
    assert part.shape == view(x).shape
    assert part.strides == view(x).strides
    np.testing.assert_array_equal(part, view(x))
    part[...] = -1.0
    view(x)[...] = -1.0
    np.testing.assert_array_equal(shadow, x)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_the_view_may_come_first(shadows: Shadows, view):
    x = np.zeros((4, 6))
    shadows.shadow(view(x), "part")[...] = 1.0
    view(x)[...] = 1.0
    np.testing.assert_array_equal(shadows.shadow(x, "x"), x)


def test_shadows_start_at_zero_and_are_as_aligned_as_their_primals(shadows: Shadows):
    for offset in range(0, 128, 8):
        x = np.ones(64)[offset // 8 :]
        shadow = shadows.shadow(x, "x")
        assert not shadow.any()
        assert (shadow.__array_interface__["data"][0] - x.__array_interface__["data"][0]) % 64 == 0


def test_a_buffer_keeps_its_array_alive(shadows: Shadows):
    for n in range(200):  # each new array would reuse the address of the one before
        x = np.full(1000, float(n))
        shadow = shadows.shadow(x, "x")
        assert not shadow.any()
        shadow[...] = 1.0


def test_read_only_arrays_have_writable_shadows(shadows: Shadows):
    x = np.ones(3)
    x.flags.writeable = False
    shadows.shadow(x, "x")[...] = 1.0


def test_empty_arrays_have_empty_shadows(shadows: Shadows):
    x, y = np.zeros((0, 3)), np.zeros((0, 3))
    assert shadows.shadow(x, "x").shape == (0, 3)
    assert shadows.find(y) is None


def test_the_same_bytes_under_another_dtype_are_refused(shadows: Shadows):
    x = np.zeros(4)
    shadows.shadow(x, "'x' of 'f'")
    with pytest.raises(AliasError, match=r"'y' of 'g' uses memory of 'x' of 'f' as int64"):
        shadows.shadow(x.view(np.int64), "'y' of 'g'")
    with pytest.raises(AliasError, match="float32"):
        shadows.shadow(x[1:].view(np.float32), "y")


def test_parts_of_an_arena_may_have_different_dtypes(shadows: Shadows):
    arena = np.zeros(64, np.uint8)
    shadows.shadow(arena[:32].view(np.float64), "x")[...] = 1.0
    shadows.shadow(arena[32:].view(np.float32), "y")[...] = 2.0
    assert shadows.shadow(arena[8:16].view(np.float64), "x")[0] == 1.0
    with pytest.raises(AliasError):
        shadows.shadow(arena[24:40].view(np.float64), "z")


def test_fields_of_records_and_parts_of_complex_numbers_share_the_shadow(shadows: Shadows):
    record = np.zeros(3, [("mass", "f8"), ("position", "f4", (2,))])
    shadows.shadow(record, "record")["mass"][...] = 1.0
    np.testing.assert_array_equal(shadows.shadow(record["mass"], "mass"), 1.0)
    shadows.shadow(record["position"], "position")
    z = np.zeros(3, complex)
    shadows.shadow(z, "z")[...] = 1 + 2j
    np.testing.assert_array_equal(shadows.shadow(z.imag, "imag"), 2.0)


def test_two_arrays_of_foreign_memory(shadows: Shadows):
    memory = bytearray(64)
    whole, half = np.frombuffer(memory), np.frombuffer(memory, offset=32)
    assert owner(half) is half
    shadows.shadow(whole, "whole")[4:] = 1.0
    np.testing.assert_array_equal(shadows.shadow(half, "half"), 1.0)
    other = Shadows()
    other.shadow(half, "half")
    with pytest.raises(AliasError, match="pass slices"):
        other.shadow(whole, "whole")


def test_changes_are_seen_to_the_bit():
    x = np.array([0.0, np.nan])
    buffer = Buffer(x, "x", x.ctypes.data, x.ctypes.data + x.nbytes)
    buffer.keep()
    assert not buffer.changed()
    x[0] = -0.0
    assert buffer.changed()
    buffer.keep()
    assert not buffer.changed()
