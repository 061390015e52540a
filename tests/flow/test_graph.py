"""The graph: one variable a key, places that are one for good, edges that are told once."""

from __future__ import annotations

import pytest

from torchferry.flow.graph import DEVICE_NODE, HOST_NODE, Graph


def test_a_key_has_one_variable() -> None:
    graph = Graph()
    first = graph.variable(("birth", 1), "factory")
    assert graph.variable(("birth", 1), "op") == first
    assert graph.variable(("birth", 2), "op") != first
    assert graph.kinds[first] == "factory"
    assert first not in (DEVICE_NODE, HOST_NODE)


def test_same_is_transitive_and_keeps_the_ends() -> None:
    graph = Graph()
    a, b, c = (graph.variable(n, "op") for n in "abc")
    graph.same(a, b)
    graph.same(b, c)
    assert graph.find(a) == graph.find(b) == graph.find(c)
    graph.same(DEVICE_NODE, c)
    assert graph.find(a) == DEVICE_NODE


@pytest.mark.parametrize("order", [(DEVICE_NODE, HOST_NODE), (HOST_NODE, DEVICE_NODE)])
def test_the_ends_never_become_one(order: tuple[int, int]) -> None:
    graph = Graph()
    a = graph.variable("a", "op")
    graph.same(a, order[0])
    graph.same(a, order[1])
    assert graph.find(DEVICE_NODE) != graph.find(HOST_NODE)
    assert graph.find(a) == order[0]


def test_an_edge_is_told_once_for_each_place() -> None:
    graph = Graph()
    a, b = graph.variable("a", "op"), graph.variable("b", "op")
    here, there = object(), object()
    graph.edge(a, b, 4, 4, here, None, "use")
    graph.edge(a, b, 4, 4, here, None, "use")
    graph.edge(a, b, 4, 4, there, None, "use")
    graph.edge(a, a, 4, 4, there, None, "use")
    assert len(graph.edges) == 2
