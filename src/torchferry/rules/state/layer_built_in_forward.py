"""DEV405."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import Func, Inst
from torchferry.torchapi.modules import CONTAINERS, PARAMETERLESS

from ..causes import causes
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context

_PREFIX = "torch.nn."


class LayerBuiltInForward(Rule):
    """A layer with parameters that is made anew in each forward.

    What it does:
        Reports the construction of a layer with parameters or running statistics in the `forward`
        of a module, when it is called right there.

    Why is this bad:
        Its parameters are fresh random numbers on the CPU in every step: never trained, never
        moved, never saved. On a GPU the call fails.

    Example:
        import torch
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                return nn.BatchNorm2d(3)(x)

        Block()(torch.ones(2, 3, 4, 4))

    Fix:
        import torch
        from torch import nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm2d(3)

            def forward(self, x):
                return self.norm(x)

        Block()(torch.ones(2, 3, 4, 4))

    Fix safety:
        No automatic fix: where the layer's sizes are known is for a person to say.

    References:
        https://docs.pytorch.org/docs/stable/notes/modules.html
    """

    code = "DEV405"
    name = "layer-built-in-forward"
    severity = Severity.WARNING

    def check(self, ctx: Context) -> Iterable[Finding]:
        certain = {id(c.node): c for c in causes(ctx, self.name)}
        for event in ctx.calls_under(_PREFIX):
            last = event.func.name.removeprefix(_PREFIX)
            func = event.frame.func
            if not isinstance(func, Func) or func.name != "forward" or func.cls is None:
                continue
            if func.cls.kind != "module" or not isinstance(event.result, Inst):
                continue
            if "." in last or last in PARAMETERLESS or last in CONTAINERS:
                continue
            if event.result.kind != "module" or id(event.node) in certain:
                continue
            if event.exploring and not _called_here(ctx, event.node):
                continue
            yield self.finding(
                ctx,
                event.node,
                f"`{ctx.source(event.node)}` is a new layer in each forward: its parameters are on "
                "the CPU, and are never trained",
                help="build it once, in __init__",
            )
        for cause in certain.values():
            yield self.finding(
                ctx,
                cause.node,
                f"`{ctx.source(cause.node)}` is made on the CPU in each forward and meets a GPU "
                "tensor",
                severity=Severity.ERROR,
                evidence=proof(ctx, cause),
                help="build it once, in __init__",
            )


def _called_here(ctx: Context, node: object) -> bool:
    import ast

    parent = ctx.parents.get(id(node))
    return isinstance(parent, ast.Call) and parent.func is node
