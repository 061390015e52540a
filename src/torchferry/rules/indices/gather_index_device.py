"""DEV702."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import move_fix, proof
from ._index import waiting_indices

if TYPE_CHECKING:
    from ..context import Context

_OPS = frozenset("gather index_select scatter scatter_add take take_along_dim".split())


class GatherIndexDevice(Rule):
    """gather, scatter or index_select with data and index on two devices.

    What it does:
        Reports these operators when one of their tensors is on the CPU and another on the GPU. In
        a program that is all on the CPU, data that an object keeps and an index that it is given
        are a note.

    Why is this bad:
        Unlike `x[index]`, these operators want the index on the device of the data.

    Example:
        import torch

        x = torch.ones(2, 3, device="cuda")
        print(x.gather(1, torch.tensor([[0], [1]])))

    Fix:
        import torch

        x = torch.ones(2, 3, device="cuda")
        print(x.gather(1, torch.tensor([[0], [1]], device="cuda")))

    Fix safety:
        Safe: the index is moved to where the data is.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.gather.html
    """

    code = "DEV702"
    name = "gather-index-device"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            what = f"`{ctx.source(cause.expr)}`" if cause.expr is not None else "a tensor"
            yield self.finding(
                ctx,
                cause.node,
                f"{what} is on the CPU: {cause.clash.op} wants data and index on one device",
                evidence=proof(ctx, cause),
                help="move it to the device of the other one",
                fix=move_fix(ctx, cause, cause.expr),
            )
        for meeting in waiting_indices(ctx, _OPS):
            yield self.finding(
                ctx,
                meeting.node,
                f"{meeting.op} fails once the index it is given is on a GPU: the data stays on "
                "the CPU",
                severity=Severity.NOTE,
                help="keep the data on the device of the model",
            )
