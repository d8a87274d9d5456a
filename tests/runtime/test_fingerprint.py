"""A fingerprint changes with everything that code can depend on, and with nothing else."""

import itertools
import math
import subprocess
import sys
import textwrap
from types import FunctionType, ModuleType, SimpleNamespace

import numpy as np
import pytest

from mlirad.runtime.fingerprint import NotCacheable, fingerprint

BASE = """
    import math
    import numpy as np
    import helpers
    from numpy import sin as wave

    N = 3
    def callee(x):
        return x * N
    def unused(x):
        return UNUSED
    def make(c):
        def f(x, k=2, *, order=1):
            y = callee(x) + c + k + order
            for i in range(N):
                y += math.sin(y) * helpers.scale(y) + wave(x) + np.float32(1)
            return recursive(y, helpers.limits)
        return f
    def recursive(x, n):
        return f(x) if n else recursive(x, n)
    UNUSED = 1
    f = make(1.0)
"""
HELPERS = """
    limits = (1, 2)
    unused = 1
    def scale(x):
        return x * inner(x)
    def inner(x):
        return x + 1
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Loads a program; each under new file names, so nothing is cached by name."""
    names = (f"program_{n}" for n in itertools.count())

    def run(source: str = BASE, helpers: str = HELPERS, place: str = "") -> FunctionType:
        folder = tmp_path / next(names)
        folder.mkdir()
        modules = {}
        for name, text in (("helpers", helpers), ("program", source)):
            path = folder / f"{name}.py"
            path.write_text(textwrap.dedent(text))
            module = modules[name] = ModuleType(name)
            with monkeypatch.context() as patch:
                patch.setitem(sys.modules, "helpers", modules["helpers"])
                exec(compile(path.read_text(), path, "exec"), vars(module))
        return modules["program"].f

    return run


@pytest.fixture
def same_place(monkeypatch):
    """Leaves out where a source stands, to compare programs in different files."""
    from mlirad.runtime.fingerprint import _Walk

    put = _Walk.put

    def without_file(self, tag, *parts):
        put(self, tag, *(parts[1:] if tag == "function" else parts))

    monkeypatch.setattr(_Walk, "put", without_file)


SAME = {
    "nothing": ("N = 3", "N = 3"),
    "a function that is not used": ("return UNUSED", "return 7"),
    "a global that is not used": ("UNUSED = 1", "UNUSED = 5"),
}
OTHER = {
    "a global": ("N = 3", "N = 4"),
    "its type": ("N = 3", "N = 3.0"),
    "bool for int": ("N = 3", "N = True"),
    "a callee": ("return x * N", "return x + N"),
    "the text": ("y = callee(x) + c", "y = c + callee(x)"),
    "a closure": ("make(1.0)", "make(2.0)"),
    "the sign of zero": ("make(1.0)", "make(-0.0)"),
    "a dtype": ("make(1.0)", "make(np.float32(1.0))"),
    "a default": ("k=2", "k=3"),
    "a keyword default": ("order=1", "order=2"),
    "an imported function": ("import sin as wave", "import cos as wave"),
    "what a recursion reaches": ("if n else", "if not n else"),
    "its line": ("\n    N = 3", "\n\n    N = 3"),
}
IN_HELPERS = {
    "a module's function": ("x * inner", "x + inner"),
    "what that calls": ("x + 1", "x + 2"),
    "a module's constant": ("(1, 2)", "(1, 2.0)"),
}


@pytest.mark.usefixtures("same_place")
@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_what_does_not_matter(load, change):
    assert fingerprint(load()) == fingerprint(load(BASE.replace(*change)))


@pytest.mark.usefixtures("same_place")
@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER)
def test_what_matters(load, change):
    assert BASE.replace(*change) != BASE
    assert fingerprint(load()) != fingerprint(load(BASE.replace(*change)))


@pytest.mark.usefixtures("same_place")
@pytest.mark.parametrize("change", IN_HELPERS.values(), ids=IN_HELPERS)
def test_what_matters_in_a_module(load, change):
    assert fingerprint(load()) != fingerprint(load(helpers=HELPERS.replace(*change)))


