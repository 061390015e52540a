"""DEV301."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import Tensor

from ..causes import causes
from ..rule import Rule
from ..wording import cpu_fix, proof
from ._border import waiting_borders

if TYPE_CHECKING:
    from ..context import Context


class NumpyOnCuda(Rule):
    """`.numpy()` (or a PIL conversion) of a tensor that is on the GPU.

    What it does:
        Reports `.numpy()` on a tensor that is on the GPU for certain, or that was made with
        `requires_grad=True`. In a program that is all on the CPU, `.numpy()` on the output of a
        model is a note: it fails after a migration.

    Why is this bad:
        "can't convert cuda:0 device type tensor to numpy": numpy sees host memory only.

    Example:
        import torch

        x = torch.ones(3, device="cuda")
        print(x.numpy())

    Fix:
        import torch

        x = torch.ones(3, device="cuda")
        print(x.cpu().numpy())

    Fix safety:
        Safe: `.cpu()` of a CPU tensor is the tensor itself.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
    """

    code = "DEV301"
    name = "numpy-on-cuda"
    severity = Severity.ERROR
    kinds = ("rl-numpy-boundary", "pil-on-cuda")
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            what = f"`{ctx.source(cause.expr)}`" if cause.expr is not None else "the tensor"
            yield self.finding(
                ctx,
                cause.node,
                f"{what} is on the GPU, where numpy cannot read it",
                evidence=proof(ctx, cause),
                help="copy it to the host first: `.cpu()`",
                fix=cpu_fix(ctx, cause.expr),
            )
        for event in ctx.methods("numpy"):
            if _holds_gradient(ctx, event):
                yield self.finding(
                    ctx,
                    event.node,
                    "the tensor requires grad: numpy() refuses it, on every device",
                    evidence=ctx.evidence(event.func.receiver),
                    help="`.detach()` before `.numpy()`",
                )
        for node, expr, _, reason in waiting_borders(ctx, explicit=True):
            yield self.finding(
                ctx,
                node,
                f"`{ctx.source(node)}` works on the CPU only: {reason}",
                severity=Severity.NOTE,
                help="`.cpu()` before `.numpy()` costs nothing on the CPU",
                fix=cpu_fix(ctx, expr),
            )


def _holds_gradient(ctx: Context, event: Any) -> bool:
    """Whether `.numpy()` is called on a leaf that requires grad, or on a moved copy of one."""
    if not isinstance(event.func.receiver, Tensor) or event.graph_off or event.kwargs:
        return False
    expr = getattr(event.node.func, "value", None)
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
        if expr.func.attr not in ("cpu", "to", "cuda"):
            break
        expr = expr.func.value
    if isinstance(expr, ast.Name):
        bound = [
            n for n in ctx.nodes.get(ast.Name, [])
            if n.id == expr.id and isinstance(n.ctx, ast.Store)
        ]  # fmt: skip
        stmt = ctx.statement(bound[0]) if len(bound) == 1 else None
        expr = stmt.value if isinstance(stmt, ast.Assign) else None
    return isinstance(expr, ast.Call) and any(
        k.arg == "requires_grad" and isinstance(k.value, ast.Constant) and k.value.value is True
        for k in expr.keywords
    )
