"""DEV101."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import move_fix, proof

if TYPE_CHECKING:
    from ..context import Context


class InputNotMoved(Rule):
    """An input that is still on the CPU when a model on the GPU is called with it.

    What it does:
        Follows each batch or tensor from where it is made to the call that uses it, and reports
        the call when the model is on the GPU and the input is not.

    Why is this bad:
        "Expected all tensors to be on the same device": the first step fails on a GPU, and no CPU
        run can show it.

    Example:
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(3, 1).to(device)
        x = torch.randn(4, 3)
        y = model(x)

    Fix:
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(3, 1).to(device)
        x = torch.randn(4, 3)
        y = model(x.to(device))

    Fix safety:
        Safe: moving a tensor to where it is used changes no number.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """

    code = "DEV101"
    name = "input-not-moved"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            what = f"`{ctx.source(cause.expr)}`" if cause.expr is not None else "an argument"
            yield self.finding(
                ctx,
                cause.node,
                f"{what} is still on the CPU, but `{ctx.source(cause.node)}` computes on the GPU",
                evidence=proof(ctx, cause),
                help="move it to the device before the call",
                fix=move_fix(ctx, cause, cause.expr),
            )
