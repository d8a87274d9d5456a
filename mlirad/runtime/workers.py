"""How many threads run the blocks of a launch."""

from __future__ import annotations

import os

from mlirad.backends.pool import MOST_WORKERS
from mlirad.errors import ArgumentTypeError, LaunchError

_wanted = 1
_process = 0
"""The process that has a pool of that many workers."""


def set_workers(workers: int) -> None:
    """
    Decides how many threads run the blocks of later launches on the CPU, in all of the process.

    The default is 1. Only then the threads of a kernel run in a fixed order: a kernel whose
    threads race (one writes what another one reads or writes, without a barrier between them
    and not atomically) then has the result of that order, and the derivative of that result.
    Such a kernel has no meaning with more workers, as it has none on a GPU.

    With more workers the blocks of a launch are spread over a pool of threads, which run
    without Python's global lock. Additions that threads may do to one element become atomic;
    their order is open, and with it the last digits of sums of floats. Derivatives built with
    `deterministic=True` are the same to the last bit for any number of workers; they run on
    one. So do derivatives that need an order of threads to be right (those of atomic max and
    min, and of kernels where blocks wait for each other), and kernels with misaligned arrays.

    Programs compiled for one worker are compiled anew for several.

    Args:
        workers: at least 1; more than the machine has cores is of no use.

    Raises:
        ArgumentTypeError: `workers` is no int.
        LaunchError: `workers` is below 1 or above 256, or the system has no room for threads.
    """
    global _wanted, _process
    if not isinstance(workers, int) or isinstance(workers, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentTypeError(
            f"set_workers: {workers!r} is no number of threads\n  give an int of at least 1"
        )
    if not 1 <= workers <= MOST_WORKERS:
        raise LaunchError(f"set_workers: {workers} is not between 1 and {MOST_WORKERS}")
    if workers > 1:
        _start(workers)
    _wanted = workers
    _process = os.getpid()


def _start(workers: int) -> None:
    from mlirad.backends import workers as pool  # loads LLVM

    try:
        pool.start(workers)
    except RuntimeError as error:
        pool.start(_wanted)
        raise LaunchError(f"set_workers({workers}): {error}") from None


def several() -> bool:
    """Whether launches are spread. After a fork, the child gets threads of its own here."""
    global _process
    if _wanted == 1:
        return False
    if _process != os.getpid():
        _start(_wanted)
        _process = os.getpid()
    return True
