"""DEV806."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix
from torchferry.core.finding import Finding
from torchferry.flow.values import Const

from ..devices import device_at
from ..edits import replace
from ..operators.half_on_cpu import guarded
from ..origins import is_literal_move
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_WITH_TYPE = ("torch.autocast", "torch.amp.autocast", "torch.amp.GradScaler")
_CUDA_ONLY = ("torch.cuda.amp.autocast", "torch.cuda.amp.GradScaler")


class AmpDeviceHardcoded(Rule):
    """autocast or GradScaler with "cuda" in a program that chooses its device.

    What it does:
        Reports `torch.autocast("cuda")`, `torch.cuda.amp.autocast()` and `GradScaler()` that no
        branch guards, in a program that runs on the CPU or another accelerator too.

    Why is this bad:
        Without CUDA they warn and switch themselves off: mixed precision is silently not there.

    Example:
        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)

    Fix:
        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        with torch.autocast(device.type, dtype=torch.bfloat16):
            y = torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)

    Fix safety:
        Unsafe: mixed precision is then on for other devices too.

    References:
        https://docs.pytorch.org/docs/stable/amp.html
    """

    code = "DEV806"
    name = "amp-device-hardcoded"
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        if "is_available" not in ctx.doc.text and "args.device" not in ctx.doc.text:
            return
        for event in ctx.calls(*_WITH_TYPE, *_CUDA_ONLY):
            if guarded(ctx, event.node) or "enabled" in event.kwargs:
                continue
            if _all_on_cuda(ctx, event.node):
                continue
            literal = None
            if event.func.name in _WITH_TYPE:
                value, expr = _device_type(event)
                if not isinstance(value, Const) or value.value != "cuda":
                    continue
                if not isinstance(expr, ast.Constant):
                    continue
                literal = expr
            yield self.finding(
                ctx,
                event.node,
                f"`{ctx.source(event.node)}` switches itself off on every device but CUDA",
                help="give the type of the program's device: torch.autocast(device.type)",
                fix=_fix(ctx, literal),
            )


def _all_on_cuda(ctx: Context, node: Any) -> bool:
    """Whether the block before the context moves to CUDA by name: then it means CUDA alone."""
    statement = ctx.statement(node)
    around = next(ctx.around(statement), None) if statement is not None else None
    for before in getattr(around, "body", []):
        if before is statement:
            return False
        if isinstance(before, ast.Expr) and is_literal_move(before.value):
            return True
    return False


def _device_type(event: Any) -> tuple[Any, Any]:
    given = (
        event.args[0] if event.args else event.kwargs.get("device_type", event.kwargs.get("device"))
    )
    return (given[0], given[1]) if given is not None else (None, None)


def _fix(ctx: Context, literal: Any) -> Fix | None:
    from torchferry.core.edit import Safety
    from torchferry.flow.values import Device

    if literal is None:
        return None
    name = device_at(ctx, literal)
    value = ctx.ip.frame.vars.get(name)
    if not name.isidentifier() or not isinstance(value, Device):
        return None
    edits = replace(ctx.doc, literal, f"{name}.type")
    reason = "mixed precision is then on for other devices too"
    return None if edits is None else Fix("use the device's type", edits, Safety.UNSAFE, reason)
