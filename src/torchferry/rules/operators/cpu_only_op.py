"""DEV721."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, Ext, Method, Tensor

from ..rule import Rule
from ..wording import cpu_fix

if TYPE_CHECKING:
    from ..context import Context

#: implemented for the CPU only (torch 2.6 to 2.13)
_FUNCTIONS = ("torch.histogram", "torch.histogramdd")
_METHODS = ("histogram", "apply_", "map_", "map2_")


class CpuOnlyOp(Rule):
    """An operator that is implemented for the CPU only.

    What it does:
        Reports `torch.histogram`, `torch.histogramdd`, `Tensor.apply_` and `Tensor.map_`: an error
        on a GPU tensor, a note in a program that is all on the CPU.

    Why is this bad:
        "Could not run 'aten::histogram.bin_ct' with arguments from the 'CUDA' backend".

    Example:
        import torch

        x = torch.rand(10, device="cuda")
        hist, edges = torch.histogram(x, 4)

    Fix:
        import torch

        x = torch.rand(10, device="cuda")
        hist, edges = torch.histogram(x.cpu(), 4)

    Fix safety:
        Safe: `.cpu()` of a CPU tensor is the tensor itself.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.histogram.html
    """

    code = "DEV721"
    name = "cpu-only-op"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in [*ctx.calls(*_FUNCTIONS), *ctx.methods(*_METHODS)]:
            tensor, expr, name = _subject(event)
            if not isinstance(tensor, Tensor):
                continue
            if tensor.dev == ACCEL:
                level = Severity.ERROR
            elif tensor.dev == 1 and not ctx.cuda_certain and not event.exploring:
                if isinstance(expr, ast.Call) and getattr(expr.func, "attr", "") == "cpu":
                    continue  # it is brought to the host already
                level = Severity.NOTE
            else:
                continue
            yield self.finding(
                ctx,
                event.node,
                f"{name} is implemented for the CPU only",
                severity=level,
                evidence=ctx.evidence(tensor),
                help="copy the tensor to the host first, or use another operator "
                "(torch.histc for histogram)",
                fix=cpu_fix(ctx, expr) if not name.endswith("_") else None,
            )


def _subject(event: Any) -> tuple[Any, Any, str]:
    func = event.func
    if isinstance(func, Method):
        return func.receiver, event.node.func.value, func.name
    if isinstance(func, Ext) and event.args:
        return event.args[0][0], event.args[0][1], func.name
    return None, None, ""
