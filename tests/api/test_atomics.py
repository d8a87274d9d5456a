"""The rest of the GPU language: atomics, fences, constant arrays, lanes."""

from typing import Any

import numpy as np
import pytest
from numba import cuda

import mlirad as ad
from mlirad import gpu
from mlirad.errors import TypingError, UnsupportedError

WEIGHTS = np.array([0.25, 0.5, -1.5])
TABLE = np.arange(6, dtype=np.int32).reshape(2, 3)
LARGE_UNSIGNED = np.array([2**63 + 5, 7], np.uint64)
FLAGS = np.array([True, False, True])


@ad.kernel
def compact(x, out, count):
    i = gpu.grid(1)
    if i < x.shape[0]:
        if x[i] > 0.0:
            j = gpu.atomic.add(count, 0, 1)
            out[j] = x[i] * x[i]


def compact_like_python(x: Any) -> Any:
    out = np.zeros_like(x)
    kept = x[x > 0] ** 2
    out[: len(kept)] = kept
    return out


def test_stream_compaction_and_its_derivatives():
    rng = np.random.default_rng(0)
    x, out, count = rng.normal(size=40), np.zeros(40), np.zeros(1, np.int64)
    compact[5, 8](x, out, count)
    np.testing.assert_array_equal(out, compact_like_python(x))
    assert count[0] == np.sum(x > 0)

    dx, dout = np.zeros(40), rng.normal(size=40)
    seed = dout.copy()
    reverse = ad.reverse(compact, ad.Duplicated, ad.Duplicated, ad.Const)
    reverse[5, 8](x, dx, np.zeros(40), dout, np.zeros(1, np.int64))
    kept = np.cumsum(x > 0) - 1
    np.testing.assert_allclose(dx, np.where(x > 0, 2 * x * seed[kept], 0), rtol=1e-14)
    np.testing.assert_array_equal(dout[: count[0]], 0)

    direction, tangent = rng.normal(size=40), np.zeros(40)
    forward = ad.forward(compact, ad.Dual, ad.Dual, ad.Const)
    forward[5, 8](x, direction, np.zeros(40), tangent, np.zeros(1, np.int64))
    np.testing.assert_allclose(tangent[: count[0]], (2 * x * direction)[x > 0], rtol=1e-14)


@ad.kernel
def locked_sum(x, lock, total):
    i = gpu.grid(1)
    if i < x.shape[0]:
        while gpu.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        gpu.threadfence()
        total[0] = total[0] * 0.5 + x[i]
        gpu.threadfence()
        gpu.atomic.exch(lock, 0, 0)


def test_a_lock_made_of_cas_and_exch():
    x, total, lock = np.arange(1.0, 6.0), np.zeros(1), np.zeros(1, np.int32)
    weights = 0.5 ** np.arange(4, -1, -1.0)
    locked_sum[5, 1](x, lock, total)
    np.testing.assert_allclose(total, x @ weights)
    assert lock[0] == 0
    dx, dtotal = np.zeros(5), np.ones(1)
    ad.autodiff(
        ad.Reverse,
        locked_sum[5, 1],
        ad.Duplicated(x, dx),
        ad.Const(lock),
        ad.Duplicated(total, dtotal),
    )
    np.testing.assert_allclose(dx, weights)
    np.testing.assert_allclose(dtotal, 0.5**5)


@ad.kernel
def swaps(a, old, n):
    i = gpu.grid(1)
    old[0] = gpu.atomic.cas(a, 2, n, 40 + i)
    old[1] = gpu.atomic.cas(a, 2, n, 50)
    old[2] = gpu.atomic.exch(a, -1, 7)
    old[3] = gpu.atomic.compare_and_swap(a, a[0], 9)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_exchanges_give_the_old_element(dtype: Any):
    a, old = np.array([1, 2, 3, 4], dtype), np.zeros(4, dtype)
    swaps[1, 1](a, old, 3)
    np.testing.assert_array_equal(a, [9, 2, 40, 7])
    np.testing.assert_array_equal(old, [3, 40, 4, 1])


@ad.kernel
def rotate(x, out):
    out[0] = gpu.atomic.exch(x, 0, 2.5)
    out[1] = x[0]


