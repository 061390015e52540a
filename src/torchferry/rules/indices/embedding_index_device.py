"""DEV703."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import move_fix, proof

if TYPE_CHECKING:
    from ..context import Context


class EmbeddingIndexDevice(Rule):
    """Indices on the CPU for an embedding on the GPU.

    What it does:
        Reports the call of an embedding on the GPU with indices that were made, sampled or kept on
        the CPU.

    Why is this bad:
        The lookup wants its indices on the device of the table.

    Example:
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, freq):
                super().__init__()
                self.emb = nn.Embedding(5, 2)
                self.freq = freq

            def forward(self, x):
                noise = torch.multinomial(self.freq, 3)
                return self.emb(x).sum() - self.emb(noise).sum()

        Net(torch.rand(5)).to("cuda")(torch.tensor([1], device="cuda"))

    Fix:
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, freq):
                super().__init__()
                self.emb = nn.Embedding(5, 2)
                self.register_buffer("freq", freq)

            def forward(self, x):
                noise = torch.multinomial(self.freq, 3)
                return self.emb(x).sum() - self.emb(noise).sum()

        Net(torch.rand(5)).to("cuda")(torch.tensor([1], device="cuda"))

    Fix safety:
        Safe: the indices are moved to where the table is.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
    """

    code = "DEV703"
    name = "embedding-index-device"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            what = f"`{ctx.source(cause.expr)}`" if cause.expr is not None else "the indices"
            yield self.finding(
                ctx,
                cause.node,
                f"{what}: indices on the CPU for an embedding on the GPU",
                evidence=proof(ctx, cause),
                help="move the indices, or make them on the device",
                fix=move_fix(ctx, cause, cause.expr),
            )
