"""DEV740."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class ScatterDuplicateOrder(Rule):
    """scatter_ with indices that may name a place twice.

    What it does:
        Notes `scatter_` (without a reduction) of a tensor whose index was clamped or clipped, so
        that several values go to one place.

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
            text = ast.unparse(index)
            if any(word in text for word in (".clamp", ".clip", "% ", ".remainder(")):
                yield self.finding(
                    ctx,
                    event.node,
                    f"`{ctx.source(index)}` may name a place twice: which value wins differs "
                    "between CPU and GPU",
                    help="remove duplicates, or use scatter_reduce_ with amax or sum",
                )
