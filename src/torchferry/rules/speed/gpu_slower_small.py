"""DEV906."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class GpuSlowerSmall(Rule):
    """Training on one example per step.

    What it does:
        Notes a training loop that iterates over the rows of a tensor: one example, one step.

    Why is this bad:
        A step on a GPU costs the launch of its kernels, however small they are. With single
        examples it is slower than the CPU.

    Example:
        import torch
        from torch import nn

        xs, ys = torch.ones(40, 2), torch.ones(40, 1)
        net = nn.Linear(2, 1)
        for x, y in zip(xs, ys):
            (net(x) - y).pow(2).sum().backward()

    Fix:
        import torch
        from torch import nn

        xs, ys = torch.ones(40, 2), torch.ones(40, 1)
        net = nn.Linear(2, 1)
        for x, y in zip(xs.split(20), ys.split(20)):
            (net(x) - y).pow(2).mean().backward()

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """

    code = "DEV906"
    name = "gpu-slower-small"
    severity = Severity.NOTE
    word = "backward"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for node in ctx.nodes.get(ast.For, []):
            event = ctx.event_at.get(id(node.iter))
            if event is None or getattr(node.iter.func, "id", "") != "zip" or event.exploring:
                continue
            if not event.args or not all(isinstance(v, Tensor) for v, _, _ in event.args):
                continue
            if any(isinstance(a, ast.Call) for a in node.iter.args):
                continue  # split, chunk: parts, not rows
            if any(
                isinstance(n, ast.Attribute) and n.attr == "backward"
                for s in node.body for n in ast.walk(s)
            ):  # fmt: skip
                yield self.finding(
                    ctx,
                    node.iter,
                    "one example per step: on a GPU the launches cost more than the work",
                    help="train in batches, or stay on the CPU",
                )
