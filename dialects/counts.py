"""What the verifiers of several ops check."""

from xdsl.utils.exceptions import VerifyException


def expect_count(what: str, expected: int, got: int) -> None:
    if got != expected:
        raise VerifyException(f"expected {expected} {what}, but got {got}")
