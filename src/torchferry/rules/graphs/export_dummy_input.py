"""DEV763."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, CPU, Inst

from ..context import tensors_of
from ..modules import device_then
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_EXPORTS = (
    "torch.onnx.export",
    "torch.export.export",
    "torch.jit.trace",
    "torch.onnx.dynamo_export",
)


class ExportDummyInput(Rule):
    """An export or trace with model and example input on two devices.

    What it does:
        Reports `torch.onnx.export`, `torch.export.export` and `torch.jit.trace` of a model on the
        GPU with an example on the CPU, or the reverse.

    Why is this bad:
        The export runs the model once, with that input.

    Example:
        import torch
        from torch import nn

        net = nn.Linear(2, 2).to("cuda")
        torch.onnx.export(net, torch.ones(1, 2), "net.onnx")

    Fix:
        import torch
        from torch import nn

        net = nn.Linear(2, 2).to("cuda")
        torch.onnx.export(net, torch.ones(1, 2, device="cuda"), "net.onnx")

    Fix safety:
        No automatic fix: exporting on the CPU may be the better way.

    References:
        https://docs.pytorch.org/docs/stable/onnx.html
    """

    code = "DEV763"
    name = "export-dummy-input"
    severity = Severity.ERROR
    word = "torch"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.calls(*_EXPORTS):
            if len(event.args) < 2:
                continue
            model = event.args[0][0]
            if not isinstance(model, Inst) or model.kind != "module":
                continue
            where = device_then(ctx, model, event)
            for tensor in tensors_of(event.args[1][0]):
                if {where, tensor.dev} == {CPU, ACCEL} and _has_tensors(model):
                    names = {CPU: "CPU", ACCEL: "GPU"}
                    yield self.finding(
                        ctx,
                        event.node,
                        f"the model is on the {names[where]}, the example input on the "
                        f"{names[tensor.dev]}",
                        evidence=ctx.evidence(tensor),
                        help="bring both to one device; exporting on the CPU is the safest",
                    )
                    break


def _has_tensors(model: Inst) -> bool:
    from torchferry.flow.module_calls import needs_device

    return needs_device(model)
