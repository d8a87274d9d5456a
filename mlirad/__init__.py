"""
mlirad: exact derivatives of array kernels, compiled.

    import mlirad as ad

The public names are loaded when they are first used, so that importing a pass or an error
class does not import numpy, xDSL or LLVM.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlirad import errors as errors
    from mlirad import gpu as gpu
    from mlirad.api import autodiff as autodiff
    from mlirad.api import forward as forward
    from mlirad.api import jit as jit
    from mlirad.api import kernel as kernel
    from mlirad.api import reverse as reverse
    from mlirad.api import stop_gradient as stop_gradient
    from mlirad.devices import set_default_device as set_default_device
    from mlirad.explaining import explain as explain
    from mlirad.runtime.annotations import Active as Active
    from mlirad.runtime.annotations import Const as Const
    from mlirad.runtime.annotations import Dual as Dual
    from mlirad.runtime.annotations import Duplicated as Duplicated
    from mlirad.runtime.annotations import Forward as Forward
    from mlirad.runtime.annotations import Reverse as Reverse
    from mlirad.runtime.tape import Tape as Tape
    from mlirad.runtime.workers import set_workers as set_workers
    from mlirad.transforms import grad as grad
    from mlirad.transforms import jvp as jvp
    from mlirad.transforms import value_and_grad as value_and_grad
    from mlirad.transforms import vjp as vjp

_WHERE = {
    "mlirad.api": ("autodiff", "forward", "jit", "kernel", "reverse", "stop_gradient"),
    "mlirad.devices": ("set_default_device",),
    "mlirad.explaining": ("explain",),
    "mlirad.runtime.annotations": ("Active", "Const", "Dual", "Duplicated", "Forward", "Reverse"),
    "mlirad.runtime.tape": ("Tape",),
    "mlirad.runtime.workers": ("set_workers",),
    "mlirad.transforms": ("grad", "jvp", "value_and_grad", "vjp"),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "Active",
    "Const",
    "Dual",
    "Duplicated",
    "Forward",
    "Reverse",
    "Tape",
    "autodiff",
    "errors",
    "explain",
    "forward",
    "gpu",
    "grad",
    "jit",
    "jvp",
    "kernel",
    "reverse",
    "set_default_device",
    "set_workers",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]


def __getattr__(name: str) -> object:
    if name in ("errors", "gpu"):
        return import_module(f"mlirad.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'mlirad' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
