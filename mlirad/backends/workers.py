"""The pool of threads of this process, and the table of callbacks that leads to it."""

# llvmlite has no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
from functools import cache
from typing import Any

from mlirad.backends import cpu
from mlirad.backends.pool import FUNCTIONS, POOL

LEAST = 1024
"""Threads that a launch has at least to be spread: fewer are done before another worker wakes."""
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}

_lock = threading.Lock()


@cache
def _functions() -> tuple[dict[str, int], Any]:
    """The addresses of the functions of the pool, and what keeps them loaded."""
    code = cpu.link_text(POOL, list(FUNCTIONS))
    addresses = {name: code[name] for name in FUNCTIONS}
    ctypes.CFUNCTYPE(None)(addresses["mlirad_pool_prepare"])()
    atexit.register(_stop)  # before the code is unloaded
    os.register_at_fork(after_in_child=_renew)
    return addresses, code


def _function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)(_functions()[0][name])


def _stop() -> None:
    _function("mlirad_pool_stop", None)()


def _renew() -> None:
    """In the child of a fork, which has no threads but the one that forked."""
    global _lock
    _lock = threading.Lock()
    _function("mlirad_pool_prepare", None)()


def start(workers: int, least: int | None = None) -> None:
    """
    Makes launches run on `workers` threads, the caller among them, if they have `least` threads
    (by default `LEAST`) or more.

    Raises:
        RuntimeError: there is no room for so many threads; there are fewer now.
    """
    run = _function("mlirad_pool_start", ctypes.c_int32, ctypes.c_int64, ctypes.c_int64)
    with _lock:
        # Threads inherit this. Signals are for the threads of Python.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - FAULTS)
        try:
            error = run(workers - 1, LEAST if least is None else least)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if error:
        raise RuntimeError(f"cannot start {workers - 1} threads: {os.strerror(error)}")


@cache
def pool_table() -> ctypes.Array[ctypes.c_void_p]:
    """As `cpu.default_table`, but launches are spread over the pool."""
    alloc, free, _ = cpu.default_table()
    return (ctypes.c_void_p * 3)(alloc, free, _functions()[0]["mlirad_pool_launch"])
