"""`mlirad explain`: what a derivative keeps, recomputes and adds up atomically."""

from __future__ import annotations

import argparse
import sys

from mlirad.cli.compile import add_source_arguments, prepare
from mlirad.errors import LaunchTypeError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser, mode="reverse")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from mlirad.explaining import explain

    if options.mode == "primal":
        raise LaunchTypeError("explain is about derivatives\n  use --mode reverse or forward")
    prepared = prepare(
        options.what,
        options.args,
        kernel=options.kernel,
        mode=options.mode,
        activity=options.activity,
    )
    sys.stdout.write(f"{explain(prepared.compiled, prepared.types)}\n")
    return 0
