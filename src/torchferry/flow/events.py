"""What a program does, as the rules read it: calls, and places that do not go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .interp import Unit


class Clash:
    """Two places that do not go together, seen as the source stands."""

    __slots__ = (
        "doubtful",
        "exploring",
        "frame",
        "kind",
        "node",
        "op",
        "owner",
        "parties",
        "stack",
        "unit",
    )

    def __init__(self, kind: str, node: Any, unit: Unit, op: str, parties: list[Any]) -> None:
        self.kind, self.node, self.unit, self.op, self.parties = kind, node, unit, op, parties
        self.frame: Any = None  #: where it happens
        self.stack: tuple[Any, ...] = ()  #: the calls around: (node, unit, calling frame)
        self.owner: Any = None  #: the module whose place it is
        self.doubtful = False  #: right where a CPU tensor holds one number, which is not known
        self.exploring = False  #: in code that nothing in the file calls


class Event(NamedTuple):
    """One call, after it was followed: for rules that ask what a program does, in its order."""

    func: Any
    args: list[Any]
    kwargs: dict[str, Any]
    node: Any
    frame: Any
    depth: int
    result: Any
    graph_off: bool  #: inside no_grad or inference_mode
    exploring: bool
    stack: tuple[Any, ...]
