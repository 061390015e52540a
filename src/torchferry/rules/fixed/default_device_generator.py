"""DEV809."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.moves import device_bits
from torchferry.flow.values import ACCEL, Const, Seq, TypeName, truth

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

LOADERS = ("torch.utils.data.DataLoader",)
_SPLITS = tuple(
    f"torch.utils.data.{name}"
    for name in ("random_split", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler")
)
SETTERS = ("torch.set_default_device", "torch.set_default_tensor_type")


class DefaultDeviceGenerator(Rule):
    """A global default device and a DataLoader that shuffles.

    What it does:
        Reports `torch.set_default_device("cuda")` (or a CUDA default tensor type) in a program
        with `DataLoader(shuffle=True)` or `random_split` without a generator, and that call.

    Why is this bad:
        The sampler's generator is on the CPU, its `randperm` follows the default device:
        "Expected a 'cuda' device type for generator but found 'cpu'".

    Example:
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        torch.set_default_device("cuda")
        data = TensorDataset(torch.ones(4, 1))
        for (x,) in DataLoader(data, shuffle=True):
            print(x)

    Fix:
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.ones(4, 1))
        for (x,) in DataLoader(data, shuffle=True):
            print(x.to("cuda"))

    Fix safety:
        No automatic fix.

    References:
        https://github.com/pytorch/pytorch/issues/44714
    """

    code = "DEV809"
    name = "default-device-generator"
    word = "set_default"

    def check(self, ctx: Context) -> Iterable[Finding]:
        setters = [e for e in ctx.calls(*SETTERS) if sets_cuda(e)]
        if not setters:
            return
        loaders = [e for e in ctx.calls(*LOADERS) if _shuffles(e)]
        loaders += [e for e in ctx.calls(*_SPLITS) if "generator" not in e.kwargs]
        for event in loaders:
            yield self.finding(
                ctx,
                event.node,
                "this shuffles with a CPU generator while the default device is the GPU",
                severity=Severity.ERROR,
                evidence=[ctx.step(setters[0].node, "the default device is set here")],
                help="set no global default, or give generator=torch.Generator(device=...)",
            )
        for event in setters if loaders else ():
            yield self.finding(
                ctx,
                event.node,
                "a global default device, in a program that shuffles its data",
                severity=Severity.WARNING,
                evidence=[ctx.step(loaders[0].node, "shuffled here")],
                help="move models and batches with a device variable",
            )


def sets_cuda(event: Any) -> bool:
    """Whether the call makes the GPU the default."""
    value = event.args[0][0] if event.args else None
    if isinstance(value, TypeName):
        return value.cuda
    if isinstance(value, Const) and isinstance(value.value, str) and "Tensor" in value.value:
        return ".cuda." in value.value
    return device_bits(value) == ACCEL if value is not None else False


def _shuffles(event: Any) -> bool:
    given = event.kwargs.get("shuffle")
    if given is None or "generator" in event.kwargs or "sampler" in event.kwargs:
        return False
    return truth(given[0]) is True


__all__ = ["DefaultDeviceGenerator", "Seq", "sets_cuda"]
