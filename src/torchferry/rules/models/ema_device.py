"""DEV512."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context


class EmaDevice(Rule):
    """Copies of a model's weights that are taken before the model is moved.

    What it does:
        Reports shadow weights, snapshots and averages that are copied from parameters on the CPU
        and later meet the same model on the GPU.

    Why is this bad:
        A copy is a tensor of its own: it stays where it was made.

    Example:
        import torch
        from torch import nn

        net = nn.Linear(2, 1)
        shadow = {n: p.detach().clone() for n, p in net.named_parameters()}
        net.to("cuda")
        for n, p in net.named_parameters():
            shadow[n].mul_(0.9).add_(p, alpha=0.1)

    Fix:
        import torch
        from torch import nn

        net = nn.Linear(2, 1)
        net.to("cuda")
        shadow = {n: p.detach().clone() for n, p in net.named_parameters()}
        for n, p in net.named_parameters():
            shadow[n].mul_(0.9).add_(p, alpha=0.1)

    Fix safety:
        No automatic fix: statements change their order.

    References:
        https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema
    """

    code = "DEV512"
    name = "ema-device"
    severity = Severity.ERROR

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                "the weights are copied before the model is moved: the copies stay on the CPU",
                evidence=proof(ctx, cause),
                help="move the model first, then copy its weights",
            )
