"""Prints the reference page of the rules: `python -m mlirad.passes.derivatives.render_table`."""

import sys
from collections.abc import Iterator

from mlirad.passes.derivatives.formula import Formula, Operand, render, uses
from mlirad.passes.derivatives.libm import LIBM_RULES
from mlirad.passes.derivatives.rule import INACTIVE, LinearRule, Rule, ScalarRule
from mlirad.passes.derivatives.singular_points import SINGULAR_POINTS
from mlirad.passes.derivatives.table import SCALAR_RULES

HEAD = """\
# Derivative rules of scalar ops

Made by `python -m mlirad.passes.derivatives.render_table` from the tables that both modes use. The
operands of an op are x, y and z, its result is out; `-` stands for an operand without a derivative.
The last column says which primal values reverse mode reads when all operands are active. Each
libm function also has a rule under its `f32` name, which ends in f.

| op | d out / d operand | reverse mode reads |
| --- | --- | --- |
"""

SINGULAR_HEAD = """
## Singular points

Equal to JAX's values unless said otherwise.

| op | at | d out / d operand | why |
| --- | --- | --- | --- |
"""


def render_page() -> str:
    """The whole page, ending in a newline."""
    named = {op.name: rule for op, rule in SCALAR_RULES.items()}
    libm = {name: rule for name, rule in LIBM_RULES.items() if f"{name}f" in LIBM_RULES}
    rows = [render_row(name, rule) for name, rule in (named | libm).items()]
    points = [
        f"| `{p.op}` | {render_numbers(p.operands)} | {render_numbers(p.partials)} | {p.reason} |"
        for p in SINGULAR_POINTS
    ]
    return HEAD + "\n".join(rows) + "\n" + SINGULAR_HEAD + "\n".join(points) + "\n"


def render_row(name: str, rule: Rule) -> str:
    if isinstance(rule, ScalarRule):
        partials = ", ".join("-" if p is None else render(p) for p in rule.partials)
        return f"| `{name}` | {partials} | {', '.join(dict.fromkeys(reads(rule)))} |"
    if rule is INACTIVE:
        return f"| `{name}` | inactive | |"
    if isinstance(rule, LinearRule):
        return f"| `{name}` | the cast of the shadow; back: the opposite cast | |"
    return f"| `{name}` | -, 1 if x else 0, 0 if x else 1 | x |"


def reads(rule: ScalarRule) -> Iterator[str]:
    partials: list[Formula] = [p for p in rule.partials if p is not None]
    values = {value for partial in partials for value in uses(partial)}
    yield from sorted(render(v) for v in values if isinstance(v, Operand))
    yield from (render(v) for v in values if not isinstance(v, Operand))


def render_numbers(numbers: tuple[float | None, ...]) -> str:
    return ", ".join("-" if n is None else f"{n:g}" for n in numbers)


if __name__ == "__main__":
    sys.stdout.write(render_page())
