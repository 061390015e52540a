"""DEV810."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding
from torchferry.flow.values import Const

from ..rule import Rule
from .default_device_generator import LOADERS, SETTERS, sets_cuda

if TYPE_CHECKING:
    from ..context import Context


class DefaultDeviceLeak(Rule):
    """A global default of the GPU that reaches into DataLoader workers.

    What it does:
        Reports `torch.set_default_tensor_type(torch.cuda.FloatTensor)` and
        `torch.set_default_device("cuda")` in a program whose DataLoader has workers.

    Why is this bad:
        The transforms of the data set then make GPU tensors in forked processes: "Cannot
        re-initialize CUDA in forked subprocess". And not every factory follows the default.

    Example:
        import torch
        from torch.utils.data import DataLoader

        def load(data):
            torch.set_default_tensor_type(torch.cuda.FloatTensor)
            return DataLoader(data, num_workers=2)

    Fix:
        import torch
        from torch.utils.data import DataLoader

        def load(data):
            return DataLoader(data, num_workers=2)

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.set_default_device.html
    """

    code = "DEV810"
    name = "default-device-leak"
    word = "set_default"

    def check(self, ctx: Context) -> Iterable[Finding]:
        loaders = [e for e in ctx.calls(*LOADERS) if workers(e)]
        for event in ctx.calls(*SETTERS):
            if loaders and sets_cuda(event):
                yield self.finding(
                    ctx,
                    event.node,
                    "the global default reaches the workers of the DataLoader: they would make "
                    "GPU tensors after a fork",
                    evidence=[ctx.step(loaders[0].node, "the workers are asked for here")],
                    help="set no global default; move the batches in the loop",
                )


def workers(event: Any) -> int:
    """The number of worker processes of a loader, where it is known; else 0."""
    given = event.kwargs.get("num_workers")
    value = given[0] if given is not None else None
    known = isinstance(value, Const) and isinstance(value.value, int)
    return value.value if known else 0  # type: ignore[union-attr]
