"""DEV606."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import move_fix, proof

if TYPE_CHECKING:
    from ..context import Context


class TensorMovedBack(Rule):
    """A tensor that was copied to the CPU and then meets GPU tensors again.

    What it does:
        Reports an operator with a tensor that `.cpu()` brought to the host and one on the GPU.

    Why is this bad:
        "Expected all tensors to be on the same device".

    Example:
        import torch

        x = torch.ones(3, device="cuda")
        y = x.cpu()
        z = x + y

    Fix:
        import torch

        x = torch.ones(3, device="cuda")
        y = x.cpu()
        z = x.cpu() + y

    Fix safety:
        Unsafe: which of the two should move is for the author to say.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cpu.html
    """

    code = "DEV606"
    name = "tensor-moved-back"
    severity = Severity.ERROR
    kinds = ("loss-weight-on-cuda-eval-on-cpu",)
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        from torchferry.core.edit import Safety

        for cause in causes(ctx, self.name):
            what = f"`{ctx.source(cause.expr)}`" if cause.expr is not None else "a tensor"
            yield self.finding(
                ctx,
                cause.node,
                f"{what} was copied to the CPU and meets a GPU tensor here",
                evidence=proof(ctx, cause),
                help="compute on one device: copy to the host as late as possible",
                fix=move_fix(ctx, cause, cause.expr, Safety.UNSAFE),
            )
