"""DEV504."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import move_fix, proof
from .model_not_moved import construct_fix, module_words

if TYPE_CHECKING:
    from ..causes import Cause
    from ..context import Context


class LossWeightOnCpu(Rule):
    """Class weights of a loss that are on the CPU.

    What it does:
        Reports a loss of torch.nn that was given a tensor (`weight`, `pos_weight`) on the CPU and
        meets predictions on the GPU.

    Why is this bad:
        The weight is a buffer of the loss, and the loss was not moved.

    Example:
        import torch
        from torch import nn

        criterion = nn.CrossEntropyLoss(weight=torch.ones(3))
        out = torch.randn(2, 3, device="cuda")
        criterion(out, torch.tensor([0, 1], device="cuda"))

    Fix:
        import torch
        from torch import nn

        criterion = nn.CrossEntropyLoss(weight=torch.ones(3)).to("cuda")
        out = torch.randn(2, 3, device="cuda")
        criterion(out, torch.tensor([0, 1], device="cuda"))

    Fix safety:
        Safe: the loss is moved where it is made.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    """

    code = "DEV504"
    name = "loss-weight-on-cpu"
    severity = Severity.ERROR
    kinds = ("loss-weight-on-cuda-eval-on-cpu",)
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                f"the weight of {_loss(cause)} is on the CPU, its input on the GPU",
                evidence=proof(ctx, cause),
                help="move the loss, or its weight, to the device",
                fix=construct_fix(ctx, cause) or move_fix(ctx, cause, cause.expr),
            )


def _loss(cause: Cause) -> str:
    return module_words(cause) if cause.module is not None else "the loss"
