"""Wrong calls: the class of the error, its words, and that nothing was touched."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ad
from mlirad import gpu


@ad.kernel
def axpy(x, y, n):
    pass


@ad.jit
def total(x, a):
    return a


def starred(x, *rest):
    return x


def by_keyword(x, *, y):
    pass


def vector(n: int = 3) -> np.ndarray:
    return np.arange(1.0, n + 1)


def read_only(n: int = 3) -> np.ndarray:
    array = vector(n)
    array.flags.writeable = False
    return array


SHARED = vector(8)

WRONG: dict[str, tuple[Callable[[], Any], type, list[str]]] = {
    "too few arguments": (
        lambda: axpy[1, 4](vector(), vector()),
        ad.errors.LaunchTypeError,
        ["axpy(x, y, n)", "'n'"],
    ),
    "too many arguments of a derivative": (
        lambda: ad.reverse(axpy, ad.Duplicated, ad.Const, ad.Const)[1, 4](1, 2, 3, 4, 5),
        ad.errors.LaunchTypeError,
        ["reverse_axpy(x, dx, y, n) takes 4 arguments, but got 5"],
    ),
    "unknown keyword": (
        lambda: total(vector(), a=1.0, b=2.0),
        ad.errors.LaunchTypeError,
        ["total(x, a)", "'b'"],
    ),
    "no grid": (lambda: axpy(1, 2, 3), ad.errors.LaunchTypeError, ["axpy[grid, block]"]),
    "string": (
        lambda: axpy[1, 4](vector(), "text", 3),
        ad.errors.ArgumentTypeError,
        ["axpy", "'y'", "a str"],
    ),
    "huge integer": (
        lambda: axpy[1, 4](vector(), vector(), 2**70),
        ad.errors.ArgumentTypeError,
        ["'n' is the int 1180591620717411303424"],
    ),
    "string in a transform": (
        lambda: ad.vjp(total, "text", 1.0),
        ad.errors.ArgumentTypeError,
        ["'x' is a str"],
    ),
    "None": (lambda: axpy[1, 4](vector(), None, 3), ad.errors.ArgumentTypeError, ["'y' is None"]),
    "several": (
        lambda: axpy[1, 4]([1.0], np.zeros(2, "f2"), 3),
        ad.errors.ArgumentTypeError,
        ["2 problems", "'x' is a list", "'y' is an array of dtype float16"],
    ),
    "wrong number of annotations": (
        lambda: ad.reverse(axpy, ad.Duplicated),
        ad.errors.LaunchTypeError,
        ["3 arguments (x, y, n), but 1 annotation"],
    ),
    "Duplicated in forward": (
        lambda: ad.forward(axpy, ad.Duplicated, ad.Dual, ad.Const),
        ad.errors.ArgumentTypeError,
        ["'x' is annotated Duplicated, which is for reverse mode", "Const, Dual"],
    ),
    "no annotation": (
        lambda: ad.autodiff(ad.Reverse, axpy[1, 4], vector(), ad.Const(vector()), ad.Const(3)),
        ad.errors.ArgumentTypeError,
        ["'x' has no annotation"],
    ),
    "ret of the other mode": (
        lambda: ad.reverse(total, ad.Const, ad.Active, ret=ad.Dual),
        ad.errors.ArgumentTypeError,
        ["ret=Dual", "Const or Active"],
    ),
    "shadow of another shape": (
        lambda: reverse_axpy(vector(), vector(4)),
        ad.errors.LaunchError,
        ["'x' has shape (4,), but the argument (3,)", "np.zeros_like(x)"],
    ),
    "shadow of another dtype": (
        lambda: reverse_axpy(vector(), vector().astype("f4")),
        ad.errors.ArgumentTypeError,
        ["'x' has dtype float32, but the argument float64"],
    ),
    "shadow that is no array": (
        lambda: reverse_axpy(vector(), 1.0),
        ad.errors.ArgumentTypeError,
        ["the shadow of argument 'x' is a float"],
    ),
    "None as a shadow": (
        lambda: reverse_axpy(vector(), None),
        ad.errors.ArgumentTypeError,
        ["the shadow of argument 'x' is None, but the argument"],
    ),
    "string as a seed": (
        lambda: ad.reverse(total, ad.Duplicated, ad.Const)(vector(), vector(), 1.0, "1"),
        ad.errors.ArgumentTypeError,
        ["argument 'dret' is a str"],
    ),
    "read-only shadow": (
        lambda: reverse_axpy(vector(), read_only()),
        ad.errors.LaunchError,
        ["the shadow of argument 'x' is read-only"],
    ),
    "shadow that overlaps itself": (
        lambda: reverse_axpy(vector(), np.lib.stride_tricks.as_strided(vector(), (3,), (0,))),
        ad.errors.AliasError,
        ["the shadow of argument 'x' overlaps itself"],
    ),
    "shadow on its primal": (
        lambda: reverse_axpy(SHARED[:3], SHARED[1:4]),
        ad.errors.AliasError,
        ["the shadow of argument 'x' overlaps argument 'x'"],
    ),
    "shadow on another primal": (
        lambda: ad.autodiff(
            ad.Reverse,
            axpy[1, 4],
            ad.Duplicated(vector(), SHARED[:3]),
            ad.Const(SHARED),
            ad.Const(3),
        ),
        ad.errors.AliasError,
        ["the shadow of argument 'x' overlaps argument 'y'"],
    ),
    "shadows that overlap without reason": (
        lambda: both(vector(), SHARED[:3], vector(), SHARED[2:5]),
        ad.errors.AliasError,
        ["the shadows of arguments 'x' and 'y' overlap, but the arguments do not"],
    ),
    "arguments that overlap, and their shadows do not": (
        lambda: both(SHARED[:3], vector(), SHARED[2:5], vector()),
        ad.errors.AliasError,
        ["arguments 'x' and 'y' overlap in memory", "in the same way"],
    ),
    "Const on Duplicated memory": (
        lambda: ad.autodiff(
            ad.Reverse,
            axpy[1, 4],
            ad.Duplicated(SHARED[:3], vector()),
            ad.Const(SHARED),
            ad.Const(3),
        ),
        ad.errors.AliasError,
        ["'y' is Const, but overlaps argument 'x'", "annotate both Duplicated"],
    ),
    "int array as Dual": (
        lambda: ad.autodiff(
            ad.Forward,
            axpy[1, 4],
            ad.Dual(np.arange(3), np.arange(3)),
            ad.Const(vector()),
            ad.Const(3),
        ),
        ad.errors.ArgumentTypeError,
        ["'x' is an int64[", "annotate it Const"],
    ),
    "int as Active": (
        lambda: ad.autodiff(ad.Reverse, total, ad.Const(vector()), ad.Active(3)),
        ad.errors.ArgumentTypeError,
        ["'a' is an int64", "a=3.0"],
    ),
    "array as Active": (
        lambda: ad.autodiff(ad.Reverse, total, ad.Active(vector()), ad.Const(1.0)),
        ad.errors.ArgumentTypeError,
        ["'x' is an array", "Duplicated"],
    ),
    "float as Duplicated": (
        lambda: ad.autodiff(ad.Reverse, total, ad.Const(vector()), ad.Duplicated(1.0, 0.0)),
        ad.errors.ArgumentTypeError,
        ["'a' is a float64", "Active"],
    ),
    "several problems of a derivative": (
        lambda: ad.autodiff(
            ad.Reverse,
            axpy[1, 4],
            ad.Dual(vector(), vector()),
            ad.Duplicated(vector(), vector(4)),
            ad.Const("text"),
        ),
        ad.errors.ArgumentTypeError,
        ["3 problems", "'x' is annotated Dual", "'y' has shape (4,)", "'n' is a str"],
    ),
    "kernel without sizes": (
        lambda: ad.autodiff(ad.Reverse, axpy, ad.Const(1), ad.Const(2), ad.Const(3)),
        ad.errors.LaunchTypeError,
        ["axpy[grid, block]"],
    ),
    "sizes in reverse": (
        lambda: ad.reverse(axpy[1, 2], ad.Const, ad.Const, ad.Const),
        ad.errors.LaunchTypeError,
        ["reverse(axpy, …)[grid, block]"],
    ),
    "mode": (
        lambda: ad.autodiff("reverse", total),
        ad.errors.ArgumentTypeError,
        ["Reverse or Forward", "'reverse'"],
    ),
    "option": (lambda: ad.kernel(fast=True), ad.errors.LaunchTypeError, ["'fast'"]),
    "option of a later version": (
        lambda: ad.kernel(boundscheck=True),
        ad.errors.UnsupportedError,
        ["boundscheck=True"],
    ),
    "star arguments": (
        lambda: ad.jit(starred),
        ad.errors.UnsupportedError,
        ["test_wrong_use.py:", "'starred' takes '*' arguments", "name each argument"],
    ),
    "keyword-only arguments": (
        lambda: ad.kernel(by_keyword),
        ad.errors.UnsupportedError,
        ["test_wrong_use.py:", "'by_keyword' has keyword-only arguments", "remove the '*'"],
    ),
    "transform of a transform": (
        lambda: ad.jvp(ad.grad(total, wrt=1), (vector(), 1.0), (vector(), 1.0)),
        ad.errors.UnsupportedError,
        ["the result of a transform", "forward(reverse(f, …), …)"],
    ),
    "no function": (lambda: ad.kernel(3), ad.errors.ArgumentTypeError, ["'int'"]),
    "no device": (lambda: axpy.on("tpu"), ad.errors.LaunchTypeError, ["'tpu'"]),
    "GPU": (lambda: ad.set_default_device("cuda"), ad.errors.UnsupportedError, ["'cpu'"]),
    "grad of a kernel": (lambda: ad.grad(axpy), ad.errors.ArgumentTypeError, ["axpy is a kernel"]),
    "wrt": (lambda: ad.grad(total, wrt=2), ad.errors.LaunchTypeError, ["wrt=2", "2 arguments"]),
    "wrt an int": (
        lambda: ad.grad(total, wrt=1)(vector(), 3),
        ad.errors.ArgumentTypeError,
        ["'a' is an int64"],
    ),
    "not called yet": (
        lambda: ad.kernel(axpy.py_func).inspect_mlir(),
        ad.errors.LaunchError,
        ["'args='"],
    ),
}


def reverse_axpy(x: Any, dx: Any) -> Any:
    return ad.reverse(axpy, ad.Duplicated, ad.Const, ad.Const)[1, 4](x, dx, vector(), 3)


def both(x: Any, dx: Any, y: Any, dy: Any) -> Any:
    return ad.reverse(axpy, ad.Duplicated, ad.Duplicated, ad.Const)[1, 4](x, dx, y, dy, 3)


@pytest.mark.parametrize("what", WRONG)
def test_wrong_use_is_refused_in_words(what: str):
    call, kind, words = WRONG[what]
    before = SHARED.copy()
    with pytest.raises(kind) as error:
        call()
    assert type(error.value) is kind
    for word in words:
        assert word in str(error.value)
    np.testing.assert_array_equal(SHARED, before)


def unsupported_syntax(x, n):
    x[0] = 2.0
    with n:
        x[0] = 3.0


def undefined_name(x, n):
    x[0] = 2.0 * nowhere  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


def type_changes(x, n):
    value = 2.0
    for _ in range(n):
        value = x
    x[0] = value


def number_indexed(x, n):
    x[0] = 2.0
    x[1] = n[0]


def inner(x, n):
    return x[0] + n.shape[0]


def wrong_in_a_callee(x, n):
    i = gpu.grid(1)
    x[i] = inner(x, n)


BODIES = {
    unsupported_syntax: (
        ad.errors.UnsupportedError,
        ("with n:", 5),
        ["'with' is not compiled", "move it out of the function"],
    ),
    undefined_name: (
        ad.errors.TypingError,
        ("x[0] = 2.0 * nowhere", 18),
        ["'nowhere' is not defined", "define or import it"],
    ),
    type_changes: (
        ad.errors.TypingError,
        ("for _ in range(n):", 5),
        ["'value' changes from float64 to float64[", "'x' is float64[", "use one name per type"],
    ),
    number_indexed: (
        ad.errors.TypingError,
        ("x[1] = n[0]", 12),
        ["'n' is int64 and cannot be indexed", "argument 'n' is int64", "only arrays can be"],
    ),
    wrong_in_a_callee: (
        ad.errors.TypingError,
        ("return x[0] + n.shape[0]", 19),
        ["'shape'", "int64"],
    ),
}


def in_a_tape(kernel: Any, x: np.ndarray, _: np.ndarray) -> None:
    with ad.Tape(x):
        kernel[1, 2](x, 3)


BODY_CALLS: dict[str, Callable[[Any, np.ndarray, np.ndarray], Any]] = {
    "plain": lambda k, x, _: k[1, 2](x, 3),
    "reverse": lambda k, x, dx: ad.reverse(k, ad.Duplicated, ad.Const)[1, 2](x, dx, 3),
    "forward": lambda k, x, dx: ad.forward(k, ad.Dual, ad.Const)[1, 2](x, dx, 3),
    "tape": in_a_tape,
}


@pytest.mark.parametrize("how", BODY_CALLS)
@pytest.mark.parametrize("function", BODIES, ids=lambda f: f.__name__)
def test_wrong_body_is_refused_with_place_caret_and_way_out(function: Any, how: str):
    kind, (code, column), words = BODIES[function]
    x, dx = vector(), vector()
    with pytest.raises(kind) as error:
        BODY_CALLS[how](ad.kernel(function), x, dx)
    assert type(error.value) is kind
    message = str(error.value)
    lines = Path(__file__).read_text().splitlines()
    (line,) = [i for i, text in enumerate(lines, 1) if text.split("  #")[0].strip() == code]
    assert message.startswith(f"{__file__}:{line}:{column}: ")
    shown, caret = message.splitlines()[1:3]
    assert shown.partition(" | ")[2] == lines[line - 1]
    assert caret.partition("| ")[2] == " " * (column - 1) + "^"
    for word in words:
        assert word in message
    np.testing.assert_array_equal([x, dx], [vector(), vector()])


@pytest.mark.parametrize("mode", [ad.reverse, ad.forward])
def test_several_mistakes_are_reported_together_and_nothing_is_touched(mode: Any):
    x, y, shadow = vector(), vector(), read_only(4)
    kind = ad.Duplicated if mode is ad.reverse else ad.Dual
    with pytest.raises(ad.errors.LaunchError) as error:
        mode(axpy, kind, kind, ad.Const)[1, 4](x, shadow, y, y, "three")
    message = str(error.value)
    assert "4 problems" in message
    assert "the shadow of argument 'y' overlaps argument 'y'" in message
    assert "'n' is a str" in message
    assert "the shadow of argument 'x' is read-only" in message
    assert "'x' has shape (4,), but the argument (3,)" in message
    np.testing.assert_array_equal([x, y], [vector(), vector()])
    np.testing.assert_array_equal(shadow, vector(4))


def test_errors_are_also_what_python_users_expect():
    assert issubclass(ad.errors.LaunchTypeError, TypeError)
    assert issubclass(ad.errors.LaunchError, ValueError)
    with pytest.raises(AttributeError):
        ad.no_such_name
    assert set(ad.__all__) <= set(dir(ad))


@ad.kernel
def squared(x):
    i = gpu.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]


def test_a_later_call_of_a_nested_derivative_is_verified_like_the_first():
    """The shadow of the inner derivative is a plain argument of the outer one."""
    nested = ad.forward(ad.reverse(squared, ad.Duplicated), ad.Dual, ad.Dual)[1, 8]
    for _ in range(2):
        nested(vector(8), vector(8), vector(8), vector(8))
    short, tangent = vector(3), vector(3)
    with pytest.raises(ad.errors.LaunchError, match=r"has shape \(3,\), but the argument \(8,\)"):
        nested(vector(8), vector(8), short, tangent)
    assert short.tolist() == vector(3).tolist()
