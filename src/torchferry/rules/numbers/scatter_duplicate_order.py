"""DEV740."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class ScatterDuplicateOrder(Rule):
    """scatter_ with indices that may name a place twice.

    What it does:
        Notes `scatter_` (without a reduction) of a tensor whose index was clamped or clipped, or
        computed from coordinates (`row * width + column`), so that several values may go to one
        place.

    Why is this bad:
        Which value wins is not defined: on the CPU it is mostly the last, on a GPU any.

    Example:
        import torch

        ids = torch.tensor([[0, 3, -1]])
        value = (ids >= 0).float()
        out = torch.zeros(1, 5).scatter_(1, ids.clamp(min=0), value)

    Fix:
        import torch

        ids = torch.tensor([[0, 3, -1]])
        value = (ids >= 0).float()
        out = torch.zeros(1, 5).scatter_reduce_(1, ids.clamp(min=0), value, reduce="amax")

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.scatter_.html
    """

    code = "DEV740"
    name = "scatter-duplicate-order"
    severity = Severity.NOTE
    word = "scatter"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.methods("scatter_", "scatter"):
            if len(event.args) < 3 or "reduce" in event.kwargs or event.exploring:
                continue
            index = event.args[1][1]
            if not isinstance(event.args[2][0], Tensor) or index is None:
                continue
            if _may_repeat(_meant(ctx, index)):
                yield self.finding(
                    ctx,
                    event.node,
                    f"`{ctx.source(index)}` may name a place twice: which value wins differs "
                    "between CPU and GPU",
                    help="remove duplicates, or use scatter_reduce_ with amax or sum",
                )


def _meant(ctx: Context, index: Any) -> Any:
    """The expression; what a name was bound to last before it."""
    if not isinstance(index, ast.Name):
        return index
    scope = ctx.function(index)
    bound = [
        stmt.value for stmt in ctx.nodes.get(ast.Assign, [])
        if ctx.function(stmt) is scope and stmt.lineno < index.lineno
        and any(isinstance(t, ast.Name) and t.id == index.id for t in stmt.targets)
    ]  # fmt: skip
    return bound[-1] if bound else index


def _may_repeat(index: Any) -> bool:
    text = ast.unparse(index)
    if any(word in text for word in (".clamp", ".clip", "% ", ".remainder(")):
        return True
    return isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add) and any(
        isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult)
        for side in (index.left, index.right)
    )  # fmt: skip
