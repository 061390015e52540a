"""DEV704."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import cpu_fix, proof

if TYPE_CHECKING:
    from ..context import Context


class PackedLengthsOnCuda(Rule):
    """Lengths for pack_padded_sequence that are on the GPU.

    What it does:
        Reports `pack_padded_sequence` with lengths on the GPU.

    Why is this bad:
        "'lengths' argument should be a 1D CPU int64 tensor": the lengths are the one part of a
        batch that stays on the host.

    Example:
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence

        x = torch.ones(3, 2, 1, device="cuda")
        lengths = torch.tensor([3, 2], device="cuda")
        pack_padded_sequence(x, lengths)

    Fix:
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence

        x = torch.ones(3, 2, 1, device="cuda")
        lengths = torch.tensor([3, 2], device="cuda")
        pack_padded_sequence(x, lengths.cpu())

    Fix safety:
        Safe: `.cpu()` of a CPU tensor is the tensor itself.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html
    """

    code = "DEV704"
    name = "packed-lengths-on-cuda"
    severity = Severity.ERROR
    fixable = True
    word = "pack_padded_sequence"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                "the lengths are on the GPU; pack_padded_sequence wants them on the CPU",
                evidence=proof(ctx, cause),
                help="leave the lengths on the host, or give `lengths.cpu()`",
                fix=cpu_fix(ctx, cause.expr),
            )
