"""What happened to modules: who owns them, when they were moved, what they are for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torchferry.flow.join import Choice
from torchferry.flow.values import ACCEL, CPU, Inst, Map, Seq, Value

if TYPE_CHECKING:
    from .context import Context

_LOSS = re.compile(r"(?i)(loss|criterion|centroid|centre|head$)")
_METRIC = re.compile(r"(?i)(metric|accuracy|score|meter|f1|auroc|precision|recall)")


def root_of(inst: Inst) -> Inst:
    """The module that registers this one, through all levels."""
    for _ in range(30):
        parent = inst.state.get("parent")
        if not isinstance(parent, Inst) or parent is inst:
            return inst
        inst = parent
    return inst


def class_name(inst: Inst) -> str:
    """The name of an instance's class."""
    return inst.cls.name if inst.cls is not None else inst.ext.rpartition(".")[2]


def is_loss(inst: Inst) -> bool:
    """Whether a module computes a loss, by its name or by what its forward takes."""
    if _LOSS.search(class_name(inst)):
        return True
    forward = inst.cls.find("forward") if inst.cls is not None else None
    node = getattr(forward, "node", None)
    names = [a.arg for a in node.args.args[2:]] if node is not None else []
    return any(n in ("target", "targets", "labels", "label") for n in names)


def is_metric(inst: Inst) -> bool:
    """Whether a module keeps the state of a metric."""
    if inst.cls is None:
        known = inst.ext.startswith("torchmetrics.")
        return known or bool(_METRIC.search(class_name(inst)))
    has = inst.cls.find("update") is not None and inst.cls.find("compute") is not None
    return has or bool(_METRIC.search(inst.cls.name))


class ModuleHistory:
    """The moves of all modules of a document, in the order of the run."""

    def __init__(self, ctx: Context) -> None:
        self.moves: dict[int, list[tuple[int, Any]]] = {}
        self.moved_nodes: set[int] = set()
        self.late: set[int] = set()
        for inst, bits, node, _, _ in ctx.ip.facts.get("module-move", ()):
            self.moves.setdefault(id(inst), []).append((bits, node))
            if bits != CPU:
                self.moved_nodes.add(id(inst.node))
        for parent, child, parent_dev, child_dev, _ in ctx.ip.facts.get("adopted", ()):
            if parent_dev == ACCEL and child_dev == CPU:
                self.late.add(id(child))
                del parent

    def moved_back(self, inst: Inst) -> Any:
        """The call that moved the module to the CPU after it had been on the device."""
        current: Any = inst
        for _ in range(30):
            moves = self.moves.get(id(current), [])
            if moves and moves[-1][0] == CPU and any(bits != CPU for bits, _ in moves):
                return moves[-1][1]
            current = current.state.get("parent")
            if not isinstance(current, Inst):
                return None
        return None

    def ever_moved(self, inst: Inst) -> bool:
        """Whether an instance made at the same place was moved to a device."""
        return id(inst.node) in self.moved_nodes

    def added_late(self, inst: Inst) -> Inst | None:
        """The module (itself, or one around it) that was put into one on the device already."""
        current: Any = inst
        for _ in range(30):
            if id(current) in self.late:
                return current  # type: ignore[no-any-return]
            current = current.state.get("parent")
            if not isinstance(current, Inst):
                return None
        return None


def device_then(ctx: Context, inst: Inst, event: Any) -> int:
    """Where a module was when an event happened; it may have moved since. 0: not known."""
    order = ctx.order
    start = order.get(id(event.node), 0)
    root, dev, seen = root_of(inst), CPU, False
    for moved, bits, node, _, _ in ctx.ip.facts.get("module-move", ()):
        if root_of(moved) is root:
            if order.get(id(node), 0) < start:
                dev = bits if bits in (CPU, ACCEL) else 0
            seen = True
    if not seen:
        dev = root.state.get("dev", 0)
    return dev


def listed_in(ctx: Context, inst: Inst) -> Any:
    """The statement that keeps a module in a plain list or dict of another module."""
    for sets in ctx.ip.attr_sets.values():
        for value, stmt, _, _ in sets:
            if stmt is not None and any(m.node is inst.node for m in modules_in(value)):
                return stmt
    return None


def modules_in(value: Value, depth: int = 0) -> list[Inst]:
    """The modules in a plain list, tuple or dict."""
    found: list[Inst] = []
    if depth > 3:
        return found
    parts: list[Any] = []
    if isinstance(value, Seq) and "module" not in value.state and value.kind != "iter":
        parts = [*(value.state["items"] or []), value.state["elem"]]
    elif isinstance(value, Map):
        parts = list(value.state.values())
    for part in [o for p in parts for o in (p.options if isinstance(p, Choice) else (p,))]:
        if isinstance(part, Inst) and part.kind == "module":
            found.append(part)
        elif isinstance(part, (Seq, Map)):
            found += modules_in(part, depth + 1)
    return found


__all__ = [
    "ModuleHistory",
    "class_name",
    "device_then",
    "is_loss",
    "is_metric",
    "listed_in",
    "modules_in",
]
