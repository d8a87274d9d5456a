"""`mlirad compile`: what becomes of a kernel or function, as text."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from mlirad.cli.signature import parse_activity, parse_capability, parse_types
from mlirad.errors import ArgumentTypeError, LaunchTypeError

if TYPE_CHECKING:
    from mlirad.callables import Compiled
    from mlirad.frontend.types import Type

STAGES = ("python", "optimized", "differentiated", "lowered", "cpu")


def add_source_arguments(parser: argparse.ArgumentParser, mode: str) -> None:
    """What is compiled, and how; `mode` is the default."""
    parser.add_argument("what", metavar="FILE.py:NAME", help="the kernel or function")
    parser.add_argument("--args", default="", help='types, as in "f64[:], f64[:, ::1], i64"')
    parser.add_argument("--kernel", action="store_true", help="take a plain function as a kernel")
    parser.add_argument("--mode", choices=("primal", "forward", "reverse"), default=mode)
    parser.add_argument("--activity", default="", help='annotations, as in "duplicated, const"')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser, mode="primal")
    parser.add_argument("--emit", choices=("mlir", "llvm", "asm", "ptx"), default="mlir")
    parser.add_argument("--stage", choices=STAGES, default="lowered", help="of the MLIR")
    parser.add_argument("--cc", default="9.0", help="of the PTX: the compute capability")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    sys.stdout.write(
        emit(
            options.what,
            options.args,
            kernel=options.kernel,
            mode=options.mode,
            activity=options.activity,
            form=options.emit,
            stage=options.stage,
            cc=options.cc,
        ).rstrip("\n")
        + "\n"
    )
    return 0


def emit(
    what: str,
    args: str,
    *,
    kernel: bool,
    mode: str,
    activity: str,
    form: str,
    stage: str,
    cc: str = "9.0",
) -> str:
    """
    The text of `FILE.py:NAME` for arguments of the types in `args`.

    Executes the file. A derivative is that of `autodiff`: seeds of results are 1. Raises a
    `MliradError` for a name that is not there and for what the compiler refuses.
    """
    compiled, types = prepare(what, args, kernel=kernel, mode=mode, activity=activity)
    match form:
        case "llvm":
            return compiled.inspect_llvm(types)
        case "asm":
            return compiled.inspect_asm(types)
        case "ptx":
            return compiled.inspect_ptx(parse_capability(cc), types)
        case _:
            return compiled.inspect_mlir(stage, types)


class Prepared(NamedTuple):
    """Something to compile, and the types of its arguments."""

    compiled: Compiled
    types: list[Type]


def prepare(what: str, args: str, *, kernel: bool, mode: str, activity: str) -> Prepared:
    """`FILE.py:NAME` or its derivative; `emit` says what it may raise."""
    import mlirad as ad
    from mlirad.api import as_callable

    found = find(what)
    compiled: Compiled = ad.kernel(found) if kernel else as_callable(found)
    types = parse_types(args)
    kinds = parse_activity(activity)
    if mode != "primal":
        if len(kinds) != len(types):
            raise LaunchTypeError(
                f"--activity has {len(kinds)} annotations, but --args has {len(types)} types\n"
                "  give one per argument"
            )
        built = ad.reverse if mode == "reverse" else ad.forward
        built(compiled, *kinds)  # checks that the annotations fit the mode
        how = ad.Reverse if mode == "reverse" else ad.Forward
        compiled = compiled.derivative(how, kinds, None, immediate=True)
        pairs = zip(types, kinds, strict=True)
        types = [t for type_, kind in pairs for t in ([type_] * 2 if kind.shadowed else [type_])]
    return Prepared(compiled, types)


def find(what: str) -> Callable[..., Any]:
    """The object that `FILE.py:NAME` names, after running the file."""
    path, _, name = what.rpartition(":")
    if not path or not Path(path).is_file():
        raise ArgumentTypeError(f"{what!r} names no file\n  write FILE.py:NAME")
    module = execute(Path(path))
    if not hasattr(module, name):
        raise ArgumentTypeError(f"{path} has no {name!r}")
    found = getattr(module, name)
    if not callable(found):
        raise ArgumentTypeError(f"{path}: {name!r} is no function")
    return found


def execute(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
