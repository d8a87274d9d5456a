"""The command `mlirad`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from mlirad.cli import compile as compile_command
from mlirad.cli import explain as explain_command
from mlirad.errors import MliradError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `mlirad` with `arguments`, by default those of the process. Returns the exit status."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except MliradError as error:
        print(f"mlirad: {type(error).__name__}: {error}", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    main_parser = argparse.ArgumentParser("mlirad", description="Derivatives of array kernels.")
    main_parser.add_argument("--version", action="version", version=f"mlirad {version('mlirad')}")
    commands = main_parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="fit 27 problems with certified answers")
    demo.add_argument(
        "--output", type=Path, default=Path("mlirad-demo.png"), help="where to write the picture"
    )
    demo.set_defaults(run=run_demo)
    compile_command.add_arguments(
        commands.add_parser("compile", help="print what a kernel or function becomes")
    )
    explain_command.add_arguments(
        commands.add_parser("explain", help="print what a derivative keeps and why")
    )
    return main_parser


def run_demo(options: argparse.Namespace) -> int:
    try:
        from mlirad.demo.show import show
    except ModuleNotFoundError as error:
        print(f"mlirad demo needs {error.name}: pip install 'mlirad[demo]'", file=sys.stderr)
        return 1
    return show(options.output)


if __name__ == "__main__":
    sys.exit(main())
