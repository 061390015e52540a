"""DEV102."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import move_fix, proof

if TYPE_CHECKING:
    from ..context import Context


class LabelNotMoved(Rule):
    """A target that is still on the CPU when the loss meets it.

    What it does:
        Reports the loss (or the function with the loss in it) that is given predictions on the GPU
        and a target on the CPU.

    Why is this bad:
        The inputs were moved, the labels forgotten: the loss fails on a GPU.

    Example:
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(3, 2).to(device)
        x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
        loss = nn.functional.cross_entropy(model(x.to(device)), y)

    Fix:
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(3, 2).to(device)
        x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))

    Fix safety:
        Safe: moving a tensor to where it is used changes no number.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """

    code = "DEV102"
    name = "label-not-moved"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            what = f"`{ctx.source(cause.expr)}`" if cause.expr is not None else "the target"
            yield self.finding(
                ctx,
                cause.node,
                f"{what} is still on the CPU, but the predictions are on the GPU",
                evidence=proof(ctx, cause),
                help="move the target where the input is moved",
                fix=move_fix(ctx, cause, cause.expr),
            )
