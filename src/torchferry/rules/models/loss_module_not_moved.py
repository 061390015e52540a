"""DEV503."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import proof
from .model_not_moved import construct_fix, module_words

if TYPE_CHECKING:
    from ..context import Context


class LossModuleNotMoved(Rule):
    """A loss with parameters of its own that was never moved.

    What it does:
        Reports the constructor of a loss module that owns parameters or buffers and stays on the
        CPU while predictions on the GPU reach it.

    Why is this bad:
        A criterion is not part of the model: `model.to(device)` does not reach it.

    Example:
        import torch
        from torch import nn

        class CentreLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.centre = nn.Parameter(torch.zeros(3))

            def forward(self, x):
                return (x - self.centre).pow(2).mean()

        criterion = CentreLoss()
        criterion(torch.ones(2, 3, device="cuda"))

    Fix:
        import torch
        from torch import nn

        class CentreLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.centre = nn.Parameter(torch.zeros(3))

            def forward(self, x):
                return (x - self.centre).pow(2).mean()

        criterion = CentreLoss().to("cuda")
        criterion(torch.ones(2, 3, device="cuda"))

    Fix safety:
        Safe: the module is moved where it is made.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
    """

    code = "DEV503"
    name = "loss-module-not-moved"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                f"the loss {module_words(cause)} has tensors of its own and stays on the CPU",
                evidence=proof(ctx, cause),
                help="move it to the device, and give its parameters to the optimizer",
                fix=construct_fix(ctx, cause),
            )
