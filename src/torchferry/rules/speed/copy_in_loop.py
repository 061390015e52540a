"""DEV907."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, CPU, Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class CopyInLoop(Rule):
    """The same tensor, copied to the device in every step of a loop.

    What it does:
        Notes `.to(device)` of a CPU tensor in a loop that does not change the tensor.

    Why is this bad:
        Each step copies the same bytes again, and waits for it.

    Example:
        import torch

        table = torch.ones(100)
        for _ in range(10):
            y = table.to("cuda") * 2

    Fix:
        import torch

        table = torch.ones(100).to("cuda")
        for _ in range(10):
            y = table * 2

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    """

    code = "DEV907"
    name = "copy-in-loop"
    severity = Severity.NOTE
    kinds = ("repeated-copy", "hidden-per-step-copy")

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.methods("to", "cuda"):
            tensor = event.func.receiver
            if not isinstance(tensor, Tensor) or tensor.dev != CPU or event.exploring:
                continue
            if not isinstance(event.result, Tensor) or event.result.dev != ACCEL:
                continue
            loop = ctx.loop(event.node)
            receiver = getattr(event.node.func, "value", None)
            if loop is None or not isinstance(receiver, ast.Name):
                continue
            if receiver.id not in _bound(loop) and _same_function(ctx, receiver):
                yield self.finding(
                    ctx,
                    event.node,
                    f"`{receiver.id}` does not change in the loop, but is copied in every step",
                    help="move it once, before the loop",
                )


def _bound(loop: Any) -> set[str]:
    names = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _same_function(ctx: Context, name: ast.Name) -> bool:
    scope = ctx.function(name) or ctx.tree
    return any(
        isinstance(n, ast.Name) and n.id == name.id and isinstance(n.ctx, ast.Store)
        for n in ast.walk(scope)
    )
