"""Structured control flow: regions become blocks, carried values phis."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region

from mlirad.backends.emit_arith import literal
from mlirad.backends.writer import FunctionWriter, Handler, unsupported


def phis(w: FunctionWriter, types: Sequence[str]) -> tuple[int, list[str]]:
    """Room for phis whose incoming values are not known yet, and their names."""
    at = len(w.lines)
    w.lines += [""] * len(types)
    return at, [w.fresh() for _ in types]


def fill(
    w: FunctionWriter,
    at: int,
    names: Sequence[str],
    types: Sequence[str],
    *incoming: tuple[str, Sequence[str]],
) -> None:
    """Writes the phis of `phis`; `incoming` pairs labels with operands."""
    for k, (name, type) in enumerate(zip(names, types, strict=True)):
        edges = ", ".join(f"[ {parts[k]}, %{label} ]" for label, parts in incoming)
        w.lines[at + k] = f"{name} = phi {type} {edges}"


def trip_count(w: FunctionWriter, type: str, lower: str, upper: str, step: str) -> str:
    """How often a loop runs: ceildiv(upper - lower, step), 0 where it does not start."""
    starts = w.let(f"icmp slt {type} {lower}, {upper}")
    known = literal(step)
    if known is None or known <= 0:
        positive = w.let(f"icmp sgt {type} {step}, 0")
        starts = w.let(f"and i1 {starts}, {positive}")
        step = w.let(f"select i1 {positive}, {type} {step}, {type} 1")
    span = w.let(f"sub {type} {upper}, {lower}")
    last = w.let(f"sub {type} {span}, 1")
    steps = w.let(f"udiv {type} {last}, {step}")
    count = w.let(f"add {type} {steps}, 1")
    return w.let(f"select i1 {starts}, {type} {count}, {type} 0")


def for_loop(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    lower, upper, step = (str(w.values[v]) for v in op.operands[:3])
    induction, *carried = op.body.block.args
    type = w.scalar(induction, op)
    types = w.module.components([v.type for v in carried], op)
    initial = w.flatten(op.operands[3:])
    unit = literal(step) == 1
    start, end = lower, upper
    if not unit:
        start, end = "0", trip_count(w, type, lower, upper, step)
    head, body, done = (w.new_label(hint) for hint in ("for", "body", "done"))
    before = w.label
    w.do(f"br label %{head}")
    w.start(head)
    at, names = phis(w, [type, *types])
    counter, *parts = names
    order = "slt" if unit else "ult"
    more = w.let(f"icmp {order} {type} {counter}, {end}")
    w.do(f"br i1 {more}, label %{body}, label %{done}")
    w.start(body)
    if unit:
        w.values[induction] = counter
    else:
        offset = w.let(f"mul {type} {counter}, {step}")
        w.values[induction] = w.let(f"add {type} {lower}, {offset}")
    w.bind(carried, parts, op)
    yielded = w.flatten(w.block(op.body.block))
    following = w.let(f"add {'nsw' if unit else 'nuw'} {type} {counter}, 1")
    incoming = (before, [start, *initial]), (w.label, [following, *yielded])
    w.do(f"br label %{head}")
    fill(w, at, names, [type, *types], *incoming)
    w.start(done)
    w.bind(op.results, parts, op)


def while_loop(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    test, body = op.before_region.block, op.after_region.block
    types = w.module.components([v.type for v in test.args], op)
    initial = w.flatten(op.operands)
    head, inside, done = (w.new_label(hint) for hint in ("while", "do", "done"))
    before = w.label
    w.do(f"br label %{head}")
    w.start(head)
    at, names = phis(w, types)
    w.bind(test.args, names, op)
    condition, *passed = w.block(test)
    parts = w.flatten(passed)
    w.do(f"br i1 {w.values[condition]}, label %{inside}, label %{done}")
    w.start(inside)
    w.bind(body.args, parts, op)
    yielded = w.flatten(w.block(body))
    incoming = (before, initial), (w.label, yielded)
    w.do(f"br label %{head}")
    fill(w, at, names, types, *incoming)
    w.start(done)
    w.bind(op.results, parts, op)


def branches(w: FunctionWriter, op: Operation, arms: Sequence[tuple[str, Block]], end: str) -> None:
    """Writes the blocks of `arms`, then joins their results at `end`."""
    types = w.module.components([r.type for r in op.results], op)
    incoming: list[tuple[str, Sequence[str]]] = []
    for label, block in arms:
        w.start(label)
        parts = w.flatten(w.block(block))
        incoming.append((w.label, parts))
        w.do(f"br label %{end}")
    w.start(end)
    at, names = phis(w, types)
    fill(w, at, names, types, *incoming)
    w.bind(op.results, names, op)


def single(region: Region, op: Operation) -> Block:
    if len(region.blocks) != 1:
        raise unsupported(op, f"{op.name} with more than one block is not supported")
    return region.block


def if_else(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    then, end = w.new_label("then"), w.new_label("endif")
    arms = [(then, single(op.true_region, op))]
    otherwise = end
    if op.false_region.blocks:
        otherwise = w.new_label("else")
        arms.append((otherwise, single(op.false_region, op)))
    w.do(f"br i1 {w.values[op.operands[0]]}, label %{then}, label %{otherwise}")
    branches(w, op, arms, end)


def index_switch(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, scf.IndexSwitchOp)
    default, end = w.new_label("default"), w.new_label("endswitch")
    arms = [(default, single(op.default_region, op))]
    cases: list[str] = []
    for value, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        label = w.new_label("case")
        cases.append(f"i64 {value}, label %{label}")
        arms.append((label, single(region, op)))
    w.do(f"switch i64 {w.values[op.operands[0]]}, label %{default} [ {' '.join(cases)} ]")
    branches(w, op, arms, end)


def execute_region(w: FunctionWriter, op: Operation) -> None:
    assert isinstance(op, scf.ExecuteRegionOp)
    w.bind(op.results, w.flatten(w.block(single(op.region, op))), op)


HANDLERS: dict[type[Operation], Handler] = {
    scf.ForOp: for_loop,
    scf.WhileOp: while_loop,
    scf.IfOp: if_else,
    scf.IndexSwitchOp: index_switch,
    scf.ExecuteRegionOp: execute_region,
}
