"""Checks in processes of their own, which may crash or hang."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

FORK = multiprocessing.get_context("fork")
"""What is loaded before stays loaded: a process costs some milliseconds."""
PATIENCE = 60.0
"""Seconds without news after which a process counts as hanging."""

Work = TypeVar("Work")
Check = Callable[[Any, Path], None]


@dataclass(frozen=True)
class Outcome:
    """What became of one piece of work; `failure` is None if all is well."""

    work: Any
    failure: str | None
    details: str = ""


def work_off(check: Check, works: Sequence[Work], connection: Connection) -> None:
    """In the child: checks `works` in order and tells the parent about each."""
    with tempfile.TemporaryDirectory() as folder:
        for work in works:
            try:
                check(work, Path(folder))
            except Exception as error:
                trace = "".join(traceback.format_tb(error.__traceback__)[-2:])
                connection.send((f"{type(error).__name__}: {error}", trace))
            else:
                connection.send((None, ""))


def isolated(check: Check, works: Sequence[Work], patience: float = PATIENCE) -> Iterator[Outcome]:
    """Checks `works` in one process, and what is left in another if that one is lost."""
    rest = list(works)
    while rest:
        ours, theirs = FORK.Pipe(duplex=False)
        process = FORK.Process(target=work_off, args=(check, rest, theirs))
        process.start()
        theirs.close()
        while rest:
            try:
                news = ours.recv() if ours.poll(patience) else None
            except EOFError:
                break
            if news is None:
                break
            yield Outcome(rest.pop(0), *news)
        if not rest:
            process.join()
        elif process.is_alive() and not ours.poll():
            process.kill()
            yield Outcome(rest.pop(0), f"hangs for {patience:.0f} s")
        else:
            process.join()
            code = process.exitcode or 0
            reason = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            yield Outcome(rest.pop(0), f"crash: {reason}")
        ours.close()


def in_batches(check: Check, works: Sequence[Work], batch: int) -> Iterator[Outcome]:
    for start in range(0, len(works), batch):
        yield from isolated(check, works[start : start + batch])


def in_parallel(check: Check, works: Sequence[Work], batch: int, jobs: int) -> Iterator[Outcome]:
    """The outcomes of all `works`, in any order, from `jobs` streams of batches."""
    if jobs == 1:
        yield from in_batches(check, works, batch)
        return
    queue: Any = FORK.Queue()

    def stream(share: Sequence[Work]) -> None:
        for outcome in in_batches(check, share, batch):
            queue.put(outcome)

    streams = [FORK.Process(target=stream, args=(works[k::jobs],)) for k in range(jobs)]
    for process in streams:
        process.start()
    for _ in works:
        yield queue.get()
    for process in streams:
        process.join()
