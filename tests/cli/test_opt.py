"""`mlirad-opt`: its targets, and what it does with wrong input."""

import pytest

from mlirad.cli.opt import main

SQUARE = """
func.func @square(%x : f64) -> f64 attributes {mlirad.entry} {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}
"""
REQUEST = """
func.func @square(%x : f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}
func.func @d(%x : f64, %dx : f64) -> (f64, f64) attributes {mlirad.entry} {
  %y, %dy = autodiff.fwddiff @square(%x, %dx) [#autodiff<activity dup>]
      -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}
"""


@pytest.fixture
def square(tmp_path):
    path = tmp_path / "square.mlir"
    path.write_text(SQUARE)
    return str(path)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("mlir", "arith.mulf"),
        ("llvm", "fmul double"),
        ("mlirad-llvm", "fmul double"),
        ("asm", ".text"),
    ],
)
def test_targets(square, capsys, target, expected):
    main([square, "-t", target])
    assert expected in capsys.readouterr().out


def test_passes_run_in_order_and_can_be_watched(square, capsys):
    main([square, "-p", "simplify,merge-common", "--print-between-passes"])
    assert "IR after simplify" in capsys.readouterr().out


def test_requests_are_expanded(tmp_path, capsys):
    path = tmp_path / "request.mlir"
    path.write_text(REQUEST)
    main([str(path), "-p", "autodiff-expand-requests,inline-calls"])
    printed = capsys.readouterr().out
    assert "autodiff." not in printed
    assert printed.count("arith.mulf") >= 2


@pytest.mark.parametrize("target", ["llvm", "asm"])
def test_a_target_runs_what_is_left_of_the_pipeline(tmp_path, capsys, target):
    path = tmp_path / "request.mlir"
    path.write_text(REQUEST)
    main([str(path), "-t", target])
    assert "d.entry" in capsys.readouterr().out


def test_what_a_target_refuses_is_a_diagnostic(tmp_path, capsys):
    path = tmp_path / "no_rule.mlir"
    path.write_text(
        "func.func private @mystery(f64) -> f64"
        + REQUEST.replace("arith.mulf %x, %x : f64", "func.call @mystery(%x) : (f64) -> f64")
    )
    main([str(path), "-t", "llvm", "--verify-diagnostics"])
    assert "@mystery is active but has no derivative rule" in capsys.readouterr().out


def test_an_unknown_pass_is_refused(square):
    with pytest.raises(ValueError, match="no-such-pass"):
        main([square, "-p", "no-such-pass"])
