"""
A lit test format that stays in the process of the lit worker.

Nearly all RUN lines are `mlirad-opt … | filecheck …`. Started as processes, most of their time
goes into importing the compiler again for each; here it is imported once per worker. Any other
RUN line is left to lit's shell.
"""

# lit and filecheck have no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

import contextlib
import io
import re
import shlex
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

import lit.formats
import lit.Test
import lit.TestRunner


class Outcome(NamedTuple):
    """What a command returned and wrote."""

    status: int
    out: str
    err: str


class InProcess(lit.formats.ShTest):
    """Runs pipelines of the tools it knows itself."""

    def execute(self, test: Any, litConfig: Any) -> Any:
        parsed = lit.TestRunner.parseIntegratedTestScript(test, require_script=True)
        if isinstance(parsed, lit.Test.Result):
            return parsed
        if litConfig.noExecute:
            return lit.Test.Result(lit.Test.PASS)
        folder, base = lit.TestRunner.getTempPaths(test)
        substitutions = list(test.config.substitutions)
        substitutions += lit.TestRunner.getDefaultSubstitutions(test, folder, base)
        lines = lit.TestRunner.applySubstitutions(
            [line.command for line in self.commands(parsed)],
            substitutions,
            recursion_limit=test.config.recursiveExpansionLimit,
        )
        pipelines = [split(line) for line in lines]
        if not all(stage[0] in TOOLS for stages in pipelines for stage in stages):
            return super().execute(test, litConfig)
        for line, stages in zip(lines, pipelines, strict=True):
            if (problem := run(stages)) is not None:
                return lit.Test.Result(lit.Test.FAIL, f"RUN: {line}\n{problem}")
        return lit.Test.Result(lit.Test.PASS)

    @staticmethod
    def commands(parsed: Any) -> list[Any]:
        return [directive for directive in parsed if hasattr(directive, "command")]


def split(line: str) -> list[list[str]]:
    """The commands of a pipeline; lit writes where a line came from into `%dbg(…)` in front."""
    line = re.sub(r"^%dbg\([^)]*\)\s*", "", line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    stages: list[list[str]] = [[]]
    for word in lexer:
        if word == "|":
            stages.append([])
        elif set(word) <= set("();<>|&"):
            return [[word]]  # redirections and lists of commands are for the shell
        else:
            stages[-1].append(word)
    return stages if all(stages) else [[""]]


def run(stages: Sequence[list[str]]) -> str | None:
    """Runs a pipeline; what went wrong, or None."""
    text = ""
    for stage in stages:
        outcome = TOOLS[stage[0]](stage[1:], text)
        if outcome.status:
            return f"{stage[0]} returned {outcome.status}\n{outcome.err}\n{outcome.out}"
        text = outcome.out
    return None


def mlirad_opt(arguments: list[str], text: str) -> Outcome:
    from mlirad.cli.opt import main

    out, err = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(text.encode()))
    standard_input, sys.stdin = sys.stdin, given
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(arguments)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except Exception:
        status = 1
        err.write(traceback.format_exc())
    finally:
        sys.stdin = standard_input
    return Outcome(status, out.getvalue(), err.getvalue())


def filecheck(arguments: list[str], text: str) -> Outcome:
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options
    from filecheck.parser import Parser

    options = parse_argv_options(["filecheck", *arguments])
    err = io.StringIO()
    given = FInput("<stdin>", FInput.canonicalize_line_ends(text))
    with contextlib.redirect_stdout(err), contextlib.redirect_stderr(err):
        matcher = Matcher(options, given, Parser.from_opts(options))
        matcher.stderr = err
        status = matcher.run()
    return Outcome(status, "", err.getvalue())


TOOLS = {"mlirad-opt": mlirad_opt, "filecheck": filecheck}
