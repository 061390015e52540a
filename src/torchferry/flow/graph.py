"""The placement graph: which values must live together, and what a move between them costs.

Each birth of a tensor, each operator and each module is a variable that will be on the device or
on the host. An edge joins a value to the operator that uses it; when the two end up on different
sides, the edge is a move, written at the edge's expression. The best placement is the cheapest
set of moves: a minimum cut between DEVICE and HOST (placement.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DEVICE_NODE, HOST_NODE = 0, 1  #: the two ends of the cut
HARD = 1_000_000  #: capacity of what must not be cut


@dataclass(frozen=True, slots=True)
class Birth:
    """Where a tensor or module is made, and how it can be made on the device.

    how: "factory" (takes device=), "append" (.to(device) behind the expression), "bind" (a name
    bound from a batch: a statement behind the binding), "load" (map_location=), "module"
    (.to(device) behind the constructor), "param" (an argument), "fixed" (nothing can be written).
    """

    how: str
    node: Any
    unit: Any
    stmt: Any = None
    name: str = ""
    in_init: str = ""  #: the class whose __init__ makes it, for buffers


class Use:
    """An edge u -> v with its place: cutting it writes a move at `expr`.

    tied: it was found that the move cannot be written; both ends must be on one side.
    """

    __slots__ = ("back", "cost", "expr", "reason", "tied", "u", "unit", "v")

    def __init__(
        self, u: int, v: int, cost: int, back: int, expr: Any, unit: Any, reason: str
    ) -> None:
        self.u, self.v, self.cost, self.back = u, v, cost, back
        self.expr, self.unit, self.reason = expr, unit, reason
        self.tied = False


class Graph:
    """Variables and edges, grown by the flow."""

    __slots__ = ("births", "edges", "hard_parent", "keys", "kinds", "seen", "size", "views")

    def __init__(self) -> None:
        self.size = 2
        self.keys: dict[Any, int] = {}
        self.births: dict[int, Birth] = {}
        self.kinds: dict[int, str] = {}
        self.edges: list[Use] = []
        self.seen: set[Any] = set()
        self.hard_parent: dict[int, int] = {}
        self.views: dict[int, int] = {}  #: a view and its base

    def find(self, var: int) -> int:
        """The representative of the variables that were joined for good."""
        parent = self.hard_parent
        root = var
        while root in parent:
            root = parent[root]
        while var != root:
            parent[var], var = root, parent[var]
        return root

    def same(self, a: int, b: int) -> None:
        """a and b are one place for good (a parameter and its module)."""
        a, b = self.find(a), self.find(b)
        if a != b:
            if a < 2:
                a, b = b, a
            if a < 2:
                return
            self.hard_parent[a] = b

    def variable(self, key: Any, kind: str) -> int:
        """The variable of `key`, made when it is new."""
        var = self.keys.get(key)
        if var is None:
            var = self.keys[key] = self.size
            self.kinds[var] = kind
            self.size += 1
        return var

    def edge(
        self,
        u: int,
        v: int,
        cost: int,
        back: int,
        expr: Any = None,
        unit: Any = None,
        reason: str = "",
    ) -> None:
        """Join u and v: `cost` when u is on the device and v is not, `back` the other way."""
        if u == v:
            return
        key = (u, v, id(expr) if expr is not None else 0, reason)
        if key in self.seen:
            return
        self.seen.add(key)
        self.edges.append(Use(u, v, cost, back, expr, unit, reason))

    def want_device(self, var: int, weight: int) -> None:
        """It costs `weight` when var is not on the device."""
        self.edge(DEVICE_NODE, var, weight, 0)

    def want_host(self, var: int, weight: int, reason: str = "") -> None:
        """It costs `weight` when var is not on the host."""
        self.edge(var, HOST_NODE, weight, 0, None, None, reason)
