"""DEV812."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding
from torchferry.source.functions import parameters

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class DeviceFromParametersInForward(Rule):
    """`next(self.parameters()).device` in forward, in a program with DataParallel.

    What it does:
        Reports `next(self.parameters())` or `list(self.parameters())[0]` in the `forward` of a
        module when the file uses `DataParallel`.

    Why is this bad:
        The replicas of DataParallel have no registered parameters: StopIteration.

    Example:
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                device = next(self.parameters()).device
                return x + torch.ones(2, device=device)

        net = nn.DataParallel(Net())

    Fix:
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return x + torch.ones(2, device=x.device)

        net = nn.DataParallel(Net())

    Fix safety:
        No automatic fix.

    References:
        https://github.com/pytorch/pytorch/issues/40457
    """

    code = "DEV812"
    name = "device-from-parameters-in-forward"
    word = "DataParallel"

    def check(self, ctx: Context) -> Iterable[Finding]:
        if "DataParallel" not in ctx.doc.text.replace("DistributedDataParallel", ""):
            return
        for call in [*ctx.nodes.get(ast.Call, []), *ctx.nodes.get(ast.Subscript, [])]:
            if not _first_of_own(call):
                continue
            function = ctx.function(call)
            if getattr(function, "name", "") != "forward" or len(parameters(function)) < 2:
                continue
            yield self.finding(
                ctx,
                call,
                "a replica of DataParallel has no parameters: this raises StopIteration",
                help=f"ask the input: `{parameters(function)[1]}.device`",
            )


_OWN = ("self.parameters()", "iter(self.parameters())", "self.buffers()")


def _first_of_own(node: Any) -> bool:
    """`next(self.parameters())`, `list(self.parameters())[0]`."""
    if isinstance(node, ast.Subscript):
        held = node.value
        return (
            isinstance(held, ast.Call)
            and getattr(held.func, "id", "") in ("list", "tuple")
            and bool(held.args)
            and ast.unparse(held.args[0]) in _OWN
        )
    return getattr(node.func, "id", "") == "next" and bool(node.args) and (
        ast.unparse(node.args[0]) in _OWN
    )  # fmt: skip
