"""Blocks spread over several workers: the same numbers, also where threads meet in one element."""

import ctypes
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu
from mlirad.backends import workers as pool
from mlirad.runtime import workers
from tests.conformance import check_mlirad
from tests.conformance.test_cases import CHECKS, applies

REPEAT = 20
BLOCKS, THREADS = 37, 16
N = BLOCKS * THREADS


@pytest.fixture
def use() -> Iterator[Callable[[int], None]]:
    """Sets the number of workers; every launch is spread, however small."""

    def choose(count: int) -> None:
        ad.set_workers(count)
        if count > 1:
            pool.start(count, least=1)

    yield choose
    ad.set_workers(1)


@ad.kernel
def gather(x, index, out, total, scale):
    i = gpu.grid(1)
    if i < out.shape[0]:
        v = x[index[i]]
        out[i] = scale * v * v
        gpu.atomic.add(total, 0, v * out[i])


@ad.kernel
def loop(x, out):
    i = gpu.grid(1)
    if i < out.shape[0]:
        v = x[i]
        while v < 100.0:
            v = v * v + x[i]
        out[i] = v


@ad.kernel
def block_sum(x, out):
    s = gpu.shared.array(THREADS, np.float64)
    t = gpu.threadIdx.x
    s[t] = x[gpu.blockIdx.x * THREADS + t] ** 3
    gpu.syncthreads()
    if t == 0:
        for k in range(THREADS):
            gpu.atomic.add(out, 0, s[k])


@ad.kernel
def largest(x, out):
    i = gpu.grid(1)
    if i < x.shape[0]:
        gpu.atomic.max(out, 0, x[i] * x[i])


@ad.kernel
def last_block_sums(x, partial, done, out):
    b = gpu.blockIdx.x
    if gpu.threadIdx.x == 0:
        total = 0.0
        for k in range(THREADS):
            total += x[b * THREADS + k] ** 2
        partial[b] = total
        gpu.threadfence()
        if gpu.atomic.add(done, 0, 1) == gpu.gridDim.x - 1:
            everything = 0.0
            for k in range(gpu.gridDim.x):
                everything += partial[k]
            out[0] = everything * everything


def random(seed: int) -> Any:
    return np.random.default_rng(seed)


def gather_gradient() -> list[Any]:
    index = random(1).integers(0, 7, N)
    x, dx = random(0).uniform(0.5, 1.5, 7), np.zeros(7)
    out, dout, total, dtotal = np.zeros(N), np.ones(N), np.zeros(1), np.ones(1)
    dk = ad.reverse(gather, ad.Duplicated, ad.Const, ad.Duplicated, ad.Duplicated, ad.Active)
    dscale = dk[BLOCKS, THREADS](x, dx, index, out, dout, total, dtotal, 1.5)
    return [dx, dout, out, total, dscale]


def loop_gradient() -> list[Any]:
    x, dx = random(0).uniform(1.1, 3, N), np.zeros(N)
    out, dout = np.zeros(N), np.ones(N)
    ad.autodiff(ad.Reverse, loop[BLOCKS, THREADS], ad.Duplicated(x, dx), ad.Duplicated(out, dout))
    return [dx, out]


def block_gradient() -> list[Any]:
    x, dx = random(0).uniform(-1, 1, N), np.zeros(N)
    out, dout = np.zeros(1), np.ones(1)
    dk = ad.reverse(block_sum, ad.Duplicated, ad.Duplicated)
    dk[BLOCKS, THREADS](x, dx, out, dout)
    np.testing.assert_allclose(dx, 3 * x**2, rtol=1e-12)
    return [dx, out]


