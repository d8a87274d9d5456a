"""
The 27 models as grid kernels: `f[i]` is the model at observation `i` for the parameters `b`.

One kernel serves problems that share a formula (the three Gauss and the three Lanczos sets,
among others). Each is plain Python in the language of `numba.cuda`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mlirad import gpu
from mlirad.demo.datasets import Floats

Model = Callable[[Floats, Floats, Floats], None]


def bennett5(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] * (b[1] + x[i]) ** (-1 / b[2])


def boxbod(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] * (1 - math.exp(-b[1] * x[i]))


def chwirut(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = math.exp(-b[0] * x[i]) / (b[1] + b[2] * x[i])


def danwood(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] * x[i] ** b[1]


def eckerle4(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        z = (x[i] - b[2]) / b[1]
        f[i] = b[0] / b[1] * math.exp(-0.5 * z**2)


def enso(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        turn = 2 * math.pi * x[i]
        f[i] = b[0] + b[1] * math.cos(turn / 12) + b[2] * math.sin(turn / 12)
        for k in range(3, 9, 3):
            f[i] += b[k + 1] * math.cos(turn / b[k]) + b[k + 2] * math.sin(turn / b[k])


def gauss(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        total = b[0] * math.exp(-b[1] * x[i])
        for k in range(2, 8, 3):
            z = (x[i] - b[k + 1]) / b[k + 2]
            total += b[k] * math.exp(-z * z)
        f[i] = total


def hahn1(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        above = b[0] + b[1] * x[i] + b[2] * x[i] ** 2 + b[3] * x[i] ** 3
        f[i] = above / (1 + b[4] * x[i] + b[5] * x[i] ** 2 + b[6] * x[i] ** 3)


def kirby2(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        above = b[0] + b[1] * x[i] + b[2] * x[i] ** 2
        f[i] = above / (1 + b[3] * x[i] + b[4] * x[i] ** 2)


def lanczos(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        total = 0.0
        for k in range(0, b.shape[0], 2):
            total += b[k] * math.exp(-b[k + 1] * x[i])
        f[i] = total


def mgh09(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        square = x[i] * x[i]
        f[i] = b[0] * (square + x[i] * b[1]) / (square + x[i] * b[2] + b[3])


def mgh10(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] * math.exp(b[1] / (x[i] + b[2]))


def mgh17(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] + b[1] * math.exp(-x[i] * b[3]) + b[2] * math.exp(-x[i] * b[4])


def misra1a(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] * (1 - math.exp(-b[1] * x[i]))


def misra1b(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] * (1 - (1 + b[1] * x[i] / 2) ** -2)


def misra1c(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] * (1 - (1 + 2 * b[1] * x[i]) ** -0.5)


def misra1d(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] * b[1] * x[i] / (1 + b[1] * x[i])


def nelson(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] - b[1] * x[i, 0] * math.exp(-b[2] * x[i, 1])


def rat42(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] / (1 + math.exp(b[1] - b[2] * x[i]))


def rat43(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] / (1 + math.exp(b[1] - b[2] * x[i])) ** (1 / b[3])


def roszman1(b: Floats, x: Floats, f: Floats) -> None:
    i = gpu.grid(1)
    if i < f.shape[0]:
        f[i] = b[0] - b[1] * x[i] - math.atan(b[2] / (x[i] - b[3])) / math.pi


MODELS: dict[str, Model] = {
    "Bennett5": bennett5,
    "BoxBOD": boxbod,
    "Chwirut1": chwirut,
    "Chwirut2": chwirut,
    "DanWood": danwood,
    "ENSO": enso,
    "Eckerle4": eckerle4,
    "Gauss1": gauss,
    "Gauss2": gauss,
    "Gauss3": gauss,
    "Hahn1": hahn1,
    "Kirby2": kirby2,
    "Lanczos1": lanczos,
    "Lanczos2": lanczos,
    "Lanczos3": lanczos,
    "MGH09": mgh09,
    "MGH10": mgh10,
    "MGH17": mgh17,
    "Misra1a": misra1a,
    "Misra1b": misra1b,
    "Misra1c": misra1c,
    "Misra1d": misra1d,
    "Nelson": nelson,
    "Rat42": rat42,
    "Rat43": rat43,
    "Roszman1": roszman1,
    "Thurber": hahn1,
}
