"""Kernels, functions and their derivatives: what Python code calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

from mlirad.callables import ConfiguredKernel, Function, Kernel
from mlirad.derived import DerivedProgram, Kind
from mlirad.errors import ArgumentTypeError, LaunchTypeError, UnsupportedError, describe
from mlirad.frontend.declared import declared
from mlirad.frontend.source import beginning, refuse_open_parameters, unwrap
from mlirad.program import Program, PythonProgram
from mlirad.runtime import checks
from mlirad.runtime.annotations import Active, Annotation, Const, Dual
from mlirad.runtime.recording import Mode

OPTIONS = ("boundscheck", "fastmath", "debug_nans", "racecheck", "cache")


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(**options: object) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Callable[..., Any] | None = None, /, **options: object
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """
    Makes a grid kernel of a Python function that writes its array arguments.

    Args:
        function: a plain function in the language of numba.cuda, or a `numba.cuda.jit` object.
        options: none is supported yet; a value of False is accepted.

    Returns:
        A `Kernel`, launched with `kernel[grid, block](…)` or `kernel.forall(n)(…)`. Array
        arguments are passed by address and written in place.
    """
    _check_options("kernel", options)
    if function is None:
        return kernel
    if isinstance(function, Kernel):
        return function
    plain = _python(function, "kernel")
    return Kernel(PythonProgram(plain, is_kernel=True, declared=declared(function)))


@overload
def jit(function: Callable[..., Any], /) -> Function: ...
@overload
def jit(**options: object) -> Callable[[Callable[..., Any]], Function]: ...
def jit(
    function: Callable[..., Any] | None = None, /, **options: object
) -> Function | Callable[[Callable[..., Any]], Function]:
    """
    Makes a compiled function of a Python function over numbers and arrays, which may launch
    kernels.

    Args:
        function: a plain function, or a `numba.njit` object.
        options: none is supported yet; a value of False is accepted.

    Returns:
        A `Function`: called like the original, it returns Python numbers, tuples of them, or None.
    """
    _check_options("jit", options)
    if function is None:
        return jit
    if isinstance(function, Function):
        return function
    plain = _python(function, "jit")
    return Function(PythonProgram(plain, is_kernel=False, declared=declared(function)))


def _check_options(what: str, options: dict[str, object]) -> None:
    for name, value in options.items():
        if name not in OPTIONS:
            raise LaunchTypeError(f"{what}() has no option {name!r}; it has {', '.join(OPTIONS)}")
        if value is not False:
            raise UnsupportedError(f"{what}({name}={value!r}) is not supported yet\n  leave it out")


def _python(function: object, what: str) -> Any:
    plain = unwrap(function)
    if plain is None:
        raise ArgumentTypeError(
            f"{what}() takes a Python function or a numba dispatcher, but got {function!r} of type "
            f"{type(function).__name__!r}"
        )
    if plain.__module__ == "mlirad.transforms":
        raise UnsupportedError(
            f"{what}() was given the result of a transform such as grad, which is not compiled\n"
            "  for second derivatives, nest forward and reverse: forward(reverse(f, …), …)"
        )
    refuse_open_parameters(plain)
    if problem := declared(function).lost(plain.__name__):
        raise UnsupportedError(describe(beginning(plain), *problem))
    return plain


Differentiable = Kernel | Function | ConfiguredKernel | Callable[..., Any]


@overload
def reverse(
    f: Kernel, /, *annotations: Kind, ret: Kind | None = None, deterministic: bool = False
) -> Kernel: ...
@overload
def reverse(
    f: Function, /, *annotations: Kind, ret: Kind | None = None, deterministic: bool = False
) -> Function: ...
@overload
def reverse(
    f: Callable[..., Any],
    /,
    *annotations: Kind,
    ret: Kind | None = None,
    deterministic: bool = False,
) -> Any: ...
def reverse(
    f: Callable[..., Any],
    /,
    *annotations: Kind,
    ret: Kind | None = None,
    deterministic: bool = False,
) -> Any:
    """
    Builds the reverse-mode derivative of a kernel or function.

    Args:
        f: a kernel, a function, or a derivative of one.
        annotations: one class per argument: `Const`, `Duplicated` (arrays; the shadow follows
            the array), `Active` (floats; the cotangent is returned).
        ret: `Active` (its seed is the last argument) or `Const`; by default `Active` where the
            result holds floats.
        deterministic: whether the result must be the same to the last bit for any number of
            workers (`set_workers`): then one of them runs all launches.

    Returns:
        A kernel for a kernel, a function for a function. It returns the primal result (unless
        there is none) and the cotangents of the `Active` arguments: one value bare, several
        as a tuple. Shadows are added to; arrays end as the primal leaves them.

    Raises:
        ArgumentTypeError, LaunchTypeError: annotations do not fit; all problems are listed.
    """
    return _derive(Mode.REVERSE, f, annotations, ret, deterministic)


@overload
def forward(
    f: Kernel, /, *annotations: Kind, ret: Kind | None = None, deterministic: bool = False
) -> Kernel: ...
@overload
def forward(
    f: Function, /, *annotations: Kind, ret: Kind | None = None, deterministic: bool = False
) -> Function: ...
@overload
def forward(
    f: Callable[..., Any],
    /,
    *annotations: Kind,
    ret: Kind | None = None,
    deterministic: bool = False,
) -> Any: ...
def forward(
    f: Callable[..., Any],
    /,
    *annotations: Kind,
    ret: Kind | None = None,
    deterministic: bool = False,
) -> Any:
    """
    Builds the forward-mode derivative of a kernel or function.

    Args:
        f: a kernel, a function, or a derivative of one.
        annotations: one class per argument: `Const`, or `Dual` (the tangent follows the argument).
        ret: `Dual` or `Const`; by default `Dual` where the result holds floats.
        deterministic: whether the result must be the same to the last bit for any number of
            workers (`set_workers`): then one of them runs all launches.

    Returns:
        A kernel for a kernel, a function for a function; the latter returns `(primal, tangent)`,
        only the primal with `ret=Const`. Tangents of arrays are overwritten as their arrays are.

    Raises:
        ArgumentTypeError, LaunchTypeError: annotations do not fit; all problems are listed.
    """
    return _derive(Mode.FORWARD, f, annotations, ret, deterministic)


def _derive(
    mode: Mode,
    f: Callable[..., Any],
    annotations: Sequence[Kind],
    ret: Kind | None,
    deterministic: bool,
) -> Kernel | Function:
    if isinstance(f, ConfiguredKernel):
        raise LaunchTypeError(
            f"{f.kernel.name}: a derivative is built from the kernel, without a grid\n"
            f"  write {mode.value}({f.kernel.name}, …)[grid, block](…)"
        )
    base = as_callable(f)
    program = base.program
    names = (*program.parameters, *program.optional)
    if len(annotations) < len(names):
        names = names[: max(len(annotations), len(program.parameters))]
    problems = [*checks.check_kinds(names, annotations, mode), *_check_returns(ret, mode)]
    checks.report(program.name, [*problems, *_check_flag(deterministic)])
    kinds = tuple(annotations)
    derived = DerivedProgram(program, mode, kinds, ret, deterministic=deterministic)
    return type(base)(derived)


def _check_returns(ret: object, mode: Mode) -> Iterable[checks.Problem]:
    allowed = (Const, Active) if mode is Mode.REVERSE else (Const, Dual)
    if ret is not None and ret not in allowed:
        names = " or ".join(kind.__name__ for kind in allowed)
        given = ret.__name__ if isinstance(ret, type) else repr(ret)
        yield checks.Problem(
            ArgumentTypeError, f"ret={given} in {mode.value} mode", f"'ret' is {names}, or left out"
        )


def _check_flag(deterministic: object) -> Iterable[checks.Problem]:
    if not isinstance(deterministic, bool):
        yield checks.Problem(
            ArgumentTypeError, f"deterministic={deterministic!r}", "it is True or False"
        )


def as_callable(f: object) -> Kernel | Function:
    """`f` itself if it is compiled by mlirad; a `Function` of it if it is plain Python."""
    if isinstance(f, (Kernel, Function)):
        return f
    plain, says = _python(f, "reverse, forward and autodiff"), declared(f)
    launched = f is not plain and "cuda" in type(f).__module__.split(".")
    attribute = "__mlirad_kernel__" if launched else "__mlirad_function__"
    held: object = getattr(plain, attribute, None)
    # functools.wraps copies attributes, hence the comparison
    if isinstance(held, (Kernel, Function)) and held.py_func is plain:
        if declared(held) == says:
            return held
    found = (
        Kernel(PythonProgram(plain, is_kernel=True, declared=says))
        if launched
        else Function(PythonProgram(plain, is_kernel=False, declared=says))
    )
    setattr(plain, attribute, found)  # what is compiled lives as long as the function
    return found


def autodiff(
    mode: Mode,
    f: Differentiable,
    /,
    *arguments: Annotation,
    ret: Kind | None = None,
    deterministic: bool = False,
) -> tuple[Any, Any]:
    """
    Differentiates `f` at `arguments`, now.

    Args:
        mode: `Reverse` or `Forward`.
        f: a kernel with its sizes (`k[grid, block]` or `k.forall(n)`), or a function.
        arguments: one annotation per argument, holding the value and the shadow if it has one.
        ret: how the result takes part; the seed of an `Active` result is 1.
        deterministic: whether the result must be the same to the last bit for any number of
            workers (`set_workers`): then one of them runs all launches.

    Returns:
        `(primal, gradients)` in reverse mode: `gradients` has one entry per argument, a number
        for `Active`, else None. `(primal, tangent)` in forward mode. `primal` is None for a
        kernel. Shadows of arrays are updated in place.

    Raises:
        MliradError: of the class of the first problem; all problems are listed.
    """
    if not isinstance(mode, Mode):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentTypeError(
            f"the first argument of autodiff is Reverse or Forward, not {mode!r}"
        )
    configured = f if isinstance(f, ConfiguredKernel) else None
    base = configured.kernel if configured else as_callable(f)
    if configured is None and isinstance(base, Kernel):
        raise LaunchTypeError(
            f"{base.name} is a kernel and needs sizes\n"
            f"  pass {base.name}[grid, block] or {base.name}.forall(n) to autodiff"
        )
    kinds = _verify_annotated(base.program, mode, arguments, ret)
    checks.report(base.name, list(_check_flag(deterministic)))
    derived = base.derivative(mode, kinds, ret, True, deterministic)
    values = [value for argument in arguments for value in argument.values]
    primal, *derivatives = derived.call(configured.sizes if configured else (), values)
    if mode is Mode.FORWARD:
        return primal, derivatives[0]
    cotangents = iter(derivatives)
    return primal, tuple(next(cotangents) if kind is Active else None for kind in kinds)


def _verify_annotated(
    program: Program, mode: Mode, arguments: Sequence[object], ret: object
) -> tuple[Kind, ...]:
    """The kinds of `arguments`; raises one error for all problems with them."""
    names = (*program.parameters, *program.optional)
    if len(arguments) < len(names):
        names = names[: max(len(arguments), len(program.parameters))]
    kinds = [type(x) if isinstance(x, Annotation) else x for x in arguments]
    problems = [*checks.check_kinds(names, kinds, mode), *_check_returns(ret, mode)]
    named = [*names, *(f"number {k + 1}" for k in range(len(names), len(arguments)))]
    usable = [
        checks.Argument(name, type(x), x.value, getattr(x, "shadow", None))
        for name, x in zip(named, arguments, strict=False)
        if isinstance(x, Annotation)
    ]
    checks.report(program.name, [*problems, *checks.check_values(usable)])
    return tuple(type(x) for x in arguments if isinstance(x, Annotation))


def stop_gradient(x: float) -> float:
    """
    `x`, held fixed: inside kernels and functions its derivative is zero in both modes.

    Outside compiled code it returns `x` as it is.
    """
    return x
