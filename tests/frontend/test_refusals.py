"""What is refused says where, what and the way out; what is wrong names the argument behind it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import cuda

from mlirad.errors import ArgumentTypeError, MliradError, TypingError, UnsupportedError
from mlirad.frontend.lower import lower
from mlirad.frontend.types import FLOAT64, INT64, Array
from tests.frontend.test_calls import square

TABLE = np.zeros(3)
X = Array(FLOAT64, 1)


def undefined(x):
    return missing  # noqa: F821


def use_before_assignment(x):
    y = z  # noqa: F821
    z = 1.0
    return y + z


def element_by_name(x):
    return x["a"]


def loop_over_number(x):
    s = 0.0
    for v in x[0]:
        s += v
    return s


def too_many_indices(x):
    return x[0, 1]


def float_index(x):
    return x[1.5]


def bool_index(x):
    return x[x[0] > 0.0]


def type_changes_in_loop(x):
    s = 0.0
    for _ in range(3):
        s = (s, 1.0)
    return s[0]


def array_in_arithmetic(x):
    return x + 1


def array_made_in_a_loop(x, y):
    a = x
    for _ in range(3):
        a = np.zeros(4)
    return a[0]


def array_of_another_type_by_branch(x, y):
    a, b = x, np.zeros((2, 2))
    if x[0] > 0.0:
        a = b
    return a[0]


def tuple_of_arrays_by_branch(x, y):
    t = (x, y)
    if x[0] > 0.0:
        t = (y, x)
    return t[0][0]


def global_array(x):
    return TABLE[0]


def makes_list(x):
    return [1.0, 2.0]


def misspelled(x):
    return math.sinn(x[0])


def prints(x):
    print(x[0])


def id_outside_a_kernel(x):
    return cuda.grid(1)


def falls_off(x):
    if x[0] > 0.0:
        return 1.0


def array_index(x, y):
    return x[y][0]


def new_axis(x):
    return x[None, 0][0]


def zero_slice(x):
    return x[::0][0]


def sums(x):
    return x.sum()


def wrong_dtype(x):
    return np.zeros(3, dtype=np.float16)[0]


def array_function(x):
    return np.dot(x, x)


def calls_itself(x):
    return calls_itself(x)


def kernel_without_grid(x):
    square(x)


def launches_a_function(x):
    falls_off[1, 2](x)


def zero_step(x):
    for _ in range(1, 2, 0):
        pass


def wrong_count(x):
    return early(x[0], 1, 2)


def early(a):
    return a


def assigns_shape(x):
    x.shape[0] = 1


def returns_array(x):
    return x


def nested(x):
    def inner():
        pass


REFUSED: list[tuple[Callable[..., Any], type[MliradError], str, str]] = [
    (undefined, TypingError, "'missing' is not defined", "define or import it"),
    (use_before_assignment, TypingError, "'z' is used before it is assigned", "first"),
    (element_by_name, UnsupportedError, "strings are not compiled", "out of the function"),
    (loop_over_number, TypingError, "'for' over 'x[0]', which is float64", "use range"),
    (too_many_indices, TypingError, "2 indices", "argument 'x' is float64[::1]"),
    (float_index, TypingError, "an int is needed here, but this is float64", "int("),
    (bool_index, TypingError, "an int is needed here, but this is bool", "int("),
    (type_changes_in_loop, TypingError, "the type of 's' changes from float64 to", "one name"),
    (array_in_arithmetic, TypingError, "a number is needed", "argument 'x' is float64[::1]"),
    (array_made_in_a_loop, UnsupportedError, "'a' is an array that is made anew", "before"),
    (array_of_another_type_by_branch, TypingError, "the type of 'a' changes", "one name per type"),
    (tuple_of_arrays_by_branch, UnsupportedError, "'t' is a different object", "own name"),
    (global_array, UnsupportedError, "'TABLE' is an array from outside", "as an argument"),
    (makes_list, UnsupportedError, "lists are not compiled", "tuple"),
    (misspelled, TypingError, "'math' has no attribute 'sinn'", "spelled"),
    (prints, UnsupportedError, "'print' is not compiled", "array argument"),
    (id_outside_a_kernel, TypingError, "'grid' has a meaning only in a kernel", "kernel"),
    (falls_off, TypingError, "can end without the value", "end with a 'return'"),
    (array_index, UnsupportedError, "an index that is itself an array", "'for' loop"),
    (new_axis, UnsupportedError, "a new axis", "without it"),
    (zero_slice, TypingError, "the step of a slice is 0", "1 or -1"),
    (sums, UnsupportedError, "'.sum' of an array", "'for' loop"),
    (wrong_dtype, TypingError, "'np.float16' is no element type", "float32 or float64"),
    (array_function, UnsupportedError, "'np.dot' is not compiled", "loops"),
    (calls_itself, UnsupportedError, "'calls_itself' calls itself", "loop"),
    (kernel_without_grid, TypingError, "'square' is called without a grid", "kernel[grid, block]"),
    (launches_a_function, TypingError, "'falls_off' is no kernel", "decorate"),
    (zero_step, TypingError, "the step of 'range' is 0", "1 or -1"),
    (wrong_count, TypingError, "'early' takes 1 arguments, but got 3", "change the call"),
    (assigns_shape, TypingError, "the elements of a tuple cannot be assigned", "arrays"),
    (returns_array, UnsupportedError, "a function cannot return an array", "in place"),
    (nested, UnsupportedError, "nested functions are not compiled", "outside"),
]


@pytest.mark.parametrize(
    ("function", "error", "what", "way_out"), REFUSED, ids=lambda p: getattr(p, "__name__", "")
)
def test_refusal_has_place_line_caret_reason_and_way_out(
    function: Callable[..., Any], error: type[MliradError], what: str, way_out: str
) -> None:
    types = [X] * function.__code__.co_argcount
    with pytest.raises(error) as caught:
        lower(function, types, kernel=False)
    place, line, caret, *hints = str(caught.value).splitlines()
    assert place.startswith(f"{__file__}:")
    assert what in place
    column = int(place[len(__file__) + 1 :].split(":")[1])
    assert caret.index("^") - caret.index("|") - 1 == column
    assert line.index("|") == caret.index("|")
    assert any(way_out in hint for hint in hints)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("syntax", ["assert x[0]", "with x: pass", "import os", "del x", "s = {1}"])
def test_unknown_statements_are_refused(syntax: str, tmp_path: Any) -> None:
    path = tmp_path / "body.py"
    path.write_text(f"def body(x):\n    {syntax}\n")
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    with pytest.raises(UnsupportedError, match="not compiled"):
        lower(namespace["body"], [X], kernel=False)


def test_what_python_cannot_recurse_into_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "long.py"
    path.write_text(f"def long(x):\n    s = 0.0\n    return {'+'.join(['x[0]'] * 900)}\n")
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    with pytest.raises(UnsupportedError, match=r"long.py:3:5.*nested too deeply(.|\n)*split it"):
        lower(namespace["long"], [X], kernel=False)


def test_source_must_be_there() -> None:
    namespace: dict[str, Any] = {}
    exec("def body(x):\n    return x", namespace)
    with pytest.raises(UnsupportedError, match="source of 'body' cannot be read"):
        lower(namespace["body"], [X], kernel=False)


def test_lambdas_and_other_objects_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="lambda"):
        lower(lambda x: x, [INT64], kernel=False)
    with pytest.raises(ArgumentTypeError, match="a Python function is needed"):
        lower(math.sin, [FLOAT64], kernel=False)
    with pytest.raises(ArgumentTypeError, match="missing 'x'"):
        lower(early_returning, [], kernel=False)
    with pytest.raises(UnsupportedError, match="boundscheck"):
        lower(early, [INT64], kernel=False, boundscheck=True)


def early_returning(x):
    return x


def test_kernels_return_nothing_and_read_only_arrays_stay() -> None:
    with pytest.raises(TypingError, match="kernel 'returns_array' returns a value"):
        lower(returns_array, [X], kernel=True)
    with pytest.raises(TypingError, match="read-only"):
        lower(square, [Array(FLOAT64, 1, writable=False)], kernel=True)


def with_try(x):
    try:
        return x
    except ValueError:
        pass


def test_try_is_named_even_where_no_return_follows() -> None:
    with pytest.raises(UnsupportedError, match="'try' is not compiled"):
        lower(with_try, [INT64], kernel=False)
