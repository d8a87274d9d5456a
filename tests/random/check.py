"""Compiles one random program and compares both modes with the interpreter on dual numbers."""

from __future__ import annotations

import importlib.util
import math
import sys
import types
from pathlib import Path

import numpy as np

import mlirad as ad
from tests.random.dual import Dual, DualMath, lift
from tests.random.generator import SIZE, Generator

PREFIX = "import math\nfrom mlirad.gpu import grid\n"
THREADS = 4
LAYOUTS = ("apart", "same", "shifted")


def load(source: str, folder: Path, name: str) -> types.ModuleType:
    path = folder / f"{name}.py"
    path.write_text(PREFIX + source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def views(layout: str, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two array arguments inside one block of memory."""
    match layout:
        case "apart":
            return memory[:SIZE], memory[SIZE:]
        case "same":
            return memory[:SIZE], memory[:SIZE]
        case _:
            return memory[:SIZE], memory[2 : 2 + SIZE]


def interpreted(source: str, layout: str, memory, tangents, idx, x, dx, n, kernel: bool):
    """Final memory and result as arrays of (value, tangent), from plain Python."""
    duals = np.array([Dual(v, t) for v, t in zip(memory, tangents, strict=True)], dtype=object)
    a, b = views(layout, duals)
    result = Dual(0.0)
    for thread in range(THREADS if kernel else 1):
        space: dict[str, object] = {"math": DualMath, "grid": lambda _, t=thread: t}
        exec(source, space)
        program = space["program"]
        assert callable(program)
        returned = program(a, b, idx, Dual(x, dx), n)
        result = result if kernel else returned
    pairs = [(d.value, d.tangent) for d in map(lift, (*duals, result))]
    return np.array(pairs).T


def check(seed: int, folder: Path) -> None:
    """Raises AssertionError with the source if a derivative of program `seed` is wrong."""
    kernel = seed % 3 == 0
    layout = LAYOUTS[seed % 5 % 3]
    generator = Generator(seed)
    source = generator.kernel() if kernel else generator.function()
    module = load(source, folder, f"random_{seed}")
    rng = np.random.default_rng(seed)
    memory, tangents = rng.uniform(-1, 1, 2 * SIZE), rng.normal(size=2 * SIZE)
    idx, x, dx, n = rng.integers(0, SIZE, SIZE), rng.uniform(-1, 1), rng.normal(), 3
    values, slopes = interpreted(source, layout, memory, tangents, idx, x, dx, n, kernel)
    try:
        forward(module, layout, memory, tangents, idx, x, dx, n, kernel, values, slopes)
        reverse(module, layout, memory, tangents, idx, x, dx, n, kernel, values, slopes, rng)
    except Exception as error:
        raise AssertionError(f"seed {seed} ({layout}): {error}\n{source}") from error


def forward(module, layout, memory, tangents, idx, x, dx, n, kernel, values, slopes):
    primal, shadow = memory.copy(), tangents.copy()
    (a, b), (da, db) = views(layout, primal), views(layout, shadow)
    call = a, da, b, db, idx, x, dx, n
    if kernel:
        compiled = ad.kernel(module.program)
        kinds = ad.Dual, ad.Dual, ad.Const, ad.Dual, ad.Const
        ad.forward(compiled, *kinds)[2, THREADS // 2](*call)
        result = 0.0, 0.0
    else:
        compiled = ad.jit(module.program)
        kinds = ad.Dual, ad.Dual, ad.Const, ad.Dual, ad.Const
        result = ad.forward(compiled, *kinds)(*call)
    compare("value", np.append(primal, result[0]), values)
    compare("jvp", np.append(shadow, result[1]), slopes)


def reverse(module, layout, memory, tangents, idx, x, dx, n, kernel, values, slopes, rng):
    seeds, seed = rng.normal(size=memory.size), 0.0 if kernel else rng.normal()
    primal, shadow = memory.copy(), seeds.copy()
    (a, b), (da, db) = views(layout, primal), views(layout, shadow)
    kinds = ad.Duplicated, ad.Duplicated, ad.Const, ad.Active, ad.Const
    if kernel:
        derived = ad.reverse(ad.kernel(module.program), *kinds)
        x_ct = derived[2, THREADS // 2](a, da, b, db, idx, x, n)
    else:
        derived = ad.reverse(ad.jit(module.program), *kinds)
        _, x_ct = derived(a, da, b, db, idx, x, n, seed)
    compare("value", primal, values[:-1])
    got = shadow @ tangents + x_ct * dx
    expected = seeds @ slopes[:-1] + seed * slopes[-1]
    size = np.abs(shadow * tangents).sum() + np.abs(x_ct * dx) + np.abs(seeds * slopes[:-1]).sum()
    assert math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-9 * max(size, 1.0)), (
        f"vjp: {got} instead of {expected}"
    )


def compare(what: str, got: np.ndarray, expected: np.ndarray) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    assert np.allclose(got, expected, rtol=1e-9, atol=1e-11 * scale), (
        f"{what}: {got} instead of {expected}"
    )
