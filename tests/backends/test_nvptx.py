"""PTX of kernels: its form, that ptxas takes it, and numbers by running the same LLVM text here."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad.backends import libdevice, nvptx
from mlirad.callables import Compiled
from mlirad.compiling import module_at
from mlirad.errors import UnsupportedError
from mlirad.runtime.arguments import leaves
from mlirad.runtime.recording import Mode
from tests.backends import device_on_host
from tests.conformance import check_mlirad

FOLDER = Path(__file__).parents[1] / "conformance"
MODES = ("primal", "forward", "reverse")
GROWS = {("05", "kernel"), ("09", "kernel"), ("23", "kernel")}
"""Cases whose reverse sweep keeps what has no known size."""
UNALIGNED = {("39", "kernel"), ("39", "scale")}
"""Cases whose reverse sweep adds to fields of packed records."""
ORDERED = {("21", "kernel")}
"""Cases with an atomic maximum."""

needs_libdevice = pytest.mark.skipif(
    libdevice.find() is None, reason="no libdevice: pip install nvidia-cuda-nvcc-cu12"
)


@cache
def ptxas() -> str | None:
    """The assembler of a toolkit or of the wheel nvidia-cuda-nvcc-cu12."""
    folders = [Path(p, "nvidia", w, "bin") for p in sys.path for w in ("cuda_nvcc", "cu13")]
    found = [str(f / "ptxas") for f in folders if (f / "ptxas").is_file()]
    return found[0] if found else shutil.which("ptxas")


def assemble(text: str, cc: tuple[int, int], path: Path) -> None:
    if ptxas() is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12")
    source = path / "kernel.ptx"
    source.write_text(text)
    arch = nvptx.processor(cc)
    command = [str(ptxas()), f"-arch={arch}", str(source), "-o", str(path / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def launches(number: str) -> list[tuple[Any, Any, Any, tuple[Any, ...]]]:
    """One launch per kernel of a conformance case: kernel, grid, block, arguments."""
    (path,) = FOLDER.glob(f"case{number}_*.py")
    case = check_mlirad.load(path)
    found: dict[Any, Any] = {}
    case.program(lambda k, *rest: found.setdefault(k, (k, *rest[:2], rest[2:])), case.make_inputs())
    return list(found.values())


def differentiated(kernel: Any, mode: str, args: tuple[Any, ...]) -> tuple[Compiled, list[Any]]:
    """A kernel or its derivative in all arrays of floats, and arguments with random shadows."""
    primal = ad.kernel(kernel)
    if mode == "primal":
        return primal, list(args)
    shadowed = [isinstance(a, np.ndarray) and a.dtype.kind in "fcV" for a in args]
    annotation = ad.Dual if mode == "forward" else ad.Duplicated
    kinds = tuple(annotation if s else ad.Const for s in shadowed)
    how = Mode.FORWARD if mode == "forward" else Mode.REVERSE
    given: list[Any] = []
    for value, has in zip(args, shadowed, strict=True):
        given += [value, shadow_of(value)] if has else [value]
    return primal.derivative(how, kinds, None), given


def shadow_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    shadow = np.zeros_like(array)
    if array.dtype.kind != "V":
        shadow[...] = np.random.default_rng(array.size).uniform(0.5, 1.5, array.shape)
    return shadow


NUMBERS = [path.stem[4:6] for path in sorted(FOLDER.glob("case*.py"))]
KERNELS = [(n, k) for n in NUMBERS for k, launch in enumerate(launches(n))]


def refused(number: str, kernel: Any, mode: str) -> str | None:
    """What the refusal says, if there is one."""
    which = number, kernel.__name__
    if mode != "primal" and which in ORDERED:
        return "follows the order in which threads run"
    if mode == "reverse" and which in GROWS:
        return "a kernel that counts first is not there yet"
    return "not aligned" if mode == "reverse" and which in UNALIGNED else None


@needs_libdevice
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("number", "k"), KERNELS)
def test_conformance_cases_become_ptx(number: str, k: int, mode: str, tmp_path: Path):
    kernel, _, _, args = launches(number)[k]
    compiled, given = differentiated(kernel, mode, args)
    if reason := refused(number, kernel, mode):
        with pytest.raises(UnsupportedError, match=reason) as caught:
            compiled.inspect_ptx(args=given)
        assert re.search(rf"case{number}_\w+\.py:\d+:\d+: ", str(caught.value))
        return
    text = compiled.inspect_ptx((8, 0), given)
    assert ".target sm_80\n" in text
    # A reverse sweep has a kernel of its own unless it shares that of the augmented primal.
    assert text.count(".entry ") in ((1, 2) if mode == "reverse" else (1,))
    assemble(text, (8, 0), tmp_path)


def clone(args: list[Any]) -> list[Any]:
    """Copies that keep strides and alignment; what is one array twice stays one."""
    copies = {id(a): copied(a) for a in args if isinstance(a, np.ndarray)}
    return [copies.get(id(a), a) for a in args]


def copied(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.kind == "V" or array.flags.c_contiguous or array.base is None:
        return array.copy(order="K")
    whole = array.base.copy(order="K")
    offset = array.__array_interface__["data"][0] - array.base.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, whole, offset, array.strides)


@needs_libdevice
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("number", "k"), KERNELS)
def test_device_text_computes_what_the_cpu_computes(number: str, k: int, mode: str):
    kernel, grid, block, args = launches(number)[k]
    if refused(number, kernel, mode):
        pytest.skip("refused, see above")
    compiled, given = differentiated(kernel, mode, args)
    theirs, ours = clone(given), clone(given)
    sizes = [n for s in (grid, block) for n in (*np.atleast_1d(s), 1, 1)[:3]]
    compiled.run(tuple(int(n) for n in sizes), theirs)
    module = module_at(compiled.program, compiled.request_for(ours), "lowered")
    symbol = compiled.name
    device_on_host.run(module, symbol, *sizes, *leaves(ours))
    for got, expected in zip(ours, theirs, strict=True):
        if isinstance(got, np.ndarray):
            compare(got, expected)


def compare(got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    if got.dtype.names:
        for name in got.dtype.names:
            compare(got[name], expected[name])
        return
    single = got.dtype in (np.float32, np.complex64)
    rtol, atol = (2e-5, 1e-6) if single else (1e-12, 1e-13)
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)
