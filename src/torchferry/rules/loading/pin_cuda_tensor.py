"""DEV952."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, Const, Inst, Seq, Tensor

from ..context import tensors_of
from ..rule import Rule
from .cuda_in_dataset_workers import _gpu_places

if TYPE_CHECKING:
    from ..context import Context


class PinCudaTensor(Rule):
    """Pinning a tensor that is on the GPU.

    What it does:
        Reports `.pin_memory()` of a GPU tensor, and `DataLoader(pin_memory=True)` over a data set
        whose items are on the GPU.

    Why is this bad:
        "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned".

    Example:
        import torch

        x = torch.ones(3, device="cuda").pin_memory()

    Fix:
        import torch

        x = torch.ones(3).pin_memory().to("cuda", non_blocking=True)

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.pin_memory.html
    """

    code = "DEV952"
    name = "pin-cuda-tensor"
    severity = Severity.ERROR
    word = "pin_memory"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.methods("pin_memory"):
            tensor = event.func.receiver
            if isinstance(tensor, Tensor) and tensor.dev == ACCEL:
                yield self.finding(
                    ctx,
                    event.node,
                    "the tensor is on the GPU: only CPU memory can be pinned",
                    evidence=ctx.evidence(tensor),
                    help="pin on the host, then move with non_blocking=True",
                )
        places = {id(cls): node for node, cls, _ in _gpu_places(ctx)}
        for event in ctx.calls("torch.utils.data.DataLoader"):
            given = event.kwargs.get("pin_memory")
            if given is None or not isinstance(given[0], Const) or given[0].value is not True:
                continue
            data: Any = event.args[0][0] if event.args else event.kwargs.get("dataset", (None,))[0]
            node = places.get(id(getattr(data, "cls", None)))
            items = data.state.get("items") if isinstance(data, Inst) else None
            held = items if items is not None else [data] if isinstance(data, (Seq, Tensor)) else []
            on_gpu = any(t.dev == ACCEL for v in held for t in tensors_of(v))
            if node is not None or on_gpu:
                steps = [ctx.step(node, "the data set moves to the GPU here")] if node else []
                yield self.finding(
                    ctx,
                    event.node,
                    "the loader pins items that are on the GPU already",
                    evidence=steps,
                    help="keep the data set on the host, or drop pin_memory",
                )
