"""The example of Enzyme with KernelAbstractions: a kernel that squares an array in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mlirad as ad
from mlirad import gpu
from mlirad.demo.datasets import Floats


@ad.kernel
def square(x: Floats) -> None:
    i = gpu.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]


@ad.jit
def square_twice(x: Floats) -> None:
    square[1, 2](x)
    square[1, 2](x)


@dataclass(frozen=True)
class Gradient:
    """What `title` computed: the array after the call and its cotangent before it."""

    title: str
    x: Floats
    dx: Floats


def gradients() -> list[Gradient]:
    """One launch, one over a range, two from a compiled function; x = [2, 2], dx = [0, 1]."""
    programs = {
        "square[1, 2]": square[1, 2],
        "square.forall(2)": square.forall(2),
        "square_twice": square_twice,
    }
    found: list[Gradient] = []
    for title, program in programs.items():
        x, dx = np.array([2.0, 2.0]), np.array([0.0, 1.0])
        ad.autodiff(ad.Reverse, program, ad.Duplicated(x, dx))
        found.append(Gradient(title, x, dx))
    return found
