"""Grids and blocks."""

from typing import Any

import pytest

from mlirad.errors import LaunchError, LaunchTypeError, UnsupportedError
from mlirad.runtime.sizes import forall_sizes, launch_sizes


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ((3, 32), (3, 1, 1, 32, 1, 1)),
        (((2, 3), (4, 5, 6)), (2, 3, 1, 4, 5, 6)),
        (((7,), 8, None, 0), (7, 1, 1, 8, 1, 1)),
    ],
)
def test_sizes_have_six_entries(given: object, sizes: tuple[int, ...]):
    assert launch_sizes("k", given) == sizes


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ((0, 1), LaunchError, "size 0"),
        ((1, -1), LaunchError, "size -1"),
        ((1, 1025), LaunchError, "at most 1024"),
        ((1, (1, 1, 65)), LaunchError, "at most 64"),
        ((1, (64, 32)), LaunchError, "more than 1024"),
        (((1, 65536), 1), LaunchError, "at most 65535"),
        (((1, 1, 1, 1), 1), LaunchError, "4 dimensions"),
        ((1.5, 1), LaunchTypeError, "1.5"),
        ((True, 1), LaunchTypeError, "bool"),
        (("1", 1), LaunchTypeError, "'1'"),
        (3, LaunchTypeError, "k[blocks, threads_per_block]"),
        ((1, 1, "stream"), UnsupportedError, "streams"),
    ],
)
def test_what_cuda_does_not_allow_is_refused(given: object, kind: type, words: str):
    with pytest.raises(kind) as error:
        launch_sizes("k", given)
    assert words in str(error.value)
    assert "k" in str(error.value)


@pytest.mark.parametrize("count", [1, 2, 127, 128, 129, 1000])
def test_forall_has_enough_threads(count: int):
    sizes = forall_sizes("k", count)
    assert sizes[0] * sizes[3] >= count
    assert (len(sizes) == 6) == (sizes[0] * sizes[3] == count)
    assert (sizes[0] - 1) * sizes[3] < count


def test_forall_of_nothing_has_no_blocks():
    assert forall_sizes("k", 0)[0] == 0


@pytest.mark.parametrize(("count", "kind"), [(-1, LaunchError), (1.0, LaunchTypeError)])
def test_forall_takes_a_count(count: Any, kind: type):
    with pytest.raises(kind):
        forall_sizes("k", count)