def largest_gradient() -> list[Any]:
    x, dx = random(0).uniform(-1, 1, N), np.zeros(N)
    x[[3, N // 2, N - 1]] = 2.0, -2.0, 2.0
    out, dout = np.zeros(1), np.ones(1)
    dk = ad.reverse(largest, ad.Duplicated, ad.Duplicated)
    dk[BLOCKS, THREADS](x, dx, out, dout)
    assert dx[3] == 4.0
    assert np.count_nonzero(dx) == 1
    return [dx, out]


def last_block_gradient() -> list[Any]:
    x, dx = random(0).uniform(-1, 1, N), np.zeros(N)
    arrays = [np.zeros(BLOCKS), np.zeros(BLOCKS), np.zeros(1, np.int64), np.zeros(1), np.ones(1)]
    dk = ad.reverse(last_block_sums, ad.Duplicated, ad.Duplicated, ad.Const, ad.Duplicated)
    dk[BLOCKS, THREADS](x, dx, *arrays)
    np.testing.assert_allclose(dx, 4 * x * (x @ x), rtol=1e-12)
    return [dx, arrays[3]]


def recorded() -> list[Any]:
    index = random(1).integers(0, 7, N)
    x, out, last, total = random(0).uniform(0.5, 1.5, 7), np.zeros(N), np.zeros(N), np.zeros(1)
    with ad.Tape(x, out, last, total) as tape:
        gather[BLOCKS, THREADS](x, index, out, total, 1.5)
        gather[BLOCKS, THREADS](out, index, last, total, 0.5)
    tape.shadow(total)[...] = 1.0
    tape.backward()
    return [tape.shadow(x).copy(), total]


def tangents() -> list[Any]:
    index = random(1).integers(0, 7, N)
    x, dx = random(0).uniform(0.5, 1.5, 7), random(2).normal(size=7)
    out, total = np.zeros((2, N)), np.zeros((2, 1))
    dk = ad.forward(gather, ad.Dual, ad.Const, ad.Dual, ad.Dual, ad.Const)
    dk[BLOCKS, THREADS](x, dx, index, *out, *total, 1.5)
    return [out, total]


PROGRAMS = (
    *(gather_gradient, loop_gradient, block_gradient, largest_gradient, last_block_gradient),
    *(tangents, recorded),
)


def agree(found: list[Any], wanted: list[Any], rtol: float) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_any_number_of_workers_gives_the_same(
    program: Callable[[], list[Any]], use: Callable[[int], None]
):
    wanted = program()
    for count in (2, 3, 1):
        use(count)
        for _ in range(REPEAT):
            agree(program(), wanted, 1e-12)


def test_deterministic_derivatives_are_equal_to_the_last_bit(use: Callable[[int], None]):
    index = random(1).integers(0, 7, N)
    annotations = ad.Duplicated, ad.Const, ad.Duplicated, ad.Duplicated, ad.Active
    dk = ad.reverse(gather, *annotations, deterministic=True)

    def run() -> list[Any]:
        x, dx = random(0).uniform(0.5, 1.5, 7), np.zeros(7)
        out, dout, total, dtotal = np.zeros(N), np.ones(N), np.zeros(1), np.ones(1)
        dscale = dk[BLOCKS, THREADS](x, dx, index, out, dout, total, dtotal, 1.5)
        return [dx, dout, out, total, dscale]

    wanted = run()
    for count in (2, 3):
        use(count)
        for _ in range(REPEAT):
            agree(run(), wanted, 0)


def test_blocks_run_on_other_threads(use: Callable[[int], None]):
    """As seen from the code: launches go through the table, additions are atomic."""
    x, out = np.ones(N), np.zeros(1)
    kernel = ad.kernel(block_sum.py_func)
    kernel[BLOCKS, THREADS](x, out)
    assert "atomicrmw" not in kernel.inspect_llvm()
    use(2)
    kernel[BLOCKS, THREADS](x, out)
    assert "atomicrmw fadd" in kernel.inspect_llvm()
    assert out[0] == 2 * N


def test_a_derivative_that_needs_the_order_of_threads_is_not_spread(use: Callable[[int], None]):
    use(2)
    largest_gradient()
    dk = ad.reverse(largest, ad.Duplicated, ad.Duplicated)
    dk[2, 2](np.ones(4), np.zeros(4), np.zeros(1), np.ones(1))
    assert "mlirad.sequential" in dk.inspect_mlir("cpu")
    assert "atomicrmw" not in dk.inspect_llvm()
    largest[2, 2](np.ones(4), np.zeros(1))
    assert "atomicrmw fmax" in largest.inspect_llvm()


def test_misaligned_arrays_are_added_to_by_one_worker(use: Callable[[int], None]):
    use(2)
    records = np.zeros(N, np.dtype([("c", "i1"), ("v", "f8")]))
    records["v"] = random(0).uniform(1, 2, N)
    x, total = records["v"], np.zeros((1,), np.dtype([("c", "i1"), ("v", "f8")]))["v"]
    shadow, seed = np.zeros_like(records)["v"], np.ones_like(total)
    dk = ad.reverse(block_sum, ad.Duplicated, ad.Duplicated)
    dk[BLOCKS, THREADS](x, shadow, total, seed)
    np.testing.assert_allclose(shadow, 3 * x**2)
    np.testing.assert_allclose(total, np.sum(x**3))


@pytest.mark.parametrize("given", [3, BLOCKS * THREADS + 20, 2 * BLOCKS * THREADS])
def test_memory_that_runs_out_in_one_worker_is_reported(
    given: int, use: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
):
    """Each thread of `loop` has a stack of its own, which grows in whichever worker runs it."""
    use(2)
    alloc, *others = pool.pool_table()
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(alloc or 0)
    asked = itertools.count()

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)
    def scarce(size: int) -> Any:
        return allocate(size) if next(asked) < given else None

    table = (ctypes.c_void_p * 3)(ctypes.cast(scarce, ctypes.c_void_p), *others)
    monkeypatch.setattr(pool, "pool_table", lambda: table)
    dk = ad.reverse(loop, ad.Duplicated, ad.Duplicated)
    arrays = [np.full(N, 1.5), np.zeros(N), np.zeros(N), np.ones(N)]
    with pytest.raises(MemoryError, match="not enough memory"):
        dk[BLOCKS, THREADS](*arrays)
    assert next(asked) > given


def test_a_child_of_a_fork_has_workers_of_its_own(use: Callable[[int], None], tmp_path: Path):
    use(2)
    wanted = gather_gradient()
    child = os.fork()
    if child == 0:
        try:
            agree(gather_gradient(), wanted, 1e-12)
            (tmp_path / "agrees").touch()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "agrees").exists()
    agree(gather_gradient(), wanted, 1e-12)


