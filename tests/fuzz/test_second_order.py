"""Forward over reverse of random programs against differences of the reverse derivative."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from tests.fuzz.case import FORWARD, REVERSE, Case, views
from tests.fuzz.check import make_case


def gradient(case: Case, derived: Any, step: float) -> np.ndarray:
    memory, shadow = case.memory + step * case.tangents, case.seeds.copy()
    (a, b), (da, db) = views(case.layout, memory), views(case.layout, shadow)
    call = a, da, b, db, case.idx.copy(), case.x + step * case.dx, case.n
    if case.kind == "kernel":
        return np.append(shadow, derived(*call))
    return np.append(shadow, derived(*call, case.seed_of_result)[1])


def tangent_of_gradient(case: Case, reverse: Any) -> np.ndarray:
    is_function = case.kind == "function"
    kinds = [kind for kind in FORWARD for _ in range(1 + (kind is ad.Dual))]
    kinds[5:7] = [ad.Dual]  # the number has no shadow; each array has one
    second = case.sized(ad.forward(reverse, *kinds, *[ad.Const] * is_function))
    seeds, found = case.seeds.copy(), np.zeros(case.seeds.size)
    (a, b), (ta, tb) = (views(case.layout, m) for m in (case.memory.copy(), case.tangents.copy()))
    (da, db), (sa, sb) = (views(case.layout, m) for m in (seeds, found))
    call = a, ta, da, sa, b, tb, db, sb, case.idx.copy(), case.x, case.dx, case.n
    returned = second(*call, *[case.seed_of_result] * is_function)
    return np.append(found, np.ravel(returned)[-1])


@pytest.mark.parametrize("seed", [201, 202, 203, 209])
def test_forward_over_reverse_agrees_with_differences(seed: int, tmp_path: Path) -> None:
    case, step = make_case(seed), 1e-6
    case.load(tmp_path)
    reverse = ad.reverse(case.program, *REVERSE)
    derived = case.sized(reverse)
    change = gradient(case, derived, step) - gradient(case, derived, -step)
    expected = change / (2 * step)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(
        tangent_of_gradient(case, reverse), expected, rtol=1e-5, atol=1e-6 * scale
    )
