"""
The names of the GPU language, for use inside kernels: those of `numba.cuda`.

They mean something to the compiler only. Outside a kernel, using one is an error.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from mlirad.errors import LaunchTypeError


class _Name:
    """A name that exists inside kernels only."""

    def __init__(self, name: str):
        self._name = name

    def _refuse(self) -> NoReturn:
        raise LaunchTypeError(
            f"mlirad.gpu.{self._name} was used outside a kernel\n"
            "  decorate the function with mlirad.kernel and launch it, or call it from a kernel"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse()

    def __int__(self) -> int:
        self._refuse()

    def __repr__(self) -> str:
        return f"mlirad.gpu.{self._name}"


class _Dim3(_Name):
    """Three integers, one per dimension."""

    @property
    def x(self) -> int:
        self._refuse()

    @property
    def y(self) -> int:
        self._refuse()

    @property
    def z(self) -> int:
        self._refuse()


class _Atomic(_Name):
    """Operations on array elements that several threads may do at once."""

    def add(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] += value`; returns the old element."""
        self._refuse()

    def sub(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] -= value`; returns the old element."""
        self._refuse()

    def max(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = max(array[index], value)`; returns the old element. NaN never wins."""
        self._refuse()

    def min(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = min(array[index], value)`; returns the old element. NaN never wins."""
        self._refuse()

    def exch(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = value`; returns the old element."""
        self._refuse()

    def cas(self, array: Any, index: Any, old: Any, value: Any) -> Any:
        """`if array[index] == old: array[index] = value`, for integers; returns the old element."""
        self._refuse()

    def compare_and_swap(self, array: Any, old: Any, value: Any) -> Any:
        """`cas` of the first element."""
        self._refuse()


class _Const(_Name):
    """Memory that nothing writes."""

    def array_like(self, ary: Any) -> Any:
        """A global numpy array with the contents it has while the kernel is compiled."""
        self._refuse()


class _Shared(_Name):
    """Memory of one block."""

    def array(self, shape: Any, dtype: Any) -> Any:
        """An array that the threads of a block share; its contents are anything."""
        self._refuse()


class _Local(_Name):
    """Memory of one thread."""

    def array(self, shape: Any, dtype: Any) -> Any:
        """An array of the thread alone, of a literal `shape`; its contents are anything."""
        self._refuse()


def grid(ndim: int) -> Any:
    """The position of the thread in the whole grid: an int for 1, a tuple for 2 and 3."""
    _Name("grid")(ndim)


def gridsize(ndim: int) -> Any:
    """The number of threads in the whole grid: an int for 1, a tuple for 2 and 3."""
    _Name("gridsize")(ndim)


threadIdx: Final = _Dim3("threadIdx")
blockIdx: Final = _Dim3("blockIdx")
blockDim: Final = _Dim3("blockDim")
gridDim: Final = _Dim3("gridDim")


def syncthreads() -> None:
    """Waits until all threads of the block have come here."""
    _Name("syncthreads")()


def syncwarp(mask: int = 0xFFFFFFFF) -> None:
    """Waits until all threads of the warp have come here."""
    _Name("syncwarp")(mask)


def threadfence() -> None:
    """What this thread wrote is seen by all threads before what it writes afterwards."""
    _Name("threadfence")()


def threadfence_block() -> None:
    """As `threadfence`, for the threads of the block."""
    _Name("threadfence_block")()


def threadfence_system() -> None:
    """As `threadfence`, for the host and other devices too."""
    _Name("threadfence_system")()


def selp(condition: Any, a: Any, b: Any) -> Any:
    """`a` if the condition holds, else `b`; both are computed."""
    _Name("selp")(condition, a, b)


laneid: Final[Any] = _Name("laneid")
"""The number of the thread in its warp."""
warpsize: Final[Any] = _Name("warpsize")
"""The number of threads in a warp: 32."""

const: Final = _Const("const")
shared: Final = _Shared("shared")
local: Final = _Local("local")
atomic: Final = _Atomic("atomic")
