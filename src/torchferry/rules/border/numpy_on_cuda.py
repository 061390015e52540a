"""DEV301."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import cpu_fix, proof
from ._border import waiting_borders

if TYPE_CHECKING:
    from ..context import Context


class NumpyOnCuda(Rule):
    """`.numpy()` (or a PIL conversion) of a tensor that is on the GPU.

    What it does:
        Reports `.numpy()` on a tensor that is on the GPU for certain. In a program that is all on
        the CPU, `.numpy()` on the output of a model is a note: it fails after a migration.

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
        for node, expr, _, reason in waiting_borders(ctx, explicit=True):
            yield self.finding(
                ctx,
                node,
                f"`{ctx.source(node)}` works on the CPU only: {reason}",
                severity=Severity.NOTE,
                help="`.cpu()` before `.numpy()` costs nothing on the CPU",
                fix=cpu_fix(ctx, expr),
            )
