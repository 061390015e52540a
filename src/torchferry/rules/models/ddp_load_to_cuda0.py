"""DEV522."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


_STARTS = re.compile(
    r"init_process_group\s*\(|(DistributedDataParallel|FullyShardedDataParallel|DDP|FSDP)\s*\("
)


#: states that hold plain numbers, or tensors of the CPU
_SMALL = re.compile(r"(?i)sched|scaler|rng|random|meta_?data|history|config|args\b")


class DdpLoadToCuda0(Rule):
    """`torch.load` without `map_location` in a distributed program.

    What it does:
        Reports `torch.load` without `map_location` in a file that works with several processes.

    Why is this bad:
        Every rank loads to the device that the checkpoint was saved from, mostly cuda:0: its
        memory holds a copy for each rank.

    Example:
        import torch
        import torch.distributed as dist

        dist.init_process_group("nccl")
        state = torch.load("model.pt")

    Fix:
        import torch
        import torch.distributed as dist

        dist.init_process_group("nccl")
        state = torch.load("model.pt", map_location="cpu")

    Fix safety:
        No automatic fix: the right device is that of the rank.

    References:
        https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
    """

    code = "DEV522"
    name = "ddp-load-to-cuda0"
    word = "load"

    def check(self, ctx: Context) -> Iterable[Finding]:
        if not _STARTS.search(ctx.doc.text) or "torch_xla" in ctx.doc.text:
            return  # a library: what is saved how, its callers decide
        for event in ctx.calls("torch.load"):
            if len(event.args) > 1 or "map_location" in event.kwargs or "**" in event.kwargs:
                continue
            if "rank" in " ".join(ctx.source(e) for _, e, _ in event.args if e is not None):
                continue  # a file of its own for each rank
            if _SMALL.search(ctx.source(ctx.statement(event.node))):
                continue
            yield self.finding(
                ctx,
                event.node,
                "each rank loads to the device that the file was saved from, mostly cuda:0",
                help='give map_location="cpu", or the device of the rank',
            )