def test_floats_are_exchanged():
    x, out = np.array([1.5]), np.zeros(2)
    rotate[1, 1](x, out)
    np.testing.assert_array_equal([*x, *out], [2.5, 1.5, 2.5])


def test_an_active_exchange_is_refused_with_its_line():
    for derivative in (
        ad.reverse(rotate, ad.Duplicated, ad.Duplicated),
        ad.forward(rotate, ad.Dual, ad.Dual),
    ):
        with pytest.raises(UnsupportedError, match=r"test_atomics.py:\d+:\d+: this atomic op"):
            derivative[1, 1](np.ones(1), np.ones(1), np.ones(2), np.ones(2))


@ad.kernel
def weighted(x, out):
    w, t = gpu.const.array_like(WEIGHTS), gpu.const.array_like(TABLE)
    i = gpu.grid(1)
    if i < out.shape[0]:
        total = 0.0
        for k in range(w.shape[0]):
            total += w[k] * x[i + k] * x[i + k] + t[1, k]
        out[i] = total


def test_constant_arrays():
    rng = np.random.default_rng(1)
    x, out = rng.normal(size=12), np.zeros(10)
    weighted[2, 5](x, out)
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    np.testing.assert_allclose(out, windows**2 @ WEIGHTS + 12, rtol=1e-13)
    dx, seed = np.zeros(12), rng.normal(size=10)
    ad.autodiff(ad.Reverse, weighted[2, 5], ad.Duplicated(x, dx), ad.Duplicated(out, seed.copy()))
    wanted = 2 * x * np.convolve(seed, WEIGHTS)
    np.testing.assert_allclose(dx, wanted, rtol=1e-12)
    tangent, direction = np.zeros(10), rng.normal(size=12)
    dk = ad.forward(weighted, ad.Dual, ad.Dual)
    dk[2, 5](x, direction, out, tangent)
    moved = np.lib.stride_tricks.sliding_window_view(direction, 3)
    np.testing.assert_allclose(tangent, 2 * (windows * moved) @ WEIGHTS, rtol=1e-12)


@ad.kernel
def chosen_weight(x, which, out):
    i = gpu.grid(1)
    w = gpu.const.array_like(WEIGHTS)
    out[i] = w[which[i]] * x[i] * x[i]
    which[i] = 0


def test_a_weight_chosen_by_an_index_that_is_overwritten():
    x, which = np.array([2.0, 3.0]), np.array([2, 1])
    dx, out, dout = np.zeros(2), np.zeros(2), np.ones(2)
    dk = ad.reverse(chosen_weight, ad.Duplicated, ad.Const, ad.Duplicated)
    dk[2, 1](x, dx, which, out, dout)
    np.testing.assert_array_equal(dx, [-6.0, 3.0])


@ad.kernel
def constants_of_other_types(out, flags):
    u, f = gpu.const.array_like(LARGE_UNSIGNED), gpu.const.array_like(FLAGS)
    i = gpu.grid(1)
    out[i] = u[i]
    flags[i] = f[i]


def test_constant_arrays_of_unsigned_ints_and_bools():
    out, flags = np.zeros(2, np.uint64), np.zeros(2, np.bool_)
    constants_of_other_types[1, 2](out, flags)
    np.testing.assert_array_equal(out, LARGE_UNSIGNED)
    np.testing.assert_array_equal(flags, FLAGS[:2])


def test_constant_arrays_with_barriers():
    @ad.kernel
    def k(x, out):
        s = gpu.shared.array(4, np.float64)
        w = gpu.const.array_like(WEIGHTS)
        t = gpu.threadIdx.x
        s[t] = x[t] * x[t]
        gpu.syncthreads()
        out[t] = w[t % 3] * s[3 - t]

    x, dx, out, dout = np.arange(1.0, 5), np.zeros(4), np.zeros(4), np.ones(4)
    ad.reverse(k, ad.Duplicated, ad.Duplicated)[1, 4](x, dx, out, dout)
    w = WEIGHTS[[0, 1, 2, 0]]
    np.testing.assert_allclose(out, w * x[::-1] ** 2)
    np.testing.assert_allclose(dx, (w * 2 * x[::-1])[::-1])


