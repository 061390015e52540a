"""Index meetings that wait for a GPU: plain objects keep one side, callers give the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchferry.flow.values import Kept

if TYPE_CHECKING:
    from ..context import Context


def waiting_indices(ctx: Context, ops: frozenset[str]) -> Iterator[Any]:
    """Meetings of these operators where the data is an attribute and the index an argument."""
    if ctx.cuda_certain:
        return
    for meeting in ctx.ip.meetings:
        if meeting.op not in ops or meeting.unit.doc is not ctx.doc:
            continue
        (base, _), *others = meeting.parties[0]
        kept = next((w for w in ctx.chain(base) if isinstance(w, Kept)), None)
        if kept is None or kept.inst.kind == "module" or kept.inst.kind == "dataset":
            continue
        if _argument(ctx, meeting, others):
            yield meeting


def _argument(ctx: Context, meeting: Any, others: list[Any]) -> bool:
    function = ctx.function(meeting.node)
    for _, expr in others:
        if expr is None or function is None:
            continue
        names = {a.arg for a in function.args.args}
        import ast

        if any(isinstance(n, ast.Name) and n.id in names - {"self"} for n in ast.walk(expr)):
            return True
    return False
