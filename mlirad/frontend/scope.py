"""Names that are not local: closures, globals and builtins, read as compile-time constants."""

from __future__ import annotations

import builtins
import sys
from types import FunctionType, ModuleType

from mlirad.frontend.operands import Static

GPU_MODULES = ("mlirad.gpu", "numba.cuda", "numba_cuda.numba.cuda", "numba_cuda_mlir.cuda")
GPU_NAMES = frozenset(
    "grid gridsize threadIdx blockIdx blockDim gridDim laneid warpsize shared local const "
    "syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp "
    "threadfence threadfence_block threadfence_system atomic selp "
    "shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync match_any_sync match_all_sync "
    "vote_sync_intrinsic all_sync any_sync eq_sync ballot_sync activemask lanemask_lt".split()
)
"""The GPU language: the same names, whichever module they come from."""


class Undefined(LookupError):
    """A name without a value."""


def look_up(function: FunctionType, name: str) -> Static:
    """The object that `name` means inside `function` where it is no local variable."""
    code = function.__code__
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return recognise(cell.cell_contents)
        except ValueError:
            raise Undefined(name) from None
    if name in function.__globals__:
        return recognise(function.__globals__[name])
    if hasattr(builtins, name):
        return Static(getattr(builtins, name))
    raise Undefined(name)


def recognise(found: object) -> Static:
    """
    `found`, with its path if it is part of the GPU language (`from numba.cuda import grid`).

    Only modules that somebody has imported already are compared.
    """
    if type(found) in (bool, int, float, tuple, ModuleType):
        return Static(found)
    for module in GPU_MODULES:
        if (loaded := sys.modules.get(module)) is not None:
            for name in GPU_NAMES:
                if vars(loaded).get(name) is found:
                    return Static(found, name)
    return Static(found)


def attribute(base: Static, name: str) -> Static:
    """`base.name`. Raises `Undefined` where there is no such attribute."""
    if base.path is not None:
        # Not evaluated: outside a kernel these attributes raise or do not exist.
        return Static(base.object, f"{base.path}.{name}")
    if isinstance(base.object, ModuleType):
        if base.object.__name__ in GPU_MODULES and name in GPU_NAMES:
            return Static(base.object, name)
    try:
        return Static(getattr(base.object, name))
    except AttributeError:
        raise Undefined(name) from None
