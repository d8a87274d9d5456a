"""PTX: mathematics, parameters, processors, and what is refused."""

from __future__ import annotations

import math
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu
from mlirad.backends import libdevice, nvptx
from mlirad.cli.main import main as mlirad_main
from mlirad.cli.opt import main as opt_main
from mlirad.compiling import module_at
from mlirad.errors import UnsupportedError
from tests.backends import device_on_host
from tests.backends.test_nvptx import assemble, needs_libdevice
from tests.derivatives.primals import PRIMALS
from tests.derivatives.test_partials import primal_value
from tests.passes.interpreter import parse

X = np.linspace(0.1, 0.9, 5)


def scale(x, factor, n, flag):
    i = gpu.grid(1)
    if i < n and flag:
        x[i] = x[i] * factor


def sine(x, y):
    i = gpu.grid(1)
    if i < x.size:
        y[i] = math.sin(x[i])


def rotate(x, y):
    i = gpu.threadIdx.x
    first = x[0]
    gpu.syncthreads()
    if i == 0:
        x[0] = 5.0
    gpu.syncthreads()
    y[i] = first + x[0]


@needs_libdevice
def test_every_op_is_compiled_or_refused_in_words():
    command = [sys.executable, "-m", "tests.backends.every_op_to_ptx"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, [*done.stdout.splitlines()[-1:], done.stderr]
    lines = done.stdout.splitlines()
    assert len(lines) > 300
    assert {line for line in lines if not line.endswith(" ok")} == {
        "math.ipowi i1,i1->i1 refused: <unknown>: integer powers of bool are not supported"
    }


def one_op(name: str, types: list[str]) -> str:
    """A kernel that computes `name` of its arguments."""
    operands = ", ".join(f"%a{k}" for k in range(len(types)))
    arguments = ", ".join(f"%a{k}: {t}" for k, t in enumerate(types))
    kinds = ", ".join(types)
    declared, called = "", f'"{name}"({operands})'
    if "." not in name:
        declared = f"func.func private @{name}({kinds}) -> f64 attributes {{mlirad.pure}}"
        called = f'"func.call"({operands}) <{{callee = @{name}}}>'
    return f"""
    "gpu.module"() <{{sym_name = "kernels"}}> ({{
      {declared}
      "gpu.func"() <{{function_type = ({kinds}, memref<f64>) -> (), kernel}}> ({{
      ^bb0({arguments}, %out: memref<f64>):
        %r = {called} : ({kinds}) -> f64
        memref.store %r, %out[] : memref<f64>
        "gpu.return"() : () -> ()
      }}) {{sym_name = "k"}} : () -> ()
    }}) : () -> ()"""


@needs_libdevice
@pytest.mark.parametrize("name", PRIMALS)
def test_functions_have_the_values_of_mpmath(name: str):
    primal, draw = PRIMALS[name], random.Random(3)
    types, point = [], []
    for low, high in primal.domain:
        whole = isinstance(low, int)
        types.append("i32" if whole else "f64")
        point.append(draw.randint(low, int(high)) if whole else draw.uniform(low, high))
    out = np.zeros(())
    device = device_on_host.Device(parse(one_op(name, types)))
    device.launch("k", (1,) * 6, [*point, out])
    assert float(out) == pytest.approx(primal_value(primal, tuple(point)), rel=4e-15, abs=1e-15)


@pytest.mark.parametrize("cc", nvptx.PROCESSORS)
def test_every_processor(cc: tuple[int, int], tmp_path: Path):
    text = ad.kernel(scale).inspect_ptx(cc, (X, 2.0, 3, True))
    assert f".target {nvptx.processor(cc)}\n" in text
    assert ".visible .entry scale(" in text
    assemble(text, cc, tmp_path)


@pytest.mark.parametrize("cc", [(8, 6), (3, 5), "sm_80", 9.0, None])
def test_other_processors_are_refused(cc: Any):
    with pytest.raises(UnsupportedError, match=r"take the largest that is not above"):
        ad.kernel(scale).inspect_ptx(cc, (X, 2.0, 3, True))


def test_parameters_are_the_words_of_the_arguments():
    args = (np.zeros((4, 6))[:, ::2], np.float32(2.0), np.int32(3), True)

    @ad.kernel
    def k(x, factor, n, flag):
        if flag:
            x[0, 1] = factor * n

    text = k.inspect_ptx(args=args)
    found = re.findall(r"\.param \.(\w+)", text)
    assert found == ["u64", "u64", "u64", "u64", "u64", "f32", "u32", "u8"]


def test_arguments_arrive():
    x, k = X.copy(), ad.kernel(scale)
    args = (x, 3.0, 4, True)
    module = module_at(k.program, k.request_for(args), "lowered")
    device_on_host.run(module, "scale", 2, 1, 1, 3, 1, 1, *args)
    np.testing.assert_array_equal(x, np.append(3.0 * X[:4], X[4]))
    device_on_host.run(module, "scale", 2, 1, 1, 3, 1, 1, x, 3.0, 4, False)
    np.testing.assert_array_equal(x, np.append(3.0 * X[:4], X[4]))


def test_memory_is_read_again_after_a_barrier():
    """LLVM would not do it for arrays that are marked `noalias`."""
    text = ad.kernel(rotate).inspect_ptx(args=(X, X.copy()))
    after = text.rpartition("bar.sync")[2]
    assert "ld.global" in after


def test_no_libdevice_is_an_error_with_the_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(libdevice, "find", lambda: None)
    with pytest.raises(UnsupportedError, match=r"test_nvptx_parts\.py:\d+:\d+: .*libdevice") as e:
        ad.kernel(sine).inspect_ptx(args=(X, X.copy()))
    assert "nvidia-cuda-nvcc-cu12" in str(e.value)
    assert ".entry scale" in ad.kernel(scale).inspect_ptx(args=(X, 2.0, 3, True))


@needs_libdevice
def test_square_roots_inside_libdevice_are_exact():
    @ad.kernel
    def k(x, y):
        y[0] = math.hypot(x[0], x[1])

    x = np.ones(2, np.float32)
    ptx = k.inspect_ptx(args=(x, x.copy()))
    assert "sqrt.rn.f32" in ptx
    assert "sqrt.approx" not in ptx


def test_a_function_has_no_ptx():
    def square(x):
        return x * x

    with pytest.raises(UnsupportedError, match="no kernel to make PTX of"):
        ad.jit(square).inspect_ptx(args=(1.0,))


def test_local_and_shared_arrays(tmp_path: Path):
    @ad.kernel
    def k(x):
        own, ours = gpu.local.array(4, np.float64), gpu.shared.array(8, np.float64)
        i = gpu.threadIdx.x
        for j in range(4):
            own[j] = x[i] + j
        ours[i] = own[i % 4]
        gpu.syncthreads()
        x[i] = ours[7 - i]

    x = np.arange(8.0)
    module = module_at(k.program, k.request_for((x,)), "lowered")
    text = nvptx.compile_ptx(module).text
    assert ".shared " in text
    assert "ld.shared" in text
    assemble(text, (9, 0), tmp_path)
    device_on_host.run(module, "k", 1, 1, 1, 8, 1, 1, x)
    np.testing.assert_array_equal(x, [i + i % 4 for i in reversed(range(8))])


def test_too_large_arrays_are_refused():
    @ad.kernel
    def k(x):
        ours = gpu.shared.array(10000, np.float64)
        ours[0] = x[0]
        x[1] = ours[0]

    with pytest.raises(UnsupportedError, match=r"py:\d+:\d+: a shared array of 80000 bytes"):
        k.inspect_ptx(args=(X,))


SOURCE = """
from mlirad import gpu

def add(x, y):
    i = gpu.grid(1)
    if i < x.size:
        y[i] += x[i] * x[i]
"""


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE)
    base = ["compile", f"{path}:add", "--kernel", "--args", "f64[::1], f64[::1]"]
    reverse = ["--mode", "reverse", "--activity", "duplicated, duplicated"]
    assert mlirad_main([*base, "--emit", "ptx", "--cc", "7.5"]) == 0
    text = capsys.readouterr().out
    assert ".target sm_75" in text
    assemble(text, (7, 5), tmp_path)  # also: `add` is an instruction, too
    assert mlirad_main([*base, "--emit", "ptx", "--cc", "eight"]) == 1
    assert "no compute capability" in capsys.readouterr().err
    assert mlirad_main([*base, *reverse, "--stage", "python"]) == 0
    mlir = tmp_path / "kernels.mlir"
    mlir.write_text(capsys.readouterr().out)
    opt_main([str(mlir), "-t", "ptx{major=8 minor=0}"])
    text = capsys.readouterr().out
    assert ".target sm_80" in text
    assert text.count(".entry") == 2
