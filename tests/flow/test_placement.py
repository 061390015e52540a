"""The placement is a cheapest one, and no variable is on the device without need."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchferry.flow.graph import DEVICE_NODE, HOST_NODE, Graph
from torchferry.migration.placement import solve

COSTS = st.sampled_from([0, 1, 2, 3, 5, 8, 40, 1_000_000])
EDGES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), COSTS, COSTS), min_size=0, max_size=18
)
SAME = st.lists(st.tuples(st.integers(0, 7), st.integers(2, 7)), max_size=2)


def graph_of(edges: list[tuple[int, int, int, int]], same: list[tuple[int, int]]) -> Graph:
    graph = Graph()
    for number in range(2, 8):
        assert graph.variable(("v", number), "op") == number
    for u, v in same:
        graph.same(u, v)
    for number, (u, v, cost, back) in enumerate(edges):
        graph.edge(u, v, cost, back, reason=str(number))
    return graph


def cost_of(graph: Graph, device: set[int]) -> int:
    """What the moves of a placement cost."""
    total = 0
    for edge in graph.edges:
        u, v = graph.find(edge.u) in device, graph.find(edge.v) in device
        total += edge.cost * (u and not v) + edge.back * (v and not u)
    return total


@given(EDGES, SAME)
@settings(max_examples=150, deadline=None)
def test_no_placement_is_cheaper(
    edges: list[tuple[int, int, int, int]], same: list[tuple[int, int]]
) -> None:
    graph = graph_of(edges, same)
    if graph.find(DEVICE_NODE) == graph.find(HOST_NODE):
        return
    found = solve(graph)
    assert DEVICE_NODE in found
    assert HOST_NODE not in found
    free = sorted({graph.find(n) for n in range(2, 8)} - {DEVICE_NODE, HOST_NODE})
    placements = [
        {DEVICE_NODE} | {n for n, on in zip(free, choice, strict=True) if on}
        for choice in product((False, True), repeat=len(free))
    ]
    costs = [cost_of(graph, side) for side in placements]
    best = min(costs)
    assert cost_of(graph, found) == best
    # of all that cost as little, the one with the least on the device
    for side, cost in zip(placements, costs, strict=True):
        assert cost != best or found <= side


@pytest.mark.parametrize(
    ("wants", "joins", "device"),
    [
        ([], [(2, 3, 4, 4)], set()),  # nothing asks for the device
        ([(2, 5)], [], {2}),
        ([(2, 5)], [(2, 3, 9, 9)], {2, 3}),  # a move costs more than to follow
        ([(2, 3)], [(2, HOST_NODE, 9, 9)], set()),  # a move costs more than to stay
        ([(2, 9)], [(2, HOST_NODE, 3, 3)], {2}),
        ([(2, 9)], [(2, 3, 4, 0), (3, HOST_NODE, 1, 0)], {2, 3}),  # the border is the cheaper move
    ],
)
def test_small_placements(
    wants: list[tuple[int, int]], joins: list[tuple[int, int, int, int]], device: set[int]
) -> None:
    graph = graph_of(joins, [])
    for var, weight in wants:
        graph.want_device(var, weight)
    assert solve(graph) - {DEVICE_NODE} == device


def test_a_long_chain_is_no_recursion() -> None:
    graph = Graph()
    chain = [graph.variable(number, "op") for number in range(20_000)]
    for u, v in pairwise(chain):
        graph.edge(u, v, 5, 5)
    graph.want_device(chain[0], 3)
    assert solve(graph) == {DEVICE_NODE, *chain}
    graph.want_host(chain[-1], 9)
    assert solve(graph) == {DEVICE_NODE}
