"""
Faults that users of other tools met without an error, here with the right numbers or a refusal.

Recordings of edited index arrays and freed temporaries are in `runtime/test_tape_kernels.py`;
this file holds what a single derived call must get right.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu
from mlirad.errors import ActivityError, AliasError

MODES = [
    pytest.param(ad.reverse, ad.Duplicated, id="reverse"),
    pytest.param(ad.forward, ad.Dual, id="forward"),
]
Mode = Callable[..., Any]


@ad.kernel
def gather(y, x, index):
    i = gpu.grid(1)
    if i < y.shape[0]:
        y[i] = y[i] * x[index[i]]
        index[i] = 0


@ad.kernel
def product(y, x):
    i = gpu.grid(1)
    if i < x.shape[0]:
        y[i] = y[i] * x[i]


@ad.kernel
def through_scratch(x, work, y):
    i = gpu.grid(1)
    if i < x.shape[0]:
        work[i] = 1.0
        work[i] = x[i] * x[i]
        y[i] = work[i] * 3.0


@ad.kernel
def constant_scratch(x, work, y):
    i = gpu.grid(1)
    if i < x.shape[0]:
        work[i] = 2.0 + i
        y[i] = work[i] * x[i] * x[i]


@ad.jit
def scratch_in_a_launch(x, work, y):
    constant_scratch[1, 4](x, work, y)
    through_scratch[1, 4](x, work, y)


@ad.jit
def running_scratch(x, work, y):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.5:
            total += x[i]
        work[i] = total
        y[i] = work[i]


def test_an_index_array_overwritten_by_the_kernel_itself():
    index = np.array([2, 2, 0])
    x, y = np.array([2.0, 3.0, 5.0]), np.array([1.0, 2.0, 3.0])
    dx, dy = np.zeros(3), np.array([1.0, 10.0, 100.0])
    ad.reverse(gather, ad.Duplicated, ad.Duplicated, ad.Const)[1, 4](y, dy, x, dx, index)
    np.testing.assert_array_equal(index, 0)
    np.testing.assert_array_equal(y, [5.0, 10.0, 6.0])
    np.testing.assert_array_equal(dx, [300.0, 0.0, 21.0])
    np.testing.assert_array_equal(dy, [5.0, 50.0, 200.0])


def test_an_index_array_edited_between_a_pullback_and_its_use():
    @ad.jit
    def pick(x, index):
        return x[index[0]] * x[index[1]]

    x, index = np.array([2.0, 3.0, 5.0]), np.array([1, 2])
    value, pull = ad.vjp(pick, x, index)
    index[:] = 0
    x[:] = 7.0
    cotangents = pull(1.0)
    assert value == 15.0
    np.testing.assert_array_equal(cotangents[0], [0.0, 5.0, 3.0])


def test_an_index_array_edited_and_a_temporary_freed_inside_one_tape():
    x, y = np.array([2.0, 3.0, 5.0]), np.ones(2)
    with ad.Tape(x) as tape:
        for _ in range(3):  # each temporary would get the memory of the one before
            temporary, index = np.ones(2), np.array([2, 1])
            gather[1, 2](temporary, x, index)
            product[1, 2](y, temporary)
            index[:] = 0
            del temporary, index
    tape.shadow(y)[...] = [1.0, 10.0]
    tape.backward()
    np.testing.assert_array_equal(y, [125.0, 27.0])
    np.testing.assert_array_equal(tape.shadow(x), [0.0, 270.0, 75.0])


def test_a_base_array_and_its_view_as_two_arguments():
    start = np.array([2.0, 3.0, 5.0, 7.0])

    @ad.jit
    def recurrence(whole, tail):
        for i in range(tail.shape[0]):
            tail[i] = tail[i] * whole[i]

    # tail[i] is whole[i + 1], which the next turn reads: 2, 6, 30, 210
    x, dx = start.copy(), np.array([0.0, 0.0, 0.0, 1.0])
    ad.reverse(recurrence, ad.Duplicated, ad.Duplicated)(x, dx, x[1:], dx[1:])
    np.testing.assert_array_equal(x, [2.0, 6.0, 30.0, 210.0])
    np.testing.assert_array_equal(dx, [105.0, 70.0, 42.0, 30.0])
    x, dx = start.copy(), np.array([1.0, 0.0, 0.0, 0.0])
    ad.forward(recurrence, ad.Dual, ad.Dual)(x, dx, x[1:], dx[1:])
    np.testing.assert_array_equal(dx, [1.0, 3.0, 15.0, 105.0])
    x = start.copy()
    with ad.Tape(x) as tape:
        recurrence(x, x[1:])
    tape.shadow(x)[3] = 1.0
    tape.backward()
    np.testing.assert_array_equal(tape.shadow(x), [105.0, 70.0, 42.0, 30.0])


def test_one_array_as_two_arguments_of_a_kernel():
    x, dx = np.array([2.0, 3.0]), np.array([1.0, 10.0])
    ad.reverse(product, ad.Duplicated, ad.Duplicated)[1, 2](x, dx, x, dx)
    np.testing.assert_array_equal(x, [4.0, 9.0])
    np.testing.assert_array_equal(dx, [4.0, 60.0])


@pytest.mark.parametrize(("mode", "kind"), MODES)
def test_const_and_active_on_one_buffer_are_refused(mode: Mode, kind: Any):
    x, dx = np.array([2.0, 3.0]), np.ones(2)
    for other in (x, x[1:], x[::-1]):
        with pytest.raises(AliasError, match=r"'x' is Const, but overlaps argument 'y'"):
            mode(product, kind, ad.Const)[1, 2](x, dx, other)
    np.testing.assert_array_equal(x, [2.0, 3.0])
    np.testing.assert_array_equal(dx, 1.0)


@pytest.mark.parametrize(("mode", "kind"), MODES)
def test_const_next_to_active_memory_in_one_buffer_is_fine(mode: Mode, kind: Any):
    memory, shadow = np.array([2.0, 3.0, 5.0, 7.0]), np.ones(2)
    mode(product, kind, ad.Const)[1, 2](memory[:2], shadow, memory[2:])
    np.testing.assert_array_equal(memory, [10.0, 21.0, 5.0, 7.0])
    np.testing.assert_array_equal(shadow, [5.0, 7.0])


@pytest.mark.parametrize(("mode", "kind"), MODES)
@pytest.mark.parametrize(
    ("program", "store"),
    [
        (through_scratch[1, 4], "        work[i] = x[i] * x[i]"),
        (scratch_in_a_launch, "        work[i] = x[i] * x[i]"),
        (running_scratch, "        work[i] = total"),
    ],
    ids=["kernel", "launch", "loop"],
)
def test_active_values_in_a_const_work_array_are_refused(
    mode: Mode, kind: Any, program: Any, store: str
):
    x, work, y = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(3)
    shadows = np.ones(3), np.ones(3)
    wanted = ad.Reverse if mode is ad.reverse else ad.Forward
    with pytest.raises(ActivityError) as error:
        ad.autodiff(wanted, program, kind(x, shadows[0]), ad.Const(work), kind(y, shadows[1]))
    message = str(error.value)
    line = Path(__file__).read_text().splitlines().index(store) + 1
    assert f"{__file__}:{line}:{len(store) - len(store.lstrip()) + 1}: " in message
    assert "active values are stored into 'work'" in message
    assert store in message
    assert "annotate 'work' Duplicated or Dual" in message
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal([work, y], 0.0)
    np.testing.assert_array_equal(shadows, 1.0)


def test_a_const_work_array_of_constants_is_fine():
    x, work, y = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(3)
    dx, dy = np.zeros(3), np.ones(3)
    ad.reverse(constant_scratch, ad.Duplicated, ad.Const, ad.Duplicated)[1, 4](x, dx, work, y, dy)
    np.testing.assert_array_equal(y, [2.0, 12.0, 36.0])
    np.testing.assert_array_equal(dx, [4.0, 12.0, 24.0])
    np.testing.assert_array_equal(dy, 0.0)


def test_a_work_array_with_a_shadow_has_the_right_gradient():
    x, work, y = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(3)
    dx, dwork, dy = np.zeros(3), np.zeros(3), np.ones(3)
    kinds = ad.Duplicated, ad.Duplicated, ad.Duplicated
    ad.reverse(through_scratch, *kinds)[1, 4](x, dx, work, dwork, y, dy)
    np.testing.assert_array_equal(dx, [6.0, 12.0, 18.0])
    np.testing.assert_array_equal([dwork, dy], 0.0)
