"""DEV505."""

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


class MetricDevice(Rule):
    """A metric whose state is on the CPU while predictions on the GPU reach it.

    What it does:
        Reports the constructor of a metric module that was never moved and is updated with tensors
        on the GPU.

    Why is this bad:
        The state of a metric is the state of a module: only `metric.to(device)` moves it.

    Example:
        import torch
        from torch import nn

        class Accuracy(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("hits", torch.zeros(()))

            def update(self, pred, target):
                self.hits += (pred == target).sum()

            def compute(self):
                return self.hits

        metric = Accuracy()
        y = torch.ones(3, device="cuda")
        metric.update(y, y)

    Fix:
        import torch
        from torch import nn

        class Accuracy(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("hits", torch.zeros(()))

            def update(self, pred, target):
                self.hits += (pred == target).sum()

            def compute(self):
                return self.hits

        metric = Accuracy().to("cuda")
        y = torch.ones(3, device="cuda")
        metric.update(y, y)

    Fix safety:
        Safe: the metric is moved where it is made.

    References:
        https://lightning.ai/docs/torchmetrics/stable/pages/overview.html#metrics-and-devices
    """

    code = "DEV505"
    name = "metric-device"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                f"the metric {module_words(cause)} keeps its state on the CPU",
                evidence=proof(ctx, cause),
                help="move the metric to the device",
                fix=construct_fix(ctx, cause),
            )
