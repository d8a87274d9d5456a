"""The minimum cut against all cuts, and what it keeps of programs."""

import itertools
import random

import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import SSAValue

from mlirad.passes.analysis.max_flow import Network
from mlirad.passes.analysis.min_cut import cheapest

Graph = dict[SSAValue, list[SSAValue] | None]


def random_graph(seed: int, size: int) -> tuple[Graph, dict[SSAValue, int], list[SSAValue]]:
    """Values with operands among those before them, weights, and what is needed."""
    choice = random.Random(seed)
    values = list(AnyOp(result_types=[IndexType()] * size).results)
    graph: Graph = {}
    for number, value in enumerate(values):
        earlier = choice.sample(values[:number], min(number, choice.randrange(1, 3)))
        graph[value] = earlier if earlier and choice.random() < 0.8 else None
    weights = {value: choice.choice([1, 4, 8, 8, 8000]) for value in values}
    return graph, weights, choice.sample(values, 1 + choice.randrange(3))


def recomputed(graph: Graph, kept: set[SSAValue], needed: list[SSAValue]) -> set[SSAValue] | None:
    """What has to be computed again; None if something is missing."""
    found: set[SSAValue] = set()
    pending = list(needed)
    while pending:
        value = pending.pop()
        if value in kept or value in found:
            continue
        operands = graph[value]
        if operands is None:
            return None
        found.add(value)
        pending.extend(operands)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_set_of_values_is_cheaper(seed: int) -> None:
    graph, weights, needed = random_graph(seed, 9)
    kept = cheapest(needed, graph, weights.__getitem__)
    again = recomputed(graph, kept, needed)
    assert again is not None
    cost = sum(weights[value] for value in kept)
    for count in range(len(graph) + 1):
        for other in itertools.combinations(graph, count):
            work = recomputed(graph, set(other), needed)
            if work is None:
                continue
            price = sum(weights[value] for value in other)
            assert price >= cost
            if price == cost:
                assert len(work) >= len(again)


def test_a_value_that_is_at_hand_is_not_kept() -> None:
    at_hand, a, b = AnyOp(result_types=[IndexType()] * 3).results
    graph: Graph = {a: [at_hand], b: [a, at_hand]}
    assert cheapest([b, at_hand], graph, lambda _: 8) == set()


def test_the_cut_nearest_to_the_need_is_taken() -> None:
    values = AnyOp(result_types=[IndexType()] * 4).results
    graph: Graph = {values[0]: None}
    graph.update({b: [a] for a, b in itertools.pairwise(values)})
    assert cheapest([values[3]], graph, lambda _: 8) == {values[3]}
    assert cheapest([values[3], values[2]], graph, lambda _: 8) == {values[2]}


def test_deep_and_wide_graphs_are_cut_without_recursion() -> None:
    size = 30_000
    values = AnyOp(result_types=[IndexType()] * size).results
    graph: Graph = {values[0]: None, values[1]: None}
    for number in range(2, size):
        graph[values[number]] = [values[number - 1], values[number - 2]]
    kept = cheapest(values[10:], graph, lambda _: 8)
    assert len(kept) == 2


def test_flow_is_the_width_of_the_cut() -> None:
    network = Network(4)
    network.connect(0, 1, 3)
    network.connect(0, 2, 5)
    network.connect(1, 3, 4)
    network.connect(2, 3, 2)
    network.connect(2, 1, 2)
    assert network.saturate(0, 3) == 6
    assert network.reaching(3) == [False, False, False, True]
