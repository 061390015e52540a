"""DEV762."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding
from torchferry.flow.values import CPU, Func, Inst

from ..context import tensors_of
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class TraceDeviceConstant(Rule):
    """A device that `torch.jit.trace` freezes into the graph.

    What it does:
        Reports tracing with an example on the CPU of a module whose forward asks its input for the
        device (`device=x.device`, `.to(x.device)`), and those places.

    Why is this bad:
        Tracing records the device of that moment as a constant: the traced module fails, or
        computes on the CPU, when it is moved.

    Example:
        import torch
        from torch import nn

        class Shift(nn.Module):
            def forward(self, x):
                return x + torch.ones(2, device=x.device)

        traced = torch.jit.trace(Shift(), torch.zeros(3, 2))
        traced.to("cuda")

    Fix:
        import torch
        from torch import nn

        class Shift(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("step", torch.ones(2))

            def forward(self, x):
                return x + self.step

        traced = torch.jit.trace(Shift(), torch.zeros(3, 2))
        traced.to("cuda")

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.jit.trace.html
    """

    code = "DEV762"
    name = "trace-device-constant"
    word = "trace"

    def check(self, ctx: Context) -> Iterable[Finding]:
        if not ctx.cuda_certain:
            return
        for event in ctx.calls("torch.jit.trace", "torch.jit.trace_module"):
            subject = event.args[0][0] if event.args else None
            example = [t for v, _, _ in event.args[1:2] for t in tensors_of(v)]
            if not example or any(t.dev != CPU for t in example):
                continue
            frozen = _device_places(ctx, subject)
            for node in frozen:
                yield self.finding(
                    ctx,
                    node,
                    "tracing freezes this device into the graph",
                    evidence=[ctx.step(event.node, "traced with an example on the CPU here")],
                    help="keep the constant in a buffer",
                )
            if frozen:
                yield self.finding(
                    ctx,
                    event.node,
                    "traced with an example on the CPU: the graph keeps that device",
                    evidence=[ctx.step(frozen[0], "the device is asked for here")],
                    help="trace with an example on the target device, or keep buffers",
                )


def _device_places(ctx: Context, subject: Any) -> list[ast.Call]:
    func: Any = None
    if isinstance(subject, Inst) and subject.cls is not None:
        func = subject.cls.find("forward")
    elif isinstance(subject, Func):
        func = subject
    if not isinstance(func, Func) or func.unit.doc is not ctx.doc:
        return []
    found = []
    for node in ast.walk(func.node):
        if not isinstance(node, ast.Call):
            continue
        given = [k.value for k in node.keywords if k.arg == "device"]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            given += node.args[:1]
        if any(isinstance(g, ast.Attribute) and g.attr == "device" for g in given):
            found.append(node)
    return found
