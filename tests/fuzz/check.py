"""Compares both modes of a random program with the interpreter on dual numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mlirad as ad
from tests.fuzz.case import Case, compare, views
from tests.fuzz.dual import Kink
from tests.fuzz.generator import Generator
from tests.fuzz.wide import WideGenerator

LAYOUTS = ("apart", "same", "shifted")
SIZES = ((2, 2), (1, 3), (2, 3), (3, 1))
"""Of kernels that are launched from Python."""
NEXT = 1_000_003
"""What is added to a seed whose program stands on a kink."""


def write_case(seed: int) -> Case:
    """Every other program uses the wider language."""
    kind = ("kernel", "function", "function", "host")[seed // 2 % 4]
    wide = WideGenerator(seed)
    generator = wide if seed % 2 else Generator(seed)
    write = {"kernel": generator.kernel, "function": generator.function, "host": wide.host}[kind]
    layout, sizes = LAYOUTS[seed % 5 % 3], SIZES[seed // 8 % 4] if seed % 2 else SIZES[0]
    return Case(write(), layout, kind, seed, 1 + seed // 3 % 5, sizes)


def make_case(seed: int) -> Case:
    """The program of `seed`, or of the first seed after it that stands on no kink, interpreted."""
    while True:
        case = write_case(seed)
        try:
            case.interpret()
            return case
        except Kink:
            seed += NEXT


def check(case: Case, folder: Path) -> None:
    """Raises AssertionError if a value or a derivative of an interpreted case is wrong."""
    case.load(folder)
    case.check_primal()
    case.check_forward()
    case.check_reverse()
    if case.kind != "function":
        case.interpret(dx=0.0)
        record(case, ad.Forward)
        record(case, ad.Reverse)


def record(case: Case, mode: Any) -> None:
    """The same by a recording; numbers are constants there."""
    memory, idx = case.memory.copy(), case.idx.copy()
    a, b = views(case.layout, memory)
    run = case.module.program if case.kind == "host" else case.sized(case.program)
    with ad.Tape(memory, mode=mode) as tape:
        if mode is ad.Forward:
            tape.shadow(memory)[...] = case.tangents
        run(a, b, idx, case.x, case.n)
    compare("recorded value", memory, case.values)
    if mode is ad.Forward:
        compare("recorded jvp", tape.shadow(memory), case.slopes)
        return
    tape.shadow(memory)[...] = case.seeds
    memory[:], idx[:] = np.nan, 0  # a recording reads nothing but what it owns
    tape.backward()
    case.compare_products(tape.shadow(memory), 0.0)


Check = Callable[[Case, Path], None]


def checked(seed: int, folder: Path, how: Check = check) -> None:
    """As `how` for the program of `seed`; what it raises says the source."""
    case = make_case(seed)
    try:
        how(case, folder)
    except Exception as error:
        raise AssertionError(f"{described(case)}: {kind_of(error)}\n{case.source}") from error


def described(case: Case) -> str:
    sizes = f", sizes {case.sizes}" if case.kind == "kernel" else ""
    return f"seed {case.seed} ({case.kind}, {case.layout}, n = {case.n}{sizes})"


def kind_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