def test_launches_from_several_threads(use: Callable[[int], None]):
    from concurrent.futures import ThreadPoolExecutor

    use(2)
    wanted = gather_gradient()
    with ThreadPoolExecutor(4) as executor:
        for found in [executor.submit(gather_gradient) for _ in range(REPEAT)]:
            agree(found.result(), wanted, 1e-12)


@pytest.mark.parametrize("wrong", [0, -1, 1000])
def test_the_number_of_workers_is_checked(wrong: int):
    with pytest.raises(ad.errors.LaunchError, match="between 1 and 256"):
        ad.set_workers(wrong)
    assert not workers.several()


@pytest.mark.parametrize("wrong", [1.0, "2", True, None])
def test_the_number_of_workers_is_an_int(wrong: Any):
    with pytest.raises(ad.errors.ArgumentTypeError, match="no number of threads"):
        ad.set_workers(wrong)


def test_deterministic_is_a_flag():
    wrong: Any = "yes"
    with pytest.raises(ad.errors.ArgumentTypeError, match="deterministic='yes'"):
        ad.reverse(largest, ad.Duplicated, ad.Duplicated, deterministic=wrong)


CASES = sorted(Path(check_mlirad.__file__).parent.glob("case*.py"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_conformance_with_two_workers(path: Path, use: Callable[[int], None]):
    use(2)
    case = check_mlirad.load(path)
    for name, check in CHECKS.items():
        if applies(name, case):
            assert list(check(case)) == []


@ad.kernel
def all_store_the_same(x, y):
    gpu.grid(1)
    y[0] = x[0] * x[0]


def test_of_threads_that_store_one_value_to_one_element_a_single_one_takes_its_shadow(
    use: Callable[[int], None],
):
    use(3)
    x = np.array([3.0])
    derivative = ad.reverse(all_store_the_same, ad.Duplicated, ad.Duplicated)
    for _ in range(REPEAT):
        dx, dy = np.zeros(1), np.ones(1)
        derivative[256, 256](x, dx, np.zeros(1), dy)
        np.testing.assert_array_equal([dx[0], dy[0]], [6.0, 0.0])
    text = derivative.inspect_mlir("lowered")
    assert text.count("mlirad.take") == 1
