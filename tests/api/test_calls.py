"""Derivatives from Python to numbers, of programs that owe nothing to the frontend."""

from typing import Any

import numpy as np
import pytest
from numba import cuda

import mlirad as ad
from mlirad.api import as_callable
from mlirad.callables import Function, Kernel
from mlirad.frontend import types as t
from tests.api.written import PRODUCT, SCALE, SQUARE, WrittenProgram

square = Kernel(SQUARE)
scale = Function(SCALE)
product = Function(WrittenProgram("product", ("x", "y"), PRODUCT, t.Tuple((t.FLOAT64, t.INT64))))


@pytest.mark.parametrize("launch", [square[1, 2], square.forall(2)])
@pytest.mark.parametrize(("mode", "kind"), [(ad.Reverse, ad.Duplicated), (ad.Forward, ad.Dual)])
def test_a_kernel(launch: Any, mode: Any, kind: Any):
    x, dx = np.array([2.0, 2.0]), np.array([0.0, 1.0])
    ad.autodiff(mode, launch, kind(x, dx))
    np.testing.assert_array_equal(dx, [0.0, 4.0])
    np.testing.assert_array_equal(x, [4.0, 4.0])


def test_active_numbers_come_back():
    x, dx = np.array([3.0, 4.0]), np.array([1.0, 1.0])
    assert ad.reverse(scale, ad.Duplicated, ad.Active, ad.Const)(x, dx, 2.0, 3) == 3.0
    np.testing.assert_array_equal(dx, [2.0, 1.0])
    x, dx = np.array([3.0, 4.0]), np.array([1.0, 1.0])
    ad.forward(scale, ad.Dual, ad.Dual, ad.Const)(x, dx, 2.0, 0.5, 3)
    np.testing.assert_array_equal(dx, [3.5, 1.0])


def test_results_and_seeds_are_tuples_where_the_result_is():
    assert ad.reverse(product, ad.Active, ad.Const)(2.0, 3.0, (0.5, None)) == ((6.0, 7), 1.5)
    expected = (6.0, 7), (3.0, 2.0)
    assert ad.autodiff(ad.Reverse, product, ad.Active(2.0), ad.Active(3.0)) == expected
    assert ad.forward(product, ad.Dual, ad.Const)(2.0, 1.0, 3.0) == ((6.0, 7), (3.0, None))
    assert ad.jvp(product, (2.0, 3.0), (1.0, 0.5)) == ((6.0, 7), (4.0, None))
    assert ad.vjp(product, 2.0, 3.0)[1]((1.0, None)) == (3.0, 2.0)


def test_forward_over_reverse():
    x, tangent = np.array([2.0, 2.0]), np.array([1.0, 0.0])
    dx, curvature = np.array([1.0, 1.0]), np.zeros(2)
    second = ad.forward(ad.reverse(square, ad.Duplicated), ad.Dual, ad.Dual)
    second[1, 2](x, tangent, dx, curvature)
    np.testing.assert_array_equal(tangent, [4.0, 0.0])
    np.testing.assert_array_equal(dx, [4.0, 4.0])
    np.testing.assert_array_equal(curvature, [2.0, 0.0])


@pytest.mark.parametrize("strided", [False, True])
def test_recordings(strided: bool):
    x = np.full(4, 2.0)[::2] if strided else np.full(2, 2.0)
    with ad.Tape(x) as tape:
        square[1, 2](x)
        square[1, 2](x)
    tape.shadow(x)[...] = [0.0, 1.0]
    tape.backward()
    np.testing.assert_array_equal(tape.shadow(x), [0.0, 32.0])
    x = np.array([2.0, 2.0])
    with ad.Tape(x, mode=ad.Forward) as tape:
        tape.shadow(x)[...] = [0.0, 1.0]
        square[1, 2](x)
        square[1, 2](x)
    np.testing.assert_array_equal(tape.shadow(x), [0.0, 32.0])
    np.testing.assert_array_equal(x, [16.0, 16.0])


def test_shadows_are_verified_on_every_call():
    derivative = ad.reverse(square, ad.Duplicated)[1, 2]
    x, dx = np.ones(2), np.ones(2)
    derivative(x, dx)
    with pytest.raises(ad.errors.LaunchError, match="shape"):
        derivative(x, np.ones(3))
    with pytest.raises(ad.errors.AliasError, match="overlaps"):
        derivative(x, x)
    with pytest.raises(ad.errors.ArgumentTypeError, match="dtype"):
        derivative(x, np.ones(2, "f4"))
    np.testing.assert_array_equal(x, [1.0, 1.0])


def test_shadows_may_have_other_strides():
    x, dx = np.array([2.0, 3.0]), np.ones(4)[::2]
    ad.reverse(square, ad.Duplicated)[1, 2](x, dx)
    np.testing.assert_array_equal(dx, [4.0, 6.0])


def test_plain_functions_are_compiled_once():
    def f(x):
        return x

    assert as_callable(f) is as_callable(f)
    assert isinstance(as_callable(f), Function)
    assert isinstance(as_callable(cuda.jit(f)), Kernel)
    assert as_callable(cuda.jit(f)) is as_callable(cuda.jit(f))
