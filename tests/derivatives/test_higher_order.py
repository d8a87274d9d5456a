"""Second and third derivatives: nested both ways, and on modules that were printed and parsed."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

import mlirad as ad
from mlirad import gpu, pipeline
from mlirad.backends import cpu
from mlirad.passes.expand_requests import ExpandRequestsPass
from mlirad.passes.forward_caches import ForwardCachesPass
from mlirad.passes.optimize.inline import InlinePass
from mlirad.universe import MLIRAD_UNIVERSE

N, H = 3, 1e-30
X0, Y0 = np.array([0.7, -0.4, 1.3, 0.2, -0.9]), np.array([0.3, -0.2])


@ad.kernel
def relax(x, y, n):
    i = gpu.grid(1)
    if i < x.shape[0]:
        for k in range(n):
            x[i] = x[i] + 0.3 * math.sin(x[i] * (k + 1))
        gpu.atomic.add(y, i % 2, 0.5 * x[i] * x[i])


@ad.jit
def energy(x, y, n):
    relax[3, 2](x, y, n)
    relax[1, 5](x, y, n - 1)
    return math.sin(y[0]) * y[1]


def gradient(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """The gradient of `energy` by hand, for complex numbers as well."""
    x, y, states, ends = x + 0.0, y + 0.0 * x[:2], [], []
    parity = np.arange(x.size) % 2
    for count in (n, n - 1):
        states.append([])
        for k in range(count):
            states[-1].append(x)
            x = x + 0.3 * np.sin(x * (k + 1))
        ends.append(x)
        y = y + np.array([0.5 * (x[parity == p] ** 2).sum() for p in (0, 1)])
    dy = np.array([np.cos(y[0]) * y[1], np.sin(y[0])])
    dx = 0.0 * x
    for end, before in zip(reversed(ends), reversed(states), strict=True):
        dx = dx + dy[parity] * end
        for k, state in reversed(list(enumerate(before))):
            dx = dx * (1.0 + 0.3 * (k + 1) * np.cos(state * (k + 1)))
    return dx


def exact_hessian() -> np.ndarray:
    columns = [gradient(X0 + 1j * H * e, Y0, N).imag / H for e in np.eye(X0.size)]
    return np.array(columns).T


def copies(*more: np.ndarray) -> list[np.ndarray]:
    return [array.copy() for array in more]


Column = Callable[[np.ndarray], np.ndarray]


def forward_over_reverse() -> Column:
    reverse = ad.reverse(energy, ad.Duplicated, ad.Duplicated, ad.Const)
    second = ad.forward(reverse, *[ad.Dual] * 4, ad.Const, ad.Const)

    def column(e: np.ndarray) -> np.ndarray:
        x, dx, y, dy = copies(X0, 0 * X0, Y0, 0 * Y0)
        tx, tdx, ty, tdy = copies(e, 0 * X0, 0 * Y0, 0 * Y0)
        second(x, tx, dx, tdx, y, ty, dy, tdy, N, 1.0)
        np.testing.assert_allclose(dx, gradient(X0, Y0, N), rtol=1e-12)
        return tdx

    return column


def reverse_over_forward() -> Column:
    forward = ad.forward(energy, ad.Dual, ad.Dual, ad.Const)
    second = ad.reverse(forward, *[ad.Duplicated] * 4, ad.Const)

    def column(e: np.ndarray) -> np.ndarray:
        x, dx, y, dy = copies(X0, e, Y0, 0 * Y0)
        x_ct, dx_ct, y_ct, dy_ct = copies(0 * X0, 0 * X0, 0 * Y0, 0 * Y0)
        second(x, x_ct, dx, dx_ct, y, y_ct, dy, dy_ct, N, (0.0, 1.0))
        np.testing.assert_allclose(dx_ct, gradient(X0, Y0, N), rtol=1e-12)
        return x_ct

    return column


@pytest.mark.parametrize("nest", [forward_over_reverse, reverse_over_forward])
def test_the_hessian_of_launches_is_that_of_the_gradient(nest: Callable[[], Column]) -> None:
    column = nest()
    found = np.array([column(e) for e in np.eye(X0.size)]).T
    np.testing.assert_allclose(found, exact_hessian(), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found, found.T, rtol=1e-9, atol=1e-10)


# Third derivatives of a function of one number


def spiral(x, n):
    s = x * 0.5
    for k in range(n):
        if s > 0.2:
            s = s * math.cos(s * x) + 0.1 * k
        else:
            s = s + math.exp(-x * s) * 0.3
    return s


def exact(order: int, x: float, n: int) -> float:
    """By mpmath, which differentiates numerically with 60 digits."""

    def f(number: Any) -> Any:
        s = number * mpmath.mpf(0.5)
        for k in range(n):
            if s > mpmath.mpf(0.2):
                s = s * mpmath.cos(s * number) + mpmath.mpf(0.1) * k
            else:
                s = s + mpmath.exp(-number * s) * mpmath.mpf(0.3)
        return s

    with mpmath.workdps(60):
        return float(mpmath.diff(f, mpmath.mpf(x), order))


Result = Any
"""A number, or a tuple of results."""


def flat(result: Result) -> list[float]:
    return [number for r in result for number in flat(r)] if isinstance(result, tuple) else [result]


def unit(like: Result, position: int) -> Result:
    """A result that is 1 at one place and 0 elsewhere."""
    numbers = iter(np.eye(len(flat(like)))[position])

    def build(part: Result) -> Result:
        return tuple(map(build, part)) if isinstance(part, tuple) else float(next(numbers))

    return build(like)


@dataclass
class Nested:
    """A function; its arguments, each with its derivative by `x` or None; where its result is."""

    function: Any
    arguments: list[tuple[Any, float | None]]
    position: int = 0

    def call(self) -> Result:
        return self.function(*[value for value, _ in self.arguments])

    def forward(self) -> Nested:
        kinds = [ad.Const if slope is None else ad.Dual for _, slope in self.arguments]
        arguments: list[tuple[Any, float | None]] = []
        for value, slope in self.arguments:
            arguments += [(value, slope)] if slope is None else [(value, slope), (slope, 0.0)]
        position = len(flat(self.call())) + self.position
        return Nested(ad.forward(self.function, *kinds), arguments, position)

    def reverse(self) -> Nested:
        kinds = [ad.Const if slope is None else ad.Active for _, slope in self.arguments]
        primal = self.call()
        arguments = [*self.arguments, (unit(primal, self.position), None)]
        return Nested(ad.reverse(self.function, *kinds), arguments, len(flat(primal)))


@pytest.mark.parametrize("modes", [m for m in product("fr", repeat=3) if m.count("r") < 2])
def test_third_derivatives_of_a_loop(modes: tuple[str, ...]) -> None:
    x, n = 0.83, 5
    nested = Nested(ad.jit(spiral), [(x, 1.0), (n, None)])
    for order, mode in enumerate(modes, 1):
        nested = nested.forward() if mode == "f" else nested.reverse()
        found = flat(nested.call())[nested.position]
        assert found == pytest.approx(exact(order, x, n), rel=1e-7)


# Nesting works on text

# Passes that make what is left of a stage fit for another request, which may not hold calls.
STAGES = {
    "differentiated": (InlinePass, ForwardCachesPass, ExpandRequestsPass),
    "lowered": (ExpandRequestsPass,),
}


def parsed(text: str) -> ModuleOp:
    context = Context()
    for name, dialect in MLIRAD_UNIVERSE.all_dialects.items():
        context.register_dialect(name, dialect)
    for name in ("func", "gpu", "scf", "arith", "math", "memref", "builtin"):
        context.register_dialect(name, get_all_dialects()[name])
    return Parser(context, text).parse_module()


def with_tangents(text: str, name: str) -> str:
    """`text` with an entry `second` that asks for the forward derivative of its function `name`."""
    (function,) = (op for op in parsed(text).ops if isinstance(op, FuncOp) and is_named(op, name))
    types = [str(t) for t in function.function_type.inputs]
    results = [str(t) for t in function.function_type.outputs]
    arrays = ["memref" in t for t in types]
    values, given, classes = [], [], []
    for k, (type_, array) in enumerate(zip(types, arrays, strict=True)):
        for letter in "pt"[: 1 + array]:
            values.append(f"%{letter}{k}")
            given.append(type_)
            classes.append(len(classes) if array else -1)
    kinds = ", ".join(f"#autodiff<activity {'dup' if array else 'const'}>" for array in arrays)
    outer = ", ".join("#autodiff<activity const>" for _ in results)
    names = ", ".join(f"%r{k}" for k in range(len(results)))
    entry = f"""
  func.func @second({", ".join(f"{v}: {t}" for v, t in zip(values, given, strict=True))})
      -> ({", ".join(results)})
      attributes {{mlirad.entry, mlirad.alias = array<i64: {", ".join(map(str, classes))}>}} {{
    {names} = autodiff.fwddiff @{name}({", ".join(values)}) [{kinds}] -> [{outer}]
      : ({", ".join(given)}) -> ({", ".join(results)})
    func.return {names} : {", ".join(results)}
  }}
