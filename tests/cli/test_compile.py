"""`mlirad compile` and `mlirad` itself."""

import pytest

from mlirad.cli.main import main
from mlirad.cli.signature import parse_activity, parse_types
from mlirad.errors import ArgumentTypeError
from mlirad.frontend.types import FLOAT32, FLOAT64, INT64, Array
from mlirad.runtime.annotations import Const, Duplicated

SOURCE = """
from mlirad import gpu

def scale(x, a):
    i = gpu.grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * a

def total(x, a):
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] * a
    return s

NUMBER = 1
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE)
    return path


def test_types_and_annotations_are_read():
    assert parse_types("f64[:], f32[:, ::1],i64") == [
        Array(FLOAT64, 1, contiguous=False),
        Array(FLOAT32, 2),
        INT64,
    ]
    assert parse_activity("duplicated, Const") == (Duplicated, Const)


@pytest.mark.parametrize("text", ["f63", "f64[", "f64[3]", "f64[::1, :]"])
def test_a_type_that_is_none_is_refused(text):
    with pytest.raises(ArgumentTypeError, match=r"no (array )?type"):
        parse_types(text)


def test_an_annotation_that_is_none_is_refused():
    with pytest.raises(ArgumentTypeError, match="no annotation 'dup'"):
        parse_activity("dup")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "func.func @total"),
        (("--stage", "python"), "func.func @total"),
        (("--mode", "reverse", "--activity", "duplicated,active"), "func.func @reverse_total"),
        (("--mode", "forward", "--activity", "dual,const"), "func.func @forward_total"),
        (("--emit", "llvm"), "target triple"),
        (("--emit", "asm"), ".text"),
    ],
)
def test_a_function_is_printed(source, capsys, options, expected):
    assert main(["compile", f"{source}:total", "--args", "f64[::1], f64", *options]) == 0
    assert expected in capsys.readouterr().out


def test_a_kernel_is_printed(source, capsys):
    arguments = ["compile", f"{source}:scale", "--kernel", "--args", "f64[:], f64"]
    derived = ["--mode", "reverse", "--activity", "duplicated,const", "--emit", "mlir"]
    assert main([*arguments, *derived, "--stage", "lowered"]) == 0
    printed = capsys.readouterr().out
    assert "autodiff." not in printed
    assert "gpu" in printed


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("total", ("--args", "f64[:]"), "total"),
        ("absent", ("--args", ""), "has no 'absent'"),
        ("NUMBER", ("--args", ""), "'NUMBER' is no function"),
        ("total", ("--args", "f64[:], f64", "--mode", "reverse"), "has 0 annotations"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(source, capsys, name, options, message):
    assert main(["compile", f"{source}:{name}", *options]) == 1
    printed = capsys.readouterr().err
    assert message in printed
    assert "Traceback" not in printed


def test_a_file_that_is_not_there_is_reported(capsys):
    assert main(["compile", "nowhere.py:f"]) == 1
    assert "names no file" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("mlirad ")
