"""What is inlined, what is kept, and that recursion is refused."""

from __future__ import annotations

import pytest

from mlirad.errors import UnsupportedError
from mlirad.passes.optimize.inline import InlinePass
from tests.passes.interpreter import parse, run

CHAIN = """
func.func @f(%x : f64) -> f64 {
  %y = func.call @g(%x) : (f64) -> f64
  %z = func.call @g(%y) : (f64) -> f64
  func.return %z : f64
}
func.func private @g(%x : f64) -> f64 {
  %y = func.call @h(%x) : (f64) -> f64
  %z = func.call @lgamma(%y) : (f64) -> f64
  func.return %z : f64
}
func.func private @h(%x : f64) -> f64 {
  %y = arith.addf %x, %x : f64
  func.return %y : f64
}
func.func private @unused(f64) -> f64
func.func private @lgamma(f64) -> f64 attributes {mlirad.pure}
"""


def names(module) -> list[str]:
    return [op.sym_name.data for op in module.ops]


def test_calls_disappear_and_so_do_functions_that_nothing_names():
    module = parse(CHAIN)
    before = run(module, "f", 1.5)
    InlinePass().rewrite(module)
    module.verify()
    assert run(module, "f", 1.5) == before
    assert names(module) == ["f", "lgamma"]


def test_functions_named_by_requests_and_entries_stay():
    module = parse(
        """
        func.func @f(%x : f64, %dx : f64) -> f64 attributes {mlirad.entry} {
          %y, %dy = autodiff.fwddiff @g(%x, %dx) [#autodiff<activity dup>]
            -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
          %z = func.call @g(%dy) : (f64) -> f64
          func.return %z : f64
        }
        func.func private @g(%x : f64) -> f64 { func.return %x : f64 }
        func.func @not_callable(%x : f64) -> f64 { func.return %x : f64 }
        """
    )
    InlinePass().rewrite(module)
    assert names(module) == ["f", "g"]
    assert "func.call" not in str(module)


@pytest.mark.parametrize(("callee", "chain"), [("f", "'f' -> 'f'"), ("g", "'f' -> 'g' -> 'f'")])
def test_recursion_is_refused_naming_the_functions(callee, chain):
    module = parse(
        f"""
        func.func @f(%x : f64) -> f64 {{
          %y = func.call @{callee}(%x) : (f64) -> f64
          func.return %y : f64
        }}
        func.func private @g(%x : f64) -> f64 {{
          %y = func.call @f(%x) : (f64) -> f64
          func.return %y : f64
        }}
        """
    )
    with pytest.raises(UnsupportedError, match=chain):
        InlinePass().rewrite(module)