@ad.kernel
def lanes(out):
    t = gpu.threadIdx.x + gpu.blockDim.x * gpu.threadIdx.y
    out[t] = 100 * gpu.laneid + gpu.warpsize


def test_lanes():
    out = np.zeros(80, np.int64)
    lanes[1, (10, 8)](out)
    np.testing.assert_array_equal(out, 100 * (np.arange(80) % 32) + 32)


@ad.kernel
def picked(x, out):
    i = gpu.grid(1)
    out[i] = gpu.selp(x[i] > 0.0, x[i] * x[i], 3 * x[i])


def test_selp():
    x, dx, out, dout = np.array([2.0, -2.0]), np.zeros(2), np.zeros(2), np.ones(2)
    ad.reverse(picked, ad.Duplicated, ad.Duplicated)[2, 1](x, dx, out, dout)
    np.testing.assert_array_equal([*out, *dx], [4, -6, 4, 3])


def test_the_names_of_numba_mean_the_same():
    @ad.kernel
    def k(x, out, lock):
        w = cuda.const.array_like(WEIGHTS)
        i = cuda.grid(1)
        if cuda.atomic.cas(lock, i, 0, 1) == 0:
            out[i] = cuda.selp(i > 0, w[i], x[i]) + cuda.laneid * cuda.warpsize
        cuda.threadfence()

    out = np.zeros(3)
    k[3, 1](np.ones(3), out, np.zeros(3, np.int32))
    np.testing.assert_array_equal(out, [1, 0.5, -1.5])


def shuffle(x):
    x[0] = cuda.shfl_sync(-1, x[0], 0)


def count_barrier(x):
    x[0] = cuda.syncthreads_count(x[0] > 0)


def vote(x):
    x[0] = cuda.all_sync(-1, x[0] > 0)


@pytest.mark.parametrize("function", [shuffle, count_barrier, vote])
def test_what_is_not_compiled_is_refused_by_name(function: Any):
    name = {"shuffle": "shfl_sync", "count_barrier": "syncthreads_count", "vote": "all_sync"}
    with pytest.raises(UnsupportedError, match=name[function.__name__]) as caught:
        ad.kernel(function)[1, 1](np.ones(1))
    assert "shared memory" in str(caught.value)


def writes_constant(x):
    w = gpu.const.array_like(WEIGHTS)
    w[0] = x[0]


def constant_of_argument(x):
    x[0] = gpu.const.array_like(x)[0]


def cas_of_floats(x):
    gpu.atomic.cas(x, 0, 1.0, 2.0)


def fence_with_argument(x):
    gpu.threadfence(x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (writes_constant, "read-only array"),
        (constant_of_argument, "known while compiling"),
        (cas_of_floats, "compares integers"),
        (fence_with_argument, "takes no arguments"),
    ],
)
def test_wrong_use_is_refused(function: Any, message: str):
    with pytest.raises(TypingError, match=message):
        ad.kernel(function)[1, 1](np.ones(1))


def test_on_a_gpu_blocks_have_no_order():
    with pytest.raises(UnsupportedError, match="blocks wait for each other"):
        ad.reverse(fenced, ad.Duplicated, ad.Duplicated).inspect_ptx(
            args=[np.ones(5), np.ones(5), np.ones(5), np.ones(5)]
        )
    determined = ad.reverse(picked, ad.Duplicated, ad.Duplicated, deterministic=True)
    with pytest.raises(UnsupportedError, match="deterministic=True"):
        determined.inspect_ptx(args=[np.ones(5), np.ones(5), np.ones(5), np.ones(5)])


@ad.kernel
def fenced(x, out):
    i = gpu.grid(1)
    out[i] = x[i] * x[i]
    gpu.threadfence()
    out[i] = out[i] * x[i]


def test_ptx_of_what_threads_do_to_each_other():
    lock = locked_sum.inspect_ptx(args=[np.ones(5), np.zeros(1, np.int32), np.ones(1)])
    assert all(word in lock for word in ("membar.gl", "cas.b32", "exch.b32"))
    weights = weighted.inspect_ptx(args=[np.ones(12), np.ones(10)])
    assert "BFF8000000000000" in weights  # the bits of -1.5
