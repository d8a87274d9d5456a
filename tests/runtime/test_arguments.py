"""Which types Python values have as arguments, and which words they become."""

import struct

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from mlirad.errors import ArgumentTypeError, UnsupportedError
from mlirad.frontend import types as t
from mlirad.runtime.arguments import (
    Packer,
    Refused,
    Unpacker,
    flat_types,
    key_of,
    leaf_names,
    leaves,
    overlaps_itself,
    type_of,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, t.INT64),
        (-(2**63), t.INT64),
        (2**63, t.UINT64),
        (3.0, t.FLOAT64),
        (True, t.BOOL),
        (np.bool_(True), t.BOOL),
        (np.float32(1), t.FLOAT32),
        (np.float64(1), t.FLOAT64),
        (np.int8(1), t.INT8),
        (np.uint16(1), t.UINT16),
        ((1, (2.0, True)), t.Tuple((t.INT64, t.Tuple((t.FLOAT64, t.BOOL))))),
    ],
)
def test_numbers_keep_their_type(value: object, expected: t.Type):
    assert type_of(value) == expected


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?"])
def test_arrays_have_the_type_of_their_elements(dtype: str):
    array = np.zeros((2, 3), dtype)
    element = type_of(array.dtype.type(0))
    assert type_of(array) == t.Array(element, 2)


def test_layout_is_part_of_the_type():
    array = np.zeros((4, 6))
    assert type_of(array[:, ::2]) == t.Array(t.FLOAT64, 2, contiguous=False)
    assert type_of(array.T) == t.Array(t.FLOAT64, 2, contiguous=False)
    assert type_of(array[1]) == t.Array(t.FLOAT64, 1)
    assert type_of(np.zeros(())) == t.Array(t.FLOAT64, 0)


def test_misaligned_and_read_only_arrays_are_typed_so():
    misaligned = np.zeros(17, np.uint8)[1:].view(np.float64)
    assert type_of(misaligned) == t.Array(t.FLOAT64, 1, aligned=False)
    read_only = np.zeros(2)
    read_only.flags.writeable = False
    assert type_of(read_only) == t.Array(t.FLOAT64, 1, writable=False)


def test_a_field_of_a_packed_record_is_strided_and_misaligned():
    field = np.zeros(3, [("a", "i4"), ("b", "f8")])["b"]
    assert type_of(field) == t.Array(t.FLOAT64, 1, contiguous=False, aligned=False)


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ("text", ArgumentTypeError, "a str"),
        ([1.0], ArgumentTypeError, "a list"),
        (np.zeros(2, "f2"), ArgumentTypeError, "float16"),
        (np.zeros(2, ">f8"), ArgumentTypeError, ">f8"),
        (np.zeros(2, "G"), ArgumentTypeError, "complex256"),
        (np.zeros(2, "g"), ArgumentTypeError, "float128"),
        (np.zeros(2, "M8[s]"), ArgumentTypeError, "datetime64"),
        (np.zeros(2, object), ArgumentTypeError, "object"),
        (np.zeros(2, "U3"), ArgumentTypeError, "<U3"),
        (np.zeros(2, [("a", "f8"), ("b", "f2")]), ArgumentTypeError, "field 'b' is float16"),
        (np.zeros(2, [("a", [("c", ">f8")])]), ArgumentTypeError, "field 'a.c' is >f8"),
        (np.zeros(2, [("a", "O")]), ArgumentTypeError, "field 'a' is object"),
        (np.zeros(2, [("a", "S3")]), ArgumentTypeError, "field 'a' is |S3"),
        (np.zeros(2, "V8"), ArgumentTypeError, "bytes without fields"),
        (
            np.zeros(2, {"names": ["a", "b"], "formats": ["f8", "i4"], "offsets": [0, 4]}),
            UnsupportedError,
            "'a' and 'b' share memory",
        ),
        (np.zeros(2, [("a", "f8")])[0], UnsupportedError, "a record"),
        (np.ma.zeros(2), ArgumentTypeError, "MaskedArray"),
        (np.float16(1), ArgumentTypeError, "a float16"),
        (2**64, ArgumentTypeError, "18446744073709551616"),
        (object(), ArgumentTypeError, "an object"),
    ],
)
def test_what_cannot_be_passed_is_named(value: object, kind: type, words: str):
    with pytest.raises(Refused) as refused:
        type_of(value)
    error = refused.value.error("f", "x")
    assert isinstance(error, kind)
    assert "f: argument 'x' is" in str(error)
    assert words in str(error)


def test_arrays_on_a_gpu_are_refused():
    class DeviceArray:
        __cuda_array_interface__ = {}  # noqa: RUF012

    with pytest.raises(Refused) as refused:
        type_of(DeviceArray())
    assert refused.value.kind is UnsupportedError


def test_arrays_that_overlap_themselves_count_as_read_only():
    row = np.zeros(3)
    wide = as_strided(row, (4, 3), (0, 8))
    assert overlaps_itself(wide)
    assert not type_of(wide).writable
    window = sliding_window_view(np.zeros(5), 3, writeable=True)
    assert overlaps_itself(window)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 4)).T,
        np.zeros((3, 4))[::-1, ::2],
        np.zeros((0, 4))[:, ::2],
        np.zeros((1, 4))[:, ::2],
        as_strided(np.zeros(10), (2, 3), (24, 16)),  # interleaved, without a common element
    ],
)
def test_other_strides_do_not_overlap(array: np.ndarray):
    assert not overlaps_itself(array)


def test_equal_keys_mean_equal_types():
    values = [
        *(1, 1.0, True, np.float32(1), (1, 2.0), (1, 2), 2**63),
        *(np.zeros(2), np.zeros(4)[::2], np.zeros(2, "f4"), np.zeros((2, 2)), np.zeros(2)[:1]),
        np.zeros(17, np.uint8)[1:].view(np.float64),
        as_strided(np.zeros(2), (2,), (0,)),
    ]
    for a in values:
        for b in values:
            if key_of(a) == key_of(b):
                assert type_of(a) == type_of(b)


def test_tuples_are_flattened_in_order():
    value = (1, (2.0, np.zeros(2)), None)
    assert len(leaves([value])) == 3
    assert leaf_names("p", type_of(value)) == ["p[0]", "p[1][0]", "p[1][1]"]
    assert len(list(flat_types([type_of(value)]))) == 3


def test_arguments_are_packed_as_the_contract_says():
    array = np.zeros((4, 6))[:, ::2]
    line = np.zeros(5, np.float32)
    values = [array, line, -1, np.float32(0.5), 2.0, np.bool_(True), np.uint64(2**63)]
    packed = Packer(list(flat_types([type_of(v) for v in values])))((1, 2, 3, 4, 5, 6), values)
    assert packed == struct.pack(
        "=6q Qqqqq Qq q f4x d q Q",
        *(1, 2, 3, 4, 5, 6),
        *(array.ctypes.data, 4, 3, 48, 16),
        *(line.ctypes.data, 5),
        *(-1, 0.5, 2.0, True, 2**63),
    )


def test_results_are_python_numbers():
    type_ = t.Tuple((t.INT32, t.FLOAT32, t.NoneType(), t.BOOL, t.UINT8))
    words = struct.pack("=Q f4x Q Q", 0xFFFF_FFFF, 0.5, 1, 0x1FF)
    assert Unpacker(type_)(words) == (-1, 0.5, None, True, 255)
    assert Unpacker(t.NoneType())(b"") is None
