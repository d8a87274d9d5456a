"""Operators and casts have the types and the numbers of `numba.njit(error_model="numpy")`."""

import operator
from itertools import product

import pytest
from numba.core import types as nb
from numba.core.errors import TypingError
from numba.core.registry import cpu_target

from mlirad.frontend import casts, operators
from mlirad.frontend.types import Scalar, Tuple

TYPES = [Scalar("b", 1)]
TYPES += [Scalar(kind, bits) for kind in ("i", "u") for bits in (8, 16, 32, 64)]
TYPES += [Scalar("f", 32), Scalar("f", 64)]
BINARY = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
}
COMPARE = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}
UNARY = {
    "USub": operator.neg,
    "UAdd": operator.pos,
    "Invert": operator.invert,
    "Not": operator.not_,
}


def numba_type(scalar: Scalar):
    return getattr(nb, "boolean" if scalar.kind == "b" else str(scalar))


def resolved(function, *arguments: Scalar) -> str | None:
    """The result type that numba gives, None where it refuses the arguments."""
    context = cpu_target.typing_context
    try:
        signature = context.resolve_function_type(function, tuple(map(numba_type, arguments)), {})
    except TypingError:
        return None
    return None if signature is None else str(signature.return_type)


def text(type_) -> str | None:
    return None if type_ is None else str(type_)


@pytest.fixture(scope="module", autouse=True)
def numba_registry() -> None:
    cpu_target.typing_context.refresh()


@pytest.mark.parametrize("op", BINARY)
def test_binary_types_are_numbas(op):
    for a, b in product(TYPES, TYPES):
        ours, theirs = text(operators.binary_type(op, a, b)), resolved(BINARY[op], a, b)
        assert ours == theirs, (op, str(a), str(b))


@pytest.mark.parametrize("op", COMPARE)
def test_comparisons_give_bool(op):
    for a, b in product(TYPES, TYPES):
        assert text(operators.compare_type(op, a, b)) == resolved(COMPARE[op], a, b)


@pytest.mark.parametrize("op", UNARY)
def test_unary_types_are_numbas(op):
    for a in TYPES:
        assert text(operators.unary_type(op, a)) == resolved(UNARY[op], a), (op, str(a))


def test_unified_types_are_numbas():
    for a, b in product(TYPES, TYPES):
        theirs = cpu_target.typing_context.unify_pairs(numba_type(a), numba_type(b))
        assert text(casts.unify(a, b)) == text(theirs), (str(a), str(b))


def test_tuples_unify_by_element():
    a = Tuple((Scalar("i", 32), Scalar("f", 32)))
    b = Tuple((Scalar("i", 64), Scalar("f", 64)))
    assert casts.unify(a, b) == b
    assert casts.unify(a, Tuple((Scalar("i", 32),))) is None
    assert casts.unify(a, Scalar("i", 32)) is None
