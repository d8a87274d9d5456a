"""Compiles one random program and compares both modes with the interpreter on dual numbers."""

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
from tests.random.dual import Dual, DualMath, lift
from tests.random.generator import SIZE, Generator
from tests.random.wide import WideGenerator

PREFIX = "import math\nfrom mlirad.gpu import grid\n"
THREADS = 4
LAYOUTS = ("apart", "same", "shifted")
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


class Launches:
    """A kernel under the interpreter: one thread after the other."""

    def __init__(self, kernel: Any, space: dict[str, Any]):
        self.kernel, self.space = kernel, space

    def __getitem__(self, sizes: tuple[int, int]):
        return partial(self.launch, sizes[0] * sizes[1])

    def launch(self, threads: int, *args: Any) -> None:
        for thread in range(threads):
            self.space["grid"] = lambda _, t=thread: t
            self.kernel(*args)


@dataclass
class Case:
    """A program `f(a, b, idx, x, n)` with numbers to run it on."""

    source: str
    name: str
    layout: str
    kind: str
    """`"function"`, `"kernel"`, or `"host"`: a function that does nothing but launch kernels."""
    seed: int

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.memory, self.tangents = rng.uniform(-1, 1, 2 * SIZE), rng.normal(size=2 * SIZE)
        self.idx, self.n = rng.integers(0, SIZE, SIZE), 3
        self.x, self.dx = rng.uniform(-1, 1), rng.normal()
        self.seeds, self.seed_of_result = rng.normal(size=2 * SIZE), rng.normal()

    def load(self, folder: Path) -> None:
        path = folder / f"{self.name}.py"
        path.write_text(PREFIX + self.source)
        spec = importlib.util.spec_from_file_location(self.name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.name] = module
        spec.loader.exec_module(module)
        for step in [n for n in vars(module) if n.startswith("step")]:
            setattr(module, step, ad.kernel(getattr(module, step)))
        self.module: types.ModuleType = module

    @cached_property
    def program(self) -> Any:
        compiled = ad.kernel if self.kind == "kernel" else ad.jit
        return compiled(self.module.program)

    def sized(self, program: Any) -> Any:
        return program[2, THREADS // 2] if self.kind == "kernel" else program

    def check(self) -> None:
        """Raises AssertionError if a value or derivative is wrong."""
        self.interpret()
        self.forward()
        self.reverse()
        if self.kind != "function":
            self.interpret(dx=0.0)
            self.record(ad.Forward)
            self.record(ad.Reverse)

    def interpret(self, dx: float | None = None) -> None:
        """Finds the final memory, and their tangents, from plain Python."""
        tangents = zip(self.memory, self.tangents, strict=True)
        duals = np.array([Dual(v, t) for v, t in tangents], dtype=object)
        space: dict[str, Any] = {"math": DualMath}
        exec(self.source, space)
        for name in [n for n in space if n.startswith("step")]:
            space[name] = Launches(space[name], space)
        x = Dual(self.x, self.dx if dx is None else dx)
        call = *views(self.layout, duals), self.idx.copy(), x, self.n
        program = space["program"]
        run = Launches(program, space)[1, THREADS] if self.kind == "kernel" else program
        result, final = lift(run(*call) or 0.0), [lift(d) for d in duals]
        self.values = np.array([d.value for d in final])
        self.slopes = np.array([d.tangent for d in final])
        self.result, self.slope = result.value, result.tangent

    def forward(self) -> None:
        primal, shadow = self.memory.copy(), self.tangents.copy()
        (a, b), (da, db) = views(self.layout, primal), views(self.layout, shadow)
        derived = self.sized(ad.forward(self.program, *FORWARD))
        returned = derived(a, da, b, db, self.idx.copy(), self.x, self.dx, self.n)
        compare("value", primal, self.values)
        compare("jvp", shadow, self.slopes)
        if self.kind == "function":
            compare("result and its tangent", returned, [self.result, self.slope])

    def reverse(self) -> None:
        primal, shadow = self.memory.copy(), self.seeds.copy()
        (a, b), (da, db) = views(self.layout, primal), views(self.layout, shadow)
        derived = self.sized(ad.reverse(self.program, *REVERSE))
        call = a, da, b, db, self.idx.copy(), self.x, self.n
        if self.kind == "function":
            _, x_ct = derived(*call, self.seed_of_result)
        else:
            x_ct = derived(*call)
        compare("value in reverse", primal, self.values)
        self.compare_products(shadow, x_ct)

    def record(self, mode: Any) -> None:
        """The same by a recording; numbers are constants there."""
        memory, idx = self.memory.copy(), self.idx.copy()
        a, b = views(self.layout, memory)
        run = self.module.program if self.kind == "host" else self.sized(self.program)
        with ad.Tape(memory, mode=mode) as tape:
            if mode is ad.Forward:
                tape.shadow(memory)[...] = self.tangents
            run(a, b, idx, self.x, self.n)
        compare("recorded value", memory, self.values)
        if mode is ad.Forward:
            compare("recorded jvp", tape.shadow(memory), self.slopes)
            return
        tape.shadow(memory)[...] = self.seeds
        memory[:], idx[:] = np.nan, 0  # a recording reads nothing but what it owns
        tape.backward()
        self.compare_products(tape.shadow(memory), 0.0)

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


def make_case(seed: int) -> Case:
    """Every other program uses the wider language."""
    kind = ("kernel", "function", "function", "host")[seed // 2 % 4]
    layout = LAYOUTS[seed % 5 % 3]
    wide = WideGenerator(seed)
    generator = wide if seed % 2 else Generator(seed)
    write = {"kernel": generator.kernel, "function": generator.function, "host": wide.host}[kind]
    return Case(write(), f"random_{seed}", layout, kind, seed)


def check(seed: int, folder: Path) -> None:
    """Raises AssertionError with the source if a derivative of program `seed` is wrong."""
    case = make_case(seed)
    try:
        case.load(folder)
        case.check()
    except Exception as error:
        raise AssertionError(
            f"seed {seed} ({case.kind}, {case.layout}): {type(error).__name__}: {error}\n"
            + case.source
        ) from error


def compare(what: str, got: Any, expected: Any) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    assert np.allclose(got, expected, rtol=1e-9, atol=1e-11 * scale), (
        f"{what}: {got} instead of {expected}"
    )
