"""
Which values to keep, so that all that is needed can be computed again from the fewest bytes.

```mlir
%v = memref.load %x[%i]    // cannot be loaded again: can only be kept
%s = math.sin %v
%e = math.exp %s           // needed: %v, %s and %e. %v is kept, the others are recomputed
```

Each value is a pipe as wide as its bytes times how often its block runs. What can only be kept is
where the water comes from, what is needed is where it must not arrive; the narrowest place to
close all ways is a minimum cut. Of several that are equally narrow, the one nearest to what is
needed recomputes least.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.ir import SSAValue

from mlirad.passes.analysis.max_flow import Network

SOURCE, SINK = 0, 1


def cheapest(
    needed: Iterable[SSAValue],
    operands: Mapping[SSAValue, Sequence[SSAValue] | None],
    weight: Callable[[SSAValue], int],
) -> set[SSAValue]:
    """
    The values to keep.

    Args:
        needed: what must be at hand.
        operands: from which other values each can be computed, None if it can only be kept.
            A value that is not named is at hand anyway.
        weight: what it costs to keep a value; positive.
    """
    wanted = [value for value in needed if value in operands]
    reached = dict.fromkeys(wanted)
    pending = list(reached)
    while pending:
        for operand in operands[pending.pop()] or ():
            if operand in operands and operand not in reached:
                reached[operand] = None
                pending.append(operand)
    enters = {value: 2 + 2 * number for number, value in enumerate(reached)}
    weights = [weight(value) for value in reached]
    unlimited = sum(weights) + 1
    network = Network(2 + 2 * len(reached))
    for (value, at), width in zip(enters.items(), weights, strict=True):
        network.connect(at, at + 1, width)
        sources = operands[value]
        if sources is None:
            network.connect(SOURCE, at, unlimited)
            continue
        for operand in dict.fromkeys(sources):
            if operand in enters:
                network.connect(enters[operand] + 1, at, unlimited)
    for value in dict.fromkeys(wanted):
        network.connect(enters[value] + 1, SINK, unlimited)
    network.saturate(SOURCE, SINK)
    spills = network.reaching(SINK)
    return {value for value, at in enters.items() if spills[at + 1] and not spills[at]}
