"""Kernels launched and functions called, without derivatives."""

import threading
from typing import Any

import numba
import numpy as np
import pytest
from numba import cuda

import mlirad as ad
from mlirad import gpu
from mlirad.runtime import recording


@ad.kernel
def square(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]


@ad.kernel
def add_into(x, y, a):
    i = gpu.grid(1)
    if i < y.shape[0]:
        y[i] += a * x[i]


@ad.jit
def twice(x):
    square[1, x.shape[0]](x)
    square[1, x.shape[0]](x)


@ad.jit
def power(x, n=2):
    result = 1.0
    for _ in range(n):
        result *= x
    return result


@ad.jit
def several(pair, flag):
    a, b = pair
    return a + b, flag, b


@ad.jit
def first(x):
    return x[0]


def test_a_launch_writes_its_arrays():
    x = np.array([1.0, 2.0, 3.0])
    square[2, 32](x)
    np.testing.assert_array_equal(x, [1.0, 4.0, 9.0])
    square.forall(3)(x)
    np.testing.assert_array_equal(x, [1.0, 16.0, 81.0])


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1"])
def test_each_dtype_has_its_specialisation(dtype: str):
    x = np.array([1, 2, 3], dtype)
    square[1, 4](x)
    np.testing.assert_array_equal(x, np.array([1, 4, 9], dtype))


def test_any_strides_are_taken():
    base = np.arange(24.0).reshape(4, 6)
    expected = base.copy()
    for view in (np.s_[1], np.s_[:, 2], np.s_[::-2, 1], np.s_[0, ::-3]):
        square[1, 8](base[view])
        expected[view] = expected[view] ** 2
    np.testing.assert_array_equal(base, expected)


def test_misaligned_arrays_are_taken():
    record = np.zeros(3, [("a", "i1"), ("b", "f8")])
    record["b"] = [1.0, 2.0, 3.0]
    square[1, 4](record["b"])
    np.testing.assert_array_equal(record["b"], [1.0, 4.0, 9.0])


def test_arrays_may_overlap():
    x = np.arange(8.0)
    add_into[1, 1](x[:4], x[:4], 1.0)
    assert x[0] == 0.0
    add_into[1, 8](x, x, 1.0)
    np.testing.assert_array_equal(x, 2 * np.arange(8.0))


def test_numba_objects_are_taken_as_they_are():
    def half(x):
        i = cuda.grid(1)
        if i < x.shape[0]:
            x[i] /= 2.0

    x = np.array([2.0, 4.0])
    ad.kernel(cuda.jit(half))[1, 2](x)
    np.testing.assert_array_equal(x, [1.0, 2.0])
    assert ad.jit(numba.njit(power.py_func))(3.0, 2) == 9.0


def test_functions_launch_kernels():
    x = np.array([2.0, 3.0])
    assert twice(x) is None
    np.testing.assert_array_equal(x, [16.0, 81.0])


def test_functions_return_python_values():
    assert power(2.0, 10) == 1024.0
    assert power(3.0) == power(x=3.0, n=2) == 9.0
    result = several((1, 2.5), True)
    assert result == (3.5, True, 2.5)
    assert [type(v) for v in result] == [float, bool, float]
    assert type(first(np.array([3], np.int8))) is int
    assert type(first(np.array([3], np.float32))) is float


def test_a_written_array_must_not_overlap_itself():
    x = np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,))
    with pytest.raises(ad.errors.AliasError, match="'x'"):
        square[1, 4](x)
    assert first(np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,))) == 1.0


def test_a_read_only_array_must_not_be_written():
    x = np.ones(3)
    x.flags.writeable = False
    with pytest.raises(ad.errors.MliradError, match="read-only"):
        square[1, 4](x)
    assert first(x) == 1.0


def test_calls_share_specialisations():
    kernel = ad.kernel(square.py_func)
    kernel[1, 4](np.ones(3))
    known = len(kernel.specializations._by_request)
    kernel[2, 64](np.ones(7))
    assert len(kernel.specializations._by_request) == known
    kernel[2, 64](np.ones(7)[::2])
    assert len(kernel.specializations._by_request) == known + 1


def test_threads_may_call_one_kernel():
    arrays = [np.full(1000, float(k)) for k in range(8)]
    kernel = ad.kernel(square.py_func)
    threads = [threading.Thread(target=kernel[8, 128], args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, x in enumerate(arrays):
        assert (x == k * k).all()


def test_a_recording_is_given_the_launch():
    seen: list[Any] = []

    class Recorder:
        def launch(self, program: Any, sizes: Any, args: Any) -> object:
            seen.append((program.name, program.parameters, sizes, args))
            return program.primal(sizes, args)

    recording.activate(Recorder())
    try:
        x = np.array([2.0])
        square[1, 1](x)
        assert several((1, 2.5), True) == (3.5, True, 2.5)
    finally:
        recording.activate(None)
    assert x[0] == 4.0
    (name, parameters, sizes, args), called = seen
    assert (name, parameters, sizes) == ("square", ("x",), (1, 1, 1, 1, 1, 1))
    assert args[0] is x
    assert called == ("several", ("pair[0]", "pair[1]", "flag"), (), [1, 2.5, True])


def test_looking_inside():
    x = np.ones(3)
    assert "gpu.launch_func" in square.inspect_mlir(args=(x,))
    assert "gpu." not in square.inspect_mlir("cpu", args=(x,))
    assert "define" in square.inspect_llvm(args=(x,))
    assert "ret" in square.inspect_asm(args=(x,))
    square[1, 4](x)
    launched = square.inspect_mlir("optimized")
    assert "thread_id" in launched
    assert "<dim y>" not in launched  # the last launch had one axis