"""
    body, brace, _ = text.rpartition("}")
    return body + entry + brace


def is_named(function: FuncOp, name: str) -> bool:
    return function.sym_name.data == name


@pytest.mark.parametrize("stage", STAGES)
def test_a_printed_and_parsed_derivative_is_differentiated_again(stage: str) -> None:
    reverse = ad.reverse(energy, ad.Duplicated, ad.Duplicated, ad.Const)
    example = *copies(X0, 0 * X0, Y0, 0 * Y0), N, 1.0
    text = reverse.inspect_mlir(stage, args=example)
    module = parsed(with_tangents(text, "reverse_energy"))
    for needed in STAGES[stage]:
        needed().rewrite(module)
    module = pipeline.finish(parsed(str(module)))
    entry = cpu.load(cpu.compile_module(module)).entry("second")
    for e, expected in zip(np.eye(X0.size), exact_hessian().T, strict=True):
        arrays = copies(X0, e, 0 * X0, 0 * X0, Y0, 0 * Y0, 0 * Y0, 0 * Y0)
        words = [word for a in arrays for word in (a.ctypes.data, a.size)]
        words += [N, struct.unpack("<q", struct.pack("<d", 1.0))[0]]
        assert entry((ctypes.c_int64 * len(words))(*words), (ctypes.c_uint64 * 8)()) == 0
        np.testing.assert_allclose(arrays[2], gradient(X0, Y0, N), rtol=1e-12)
        np.testing.assert_allclose(arrays[3], expected, rtol=1e-9, atol=1e-10)
