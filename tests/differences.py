"""Checks a function against Python (its values) and central differences (its derivatives)."""

from collections.abc import Callable
from typing import Any

import numpy as np

import mlirad as ad


def fresh(args: tuple[Any, ...]) -> list[Any]:
    return [np.array(a, order="K") if isinstance(a, np.ndarray) else a for a in args]


def is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def moved(args: tuple[Any, ...], which: int, index: tuple[int, ...], step: float) -> list[Any]:
    new = fresh(args)
    if isinstance(new[which], np.ndarray):
        new[which][index] += step
    else:
        new[which] += step
    return new


def differences(function: Callable[..., float], args: tuple[Any, ...], which: int) -> Any:
    """The gradient of the plain Python function by central differences."""
    shape = np.shape(args[which])
    found = np.zeros(shape)
    for index in np.ndindex(shape):
        up, down = (moved(args, which, index, step) for step in (1e-6, -1e-6))
        found[index] = (function(*up) - function(*down)) / 2e-6
    return found


def check(function: Callable[..., float], *args: Any, compiled: Any = None, rtol: float = 2e-7):
    """
    Compares `function`, which returns a float, compiled with the same run by Python: its value,
    what it leaves in its arrays, its gradient, and a directional derivative.
    """
    compiled = compiled or ad.jit(function)
    expected, ours = fresh(args), fresh(args)
    np.testing.assert_allclose(compiled(*ours), function(*expected), rtol=1e-12)
    for mine, theirs in zip(ours, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    wrt = tuple(k for k, value in enumerate(args) if is_float(value))
    gradient = ad.grad(compiled, wrt=wrt)(*args)
    rng = np.random.default_rng(1)
    directions = tuple(
        rng.normal(size=np.shape(args[k])) if np.ndim(args[k]) else float(rng.normal()) for k in wrt
    )
    tangent = ad.jvp(compiled, args, directions, wrt=wrt)[1]
    total = 0.0
    for k, mine, direction in zip(wrt, gradient, directions, strict=True):
        theirs = differences(function, args, k)
        scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol * scale)
        total += float(np.sum(mine * direction))
    np.testing.assert_allclose(tangent, total, rtol=1e-10, atol=1e-12)
