"""One program with numbers to run it on: what plain Python finds, and comparisons with that."""

from __future__ import annotations

import importlib.util
import math
import sys
import types
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import mlirad as ad
from tests.fuzz.dual import Dual, DualMath, lift
from tests.fuzz.generator import SIZE

PREFIX = "import math\nimport numpy as np\nfrom mlirad import gpu\nfrom mlirad.gpu import grid\n"
FORWARD = ad.Dual, ad.Dual, ad.Const, ad.Dual, ad.Const
REVERSE = ad.Duplicated, ad.Duplicated, ad.Const, ad.Active, ad.Const


def views(layout: str, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two array arguments inside one block of memory."""
    match layout:
        case "apart":
            return memory[:SIZE], memory[SIZE:]
        case "same":
            return memory[:SIZE], memory[:SIZE]
        case _:
            return memory[:SIZE], memory[2 : 2 + SIZE]


def atomic_add(array: Any, index: int, value: Any) -> None:
    array[index] = array[index] + value


def zeros(shape: Any, dtype: Any = None) -> np.ndarray:
    return np.full(shape, 0.0, dtype=object)


class Launches:
    """A kernel under the interpreter: one thread after the other."""

    def __init__(self, kernel: Any, space: dict[str, Any]):
        self.kernel, self.space = kernel, space

    def __getitem__(self, sizes: tuple[int, int]):
        return partial(self.launch, sizes[0] * sizes[1])

    def launch(self, threads: int, *args: Any) -> None:
        atomic = types.SimpleNamespace(add=atomic_add)
        for thread in range(threads):
            self.space["grid"] = lambda _, t=thread: t
            self.space["gpu"] = types.SimpleNamespace(
                atomic=atomic,
                gridsize=lambda _: threads,
                grid=self.space["grid"],
                local=types.SimpleNamespace(array=zeros),
            )
            self.kernel(*args)


@dataclass
class Case:
    """A program `f(a, b, idx, x, n)` with numbers to run it on."""

    source: str
    layout: str
    kind: str
    """`"function"`, `"kernel"`, or `"host"`: a function that does nothing but launch kernels."""
    seed: int
    n: int = 3
    sizes: tuple[int, int] = (2, 2)
    """The grid and block of a kernel."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.memory, self.tangents = rng.uniform(-1, 1, 2 * SIZE), rng.normal(size=2 * SIZE)
        self.idx = rng.integers(0, SIZE, SIZE)
        self.x, self.dx = rng.uniform(-1, 1), rng.normal()
        self.seeds, self.seed_of_result = rng.normal(size=2 * SIZE), rng.normal()

    def load(self, folder: Path) -> None:
        name = f"random_{self.seed}"
        path = folder / f"{name}.py"
        path.write_text(PREFIX + self.source)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        for step in [n for n in vars(module) if n.startswith("step")]:
            setattr(module, step, ad.kernel(getattr(module, step)))
        self.module: types.ModuleType = module

    @cached_property
    def program(self) -> Any:
        compiled = ad.kernel if self.kind == "kernel" else ad.jit
        return compiled(self.module.program)

    @cached_property
    def tangent(self) -> Any:
        return ad.forward(self.program, *FORWARD)

    @cached_property
    def cotangent(self) -> Any:
        return ad.reverse(self.program, *REVERSE)

    def sized(self, program: Any) -> Any:
        return program[self.sizes] if self.kind == "kernel" else program

    def interpret(self, dx: float | None = None) -> None:
        """
        Finds the final memory and its tangents from plain Python.

        Raises Kink where rounding errors may decide.
        """
        tangents = zip(self.memory, self.tangents, strict=True)
        duals = np.array([Dual(v, t) for v, t in tangents], dtype=object)
        numpy = types.SimpleNamespace(zeros=zeros, float64=float)
        space: dict[str, Any] = {"math": DualMath, "np": numpy}
        exec(self.source, space)
        for name in [n for n in space if n.startswith("step")]:
            space[name] = Launches(space[name], space)
        x = Dual(self.x, self.dx if dx is None else dx)
        call = *views(self.layout, duals), self.idx.copy(), x, self.n
        program = space["program"]
        run = Launches(program, space)[self.sizes] if self.kind == "kernel" else program
        result, final = lift(run(*call) or 0.0), [lift(d) for d in duals]
        self.values = np.array([d.value for d in final])
        self.slopes = np.array([d.tangent for d in final])
        self.result, self.slope = result.value, result.tangent

    # The arguments of the three programs, on fresh memory

    def primal_arguments(self, memory: np.ndarray) -> tuple[Any, ...]:
        return *views(self.layout, memory), self.idx.copy(), self.x, self.n

    def forward_arguments(self, memory: np.ndarray, shadow: np.ndarray) -> tuple[Any, ...]:
        (a, b), (da, db) = views(self.layout, memory), views(self.layout, shadow)
        return a, da, b, db, self.idx.copy(), self.x, self.dx, self.n

    def reverse_arguments(self, memory: np.ndarray, shadow: np.ndarray) -> tuple[Any, ...]:
        (a, b), (da, db) = views(self.layout, memory), views(self.layout, shadow)
        call = a, da, b, db, self.idx.copy(), self.x, self.n
        return (*call, self.seed_of_result) if self.kind == "function" else call

    # Comparisons; each raises AssertionError

    def check_primal(self) -> None:
        memory = self.memory.copy()
        returned = self.sized(self.program)(*self.primal_arguments(memory))
        compare("value", memory, self.values)
        if self.kind == "function":
            compare("result", returned, self.result)

    def check_forward(self) -> None:
        memory, shadow = self.memory.copy(), self.tangents.copy()
        returned = self.sized(self.tangent)(*self.forward_arguments(memory, shadow))
        compare("value in forward", memory, self.values)
        compare("jvp", shadow, self.slopes)
        if self.kind == "function":
            compare("result and its tangent", returned, [self.result, self.slope])

    def check_reverse(self) -> None:
        memory, shadow = self.memory.copy(), self.seeds.copy()
        returned = self.sized(self.cotangent)(*self.reverse_arguments(memory, shadow))
        compare("value in reverse", memory, self.values)
        self.compare_products(shadow, returned[1] if self.kind == "function" else returned)

    def compare_products(self, cotangents: np.ndarray, x_ct: float) -> None:
        """Holds cotangents against the tangents of the oracle."""
        result = self.seed_of_result * self.slope
        left = np.append(cotangents * self.tangents, x_ct * self.dx)
        right = np.append(self.seeds * self.slopes, result)
        got, expected = left.sum(), right.sum()
        size = max(1.0, np.abs(left).sum(), np.abs(right).sum())
        assert math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-10 * size), (
            f"vjp: {got} instead of {expected}"
        )


def compare(what: str, got: Any, expected: Any) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    assert np.allclose(got, expected, rtol=1e-9, atol=1e-11 * scale), (
        f"{what}: {got} instead of {expected}"
    )
