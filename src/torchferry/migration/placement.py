"""The best placement: a minimum cut of the placement graph between device and host."""

from __future__ import annotations

from collections import deque

from torchferry.flow.graph import DEVICE_NODE, HOST_NODE, Graph


def solve(graph: Graph) -> set[int]:
    """The variables (representatives) that live on the device.

    Minimises the total cost of moves; a variable that nothing asks for stays on the host.
    Method: Dinic's maximum flow; the device side is what the device end still reaches.
    """
    heads, capacity, adjacent = _network(graph)
    while True:
        level = _levels(heads, capacity, adjacent)
        if HOST_NODE not in level:
            return set(level)
        _augment(heads, capacity, adjacent, level)


_Adjacent = dict[int, list[int]]


def _network(graph: Graph) -> tuple[list[int], list[int], _Adjacent]:
    """Edges as pairs (i, i ^ 1) of arcs; parallel edges are added up."""
    total: dict[tuple[int, int], list[int]] = {}
    for edge in graph.edges:
        u, v = graph.find(edge.u), graph.find(edge.v)
        if u == v:
            continue
        if (v, u) in total:
            pair = total[(v, u)]
            pair[1] += edge.cost
            pair[0] += edge.back
        else:
            pair = total.setdefault((u, v), [0, 0])
            pair[0] += edge.cost
            pair[1] += edge.back
    heads: list[int] = []
    capacity: list[int] = []
    adjacent: _Adjacent = {DEVICE_NODE: [], HOST_NODE: []}
    for (u, v), (forth, back) in total.items():
        adjacent.setdefault(u, []).append(len(heads))
        heads.append(v)
        capacity.append(forth)
        adjacent.setdefault(v, []).append(len(heads))
        heads.append(u)
        capacity.append(back)
    return heads, capacity, adjacent


def _levels(heads: list[int], capacity: list[int], adjacent: _Adjacent) -> dict[int, int]:
    level = {DEVICE_NODE: 0}
    queue = deque([DEVICE_NODE])
    while queue:
        node = queue.popleft()
        for arc in adjacent[node]:
            head = heads[arc]
            if capacity[arc] > 0 and head not in level:
                level[head] = level[node] + 1
                queue.append(head)
    return level


def _augment(
    heads: list[int], capacity: list[int], adjacent: _Adjacent, level: dict[int, int]
) -> None:
    """A blocking flow, depth first without recursion."""
    position = dict.fromkeys(adjacent, 0)
    path: list[int] = []
    node = DEVICE_NODE
    while True:
        if node == HOST_NODE:
            flow = min(capacity[arc] for arc in path)
            for arc in path:
                capacity[arc] -= flow
                capacity[arc ^ 1] += flow
            first = next(i for i, arc in enumerate(path) if capacity[arc] == 0)
            node = heads[path[first] ^ 1]
            del path[first:]
            continue
        arcs = adjacent[node]
        while position[node] < len(arcs):
            arc = arcs[position[node]]
            head = heads[arc]
            if capacity[arc] > 0 and level.get(head, -1) == level[node] + 1:
                path.append(arc)
                node = head
                break
            position[node] += 1
        else:
            if not path:
                return
            level[node] = -1
            node = heads[path.pop() ^ 1]
