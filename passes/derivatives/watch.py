"""Lets `explain` see each plan that a run of the pipeline makes, and find its caches again."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

if TYPE_CHECKING:
    from mlirad.passes.derivatives.plan import Plan

KEPT = "autodiff.kept"
"""On what allocates a cache while plans are watched: which plan it belongs to, and its number."""

Watcher = Callable[["Plan", str], None]
"""Called with each plan, and the name of the augmented function or kernel made from it."""

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Generator[None]:
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def planned(plan: "Plan", augmented: str) -> None:
    if (watcher := _watcher.get()) is not None:
        watcher(plan, augmented)


def label(augmented: str, number: int) -> str:
    """What the cache of number `number` in the plan of `augmented` is called."""
    return f"{augmented}#{number}"


def mark(op: Operation, text: str) -> None:
    """Marks an op that makes a cache, if someone watches."""
    if _watcher.get() is not None:
        op.attributes[KEPT] = StringAttr(text)


def keep_mark(old: Operation, new: Operation) -> None:
    if (found := old.attributes.get(KEPT)) is not None:
        new.attributes[KEPT] = found
