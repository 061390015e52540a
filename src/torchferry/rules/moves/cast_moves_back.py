"""DEV604."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Edit, Fix
from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, Tensor

from ..causes import causes
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context

_CASTS = {
    "FloatTensor": "float", "DoubleTensor": "double", "HalfTensor": "half", "LongTensor": "long",
    "IntTensor": "int", "ShortTensor": "short", "CharTensor": "char", "ByteTensor": "byte",
    "BoolTensor": "bool",
}  # fmt: skip


class CastMovesBack(Rule):
    """A cast that moves a GPU tensor back to the CPU.

    What it does:
        Reports `.type(torch.FloatTensor)` and `.type_as(cpu_tensor)` of a tensor that is on the
        GPU.

    Why is this bad:
        `torch.FloatTensor` is the CPU's float type: the cast changes the device as well.

    Example:
        import torch

        x = torch.ones(3, dtype=torch.long, device="cuda")
        y = x.type(torch.FloatTensor)

    Fix:
        import torch

        x = torch.ones(3, dtype=torch.long, device="cuda")
        y = x.float()

    Fix safety:
        Safe: the same values and dtype, on the tensor's own device.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.type.html
    """

    code = "DEV604"
    name = "cast-moves-back"
    fixable = True
    word = "type"

    def check(self, ctx: Context) -> Iterable[Finding]:
        certain = {id(c.node): c for c in causes(ctx, self.name)}
        seen: set[int] = set()
        for event in ctx.methods("type", "type_as"):
            tensor, result = event.func.receiver, event.result
            if not isinstance(tensor, Tensor) or not isinstance(result, Tensor):
                continue
            if tensor.dev != ACCEL or result.dev != 1 or id(event.node) in seen:
                continue
            seen.add(id(event.node))
            cause = certain.get(id(event.node))
            yield self.finding(
                ctx,
                event.node,
                f"`{ctx.source(event.node)}` moves the tensor back to the CPU",
                severity=Severity.ERROR if cause else Severity.WARNING,
                evidence=proof(ctx, cause) if cause else ctx.evidence(tensor),
                help="change the dtype only: `.float()`, `.to(torch.float32)`",
                fix=_fix(ctx, event.node),
            )


def _fix(ctx: Context, call: Any) -> Fix | None:
    if not isinstance(call.func, ast.Attribute) or len(call.args) != 1 or call.keywords:
        return None
    last = ctx.source(call.args[0]).strip("\"'").rpartition(".")[2]
    name = _CASTS.get(last)
    if call.func.attr != "type" or name is None:
        return None
    end = ctx.doc.span(call).end
    start = ctx.doc.span(call.func).end
    if not ctx.doc.text[:start].endswith(".type") or "#" in ctx.doc.text[start:end]:
        return None
    return Fix(f"cast with `.{name}()`", (Edit(start - len("type"), end, f"{name}()"),))
