"""Where values pass to the host for good, and what is kept there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .graph import HARD, HOST_NODE
from .join import UNSURE_TENSOR
from .operands import parts_of, tensors_in
from .operators import live
from .values import ACCEL, BATCHED, Batch, Map, Seq, Tensor, Value

if TYPE_CHECKING:
    from .interp import Interp


BORDER = 2  #: `.cpu()` at a border to the host

SINK = 60  #: a dataset that would hold device tensors


def border_cost(ip: Interp) -> int:
    """What crosses to the host crosses somewhere: the place matters little."""
    return BORDER + ip.weight // 4


def border(ip: Interp, node: Any, value: Value, expr: Any, what: str) -> None:
    """A value passes to the host at `expr`: a device tensor needs `.cpu()` there."""
    kind = type(value)
    if kind is Tensor or kind is Batch:
        if not ip.migrating:
            if kind is Tensor:
                value = live(value)  # type: ignore[arg-type]
            if value.dev == ACCEL and not _unsure(value):  # type: ignore[attr-defined]
                ip.clash("border", node, what, [value, expr])
            else:
                ip.note("border", node, what, value, expr, ip.frame, ip.stack, ip.exploring)
        if kind is Batch or _unsure(value) or value.flags & BATCHED:  # type: ignore
            return
        cost = border_cost(ip)
        var = ip.graph.find(value.var)  # type: ignore[attr-defined]
        ip.graph.edge(var, HOST_NODE, cost, 0, expr, ip.frame.unit, "border:" + what)
    elif kind is Seq:
        _border_of_seq(ip, node, value, expr, what)  # type: ignore[arg-type]
    elif kind is Map:
        for part in value.state.values():  # type: ignore[attr-defined]
            if isinstance(part, Tensor):
                ip.graph.want_host(ip.graph.find(part.var), HARD // 100, "border of a dict")


def _unsure(value: Any) -> bool:
    return bool(type(value) is Tensor and value.flags & UNSURE_TENSOR)


def _border_of_seq(ip: Interp, node: Any, seq: Seq, expr: Any, what: str) -> None:
    items = seq.state["items"]
    display = None
    if items is not None and isinstance(expr, (ast.Tuple, ast.List)):
        display = expr.elts if len(expr.elts) == len(items) else None
    if display is not None:
        for item, shown in zip(items, display, strict=False):
            border(ip, node, item, shown, what)
        return
    parts = [v for v, _ in parts_of(seq, None)]
    graph = ip.graph
    for part in parts:
        if isinstance(part, Tensor):
            if not ip.migrating and part.dev == ACCEL and not _unsure(part):
                ip.clash("border-list", node, what, [part, expr])
            sure = all(isinstance(p, Tensor) and not _unsure(p) for p in parts)
            cost = border_cost(ip) if sure and expr is not None else HARD // 100
            reason = "border-list:" + what
            graph.edge(
                graph.find(part.var), HOST_NODE, cost, 0, expr if sure else None,
                ip.frame.unit, reason,
            )  # fmt: skip
        elif isinstance(part, Seq):
            for tensor, _ in tensors_in(ip, [(part, None)]):
                graph.want_host(graph.find(tensor.var), HARD // 100, "nested list at a border")


def sink(ip: Interp, value: Value, expr: Any, what: str) -> None:
    """A value is kept by something that stays on the host (a dataset)."""
    graph = ip.graph
    for tensor, part in tensors_in(ip, [(value, expr)]):
        reason = "sink:" + what
        graph.edge(graph.find(tensor.var), HOST_NODE, SINK, 0, part, ip.frame.unit, reason)
