"""DEV724."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import CPU, Const, Tensor

from ..context import tensors_of
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_COLLECTIVES = tuple(
    f"torch.distributed.{name}"
    for name in "all_reduce broadcast reduce all_gather gather scatter send recv all_to_all".split()
)


class NcclCpuTensor(Rule):
    """A tensor on the CPU in a collective of the NCCL backend.

    What it does:
        Reports the birth of a CPU tensor that is reduced, gathered or broadcast in a program whose
        process group uses NCCL.

    Why is this bad:
        "Tensors must be CUDA and dense": NCCL moves GPU memory only.

    Example:
        import torch
        import torch.distributed as dist

        dist.init_process_group("nccl")
        total = torch.tensor([1.0, 2.0])
        dist.all_reduce(total)

    Fix:
        import torch
        import torch.distributed as dist

        dist.init_process_group("nccl")
        total = torch.tensor([1.0, 2.0], device="cuda")
        dist.all_reduce(total)

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/distributed.html
    """

    code = "DEV724"
    name = "nccl-cpu-tensor"
    severity = Severity.ERROR
    word = "nccl"

    def check(self, ctx: Context) -> Iterable[Finding]:
        if not any(_nccl(e) for e in ctx.calls("torch.distributed.init_process_group")):
            return
        for event in ctx.calls(*_COLLECTIVES):
            tensor = next((t for t in _handed(event) if t.dev == CPU), None)
            if tensor is None or event.exploring:
                continue
            chain = ctx.chain(tensor)
            born = chain[0].node if chain and id(chain[0].node) in ctx.parents else event.node
            yield self.finding(
                ctx,
                born,
                "this tensor is on the CPU; NCCL reduces tensors on the GPU only",
                evidence=[ctx.step(event.node, "handed to NCCL here")],
                help="make it on the device of the rank",
            )


def _handed(event: Any) -> Iterator[Tensor]:
    """The tensors of a collective: what it sends, or the lists it fills."""
    for value, _, _ in event.args[1::-1]:
        yield from tensors_of(value)


def _nccl(event: Any) -> bool:
    value = event.args[0][0] if event.args else event.kwargs.get("backend", (None,))[0]
    return isinstance(value, Const) and str(value.value).startswith("nccl")