@pytest.mark.usefixtures("same_place")
def test_what_does_not_matter_in_a_module(load):
    changed = HELPERS.replace("unused = 1", "unused = 2")
    assert fingerprint(load()) == fingerprint(load(helpers=changed))


def test_the_file_is_part_of_it(load):
    assert fingerprint(load()) != fingerprint(load())


def holding(value: object) -> FunctionType:
    def f(x):
        return x + value

    return f


CONSTANTS = [0, 0.0, -0.0, False, None, "", b"", (), [], 1, 1.0, True, 1j, (1, 2), ((1,), 2), "1"]
CONSTANTS += [[1, 2], math.nan, math.inf, np.float32(1), np.float64(1), np.int64(1), np.int32(1)]
CONSTANTS += [np.dtype("f4"), np.dtype("f8"), np.float32, np.sin, np.cos, math.sin, int, float]


def test_constants_are_told_apart():
    prints = [fingerprint(holding(value)) for value in CONSTANTS]
    assert len(set(prints)) == len(CONSTANTS)
    assert prints == [fingerprint(holding(value)) for value in CONSTANTS]


def test_globals_are_read_when_asked():
    value = 1

    def f(x):
        return x + value

    before = fingerprint(f)
    value = 2
    assert fingerprint(f) != before


def test_wrapped_functions_and_what_they_add():
    def f(x):
        return x

    def wrapper(options):
        return SimpleNamespace(py_func=f, __mlirad_fingerprint__=lambda: options)

    plain = SimpleNamespace(py_func=f)
    prints = {fingerprint(f), fingerprint(plain), fingerprint(wrapper((1,)))}
    assert len(prints | {fingerprint(wrapper((2,)))}) == 4


def test_objects_are_followed_to_the_attribute_that_is_used():
    config = SimpleNamespace(n=1, data=np.ones(2))

    def f(x):
        return x + config.n

    before = fingerprint(f)
    config.n = 2
    assert fingerprint(f) != before


class Special(int):
    pass


CYCLE: list[object] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    "value", [np.ones(2), object(), {}, Special(1), {1}, sys.modules[__name__]]
)
def test_what_has_no_fingerprint(value):
    with pytest.raises(NotCacheable, match=r"value|module"):
        fingerprint(holding(value))


def test_what_has_no_source_has_no_fingerprint():
    scope: dict[str, FunctionType] = {}
    exec("def f(x):\n    return x", scope)
    with pytest.raises(NotCacheable, match="source"):
        fingerprint(scope["f"])


def test_a_list_may_contain_itself():
    assert fingerprint(holding(CYCLE))


def test_unbound_names_do_not_matter_until_they_are_bound():
    def f(x):
        return x + later

    if f is None:
        later = 1
    assert fingerprint(f)


def test_a_comprehension_variable_may_be_a_global_too(load):
    source = "\n    y = 1\n    def f(x):\n        return [y for y in range(3)][0] + y\n    "
    assert fingerprint(load(source)) != fingerprint(load(source.replace("y = 1", "y = 2")))


def test_functions_of_a_library_are_known_by_name_unless_they_are_closures_or_kernels_of_ours():
    def inside(module: str, constant: float) -> FunctionType:
        def g(x):
            return x + constant

        g.__module__ = module
        return holding(g)

    assert fingerprint(inside("mlirad.demo.models", 1)) != fingerprint(
        inside("mlirad.demo.models", 2)
    )
    with pytest.raises(NotCacheable):
        fingerprint(inside("numpy.polynomial", 1))


def test_no_compiler_is_imported():
    code = (
        "import sys, mlirad.runtime.fingerprint\n"
        "print({'xdsl', 'numba', 'llvmlite'} & {*sys.modules})"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_kernels_of_numba():
    cuda = pytest.importorskip("numba.cuda")
    from numba import float64, njit
    from numba.cuda import grid

    @njit
    def inner(x):
        return x * 2

    @cuda.jit
    def kernel(x):
        scratch = cuda.shared.array(4, float64)
        i = grid(1) + cuda.threadIdx.x + cuda.blockDim.x
        scratch[0] = inner(x[i])
        cuda.syncthreads()
        cuda.atomic.add(x, i, scratch[0])

    assert fingerprint(kernel) == fingerprint(kernel)
    assert fingerprint(kernel) != fingerprint(kernel.py_func)
