"""DEV506."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, CPU

from ..causes import causes
from ..modules import ModuleHistory
from ..rule import Rule
from ..wording import proof
from .model_not_moved import construct_fix, module_words

if TYPE_CHECKING:
    from ..context import Context


class LayerAddedAfterMove(Rule):
    """A layer that is put into a model after the model was moved.

    What it does:
        Reports a layer on the CPU that replaces or joins the layers of a model on the GPU, when it
        is called without another move.

    Why is this bad:
        `model.to(device)` moved what was there; a layer that comes later stays on the CPU.

    Example:
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 5)).to("cuda")
        net[1] = nn.Linear(2, 3)
        net(torch.ones(1, 2, device="cuda"))

    Fix:
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 5)).to("cuda")
        net[1] = nn.Linear(2, 3).to("cuda")
        net(torch.ones(1, 2, device="cuda"))

    Fix safety:
        Safe: the layer is moved where it is made.

    References:
        https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html
    """

    code = "DEV506"
    name = "layer-added-after-move"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                f"the {module_words(cause)} that was put into the moved model is on the CPU",
                evidence=proof(ctx, cause),
                help="move the new layer too, or move the model after the change",
                fix=construct_fix(ctx, cause),
            )


__all__ = ["ACCEL", "CPU", "LayerAddedAfterMove", "ModuleHistory"]
