"""
`python -m tests.fuzz COUNT`: checks random programs against the interpreter on dual numbers,
prints the seeds that fail, and the smallest programs that fail alike.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from tests.fuzz.case import Case
from tests.fuzz.check import check, described, make_case
from tests.fuzz.isolated import Outcome, in_parallel
from tests.fuzz.quick import check_quickly
from tests.fuzz.shrink import shrink

ORDINARY = 50
"""Every how many programs one goes through the public API and O3, recordings included."""


def check_seed(seed: int, folder: Path, ordinary: int) -> None:
    how = check if seed % ordinary == 0 else check_quickly
    how(make_case(seed), folder)


def failing_case(outcome: Outcome, ordinary: int) -> tuple[Case, str]:
    """The case of a seed that failed, as small as it gets, and how that fails."""
    how = check if outcome.work % ordinary == 0 else check_quickly
    assert outcome.failure is not None
    return shrink(make_case(outcome.work), outcome.failure, how)


def report(outcome: Outcome, ordinary: int, wanted: bool) -> None:
    print(f"seed {outcome.work}: {outcome.failure}\n{outcome.details}", flush=True)
    if wanted:
        case, failure = failing_case(outcome, ordinary)
        print(f"shrunk {described(case)}: {failure}\n{case.source}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=100, help="programs per process")
    parser.add_argument("--ordinary", type=int, default=ORDINARY, metavar="K", help="1 of K at O3")
    parser.add_argument("--shrink", type=int, default=3, help="how many failures to shrink")
    options = parser.parse_args()
    os.environ["MLIRAD_CACHE"] = "0"
    seeds = range(options.first, options.first + options.count)
    with tempfile.TemporaryDirectory() as folder:
        check_quickly(make_case(1), Path(folder))  # loads what all processes will need
    start, failed = time.perf_counter(), list[int]()
    how = partial(check_seed, ordinary=options.ordinary)
    for done, outcome in enumerate(in_parallel(how, seeds, options.batch, options.jobs), 1):
        if outcome.failure is not None:
            failed.append(outcome.work)
            report(outcome, options.ordinary, len(failed) <= options.shrink)
        if done % 1000 == 0:
            print(f"{done} programs, {time.perf_counter() - start:.0f} s", flush=True)
    print(f"{options.count - len(failed)} passed, {len(failed)} failed {sorted(failed)}")
    wall, used = time.perf_counter() - start, os.times()
    cores = (used.children_user + used.children_system) / options.count
    print(f"{wall / options.count:.3f} s per program, {cores:.3f} s of one core")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
