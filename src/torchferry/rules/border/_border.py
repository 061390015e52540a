"""Borders that wait for a GPU: conversions that only work for CPU tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchferry.flow.values import CPU, MODEL, Func, Kept, OfModule, Tensor

if TYPE_CHECKING:
    from ..context import Context


def waiting_borders(ctx: Context, explicit: bool) -> Iterator[tuple[Any, Any, Tensor, str]]:
    """(call, expression, tensor, why it will be on the GPU) in a program that is all on the CPU."""
    if ctx.cuda_certain:
        return
    seen: set[int] = set()
    for node, what, value, expr, frame, _, exploring in ctx.ip.facts.get("border", ()):
        if exploring or frame.unit.doc is not ctx.doc or not isinstance(value, Tensor):
            continue
        if (what in ("numpy()", "PIL")) is not explicit or id(node) in seen:
            continue
        if what.startswith(("pack_padded", "a generator")):
            continue
        func = frame.func
        if isinstance(func, Func) and func.cls is not None and func.cls.kind == "function":
            continue  # a rule of its own
        reason = _reason(ctx, value, func)
        if reason:
            seen.add(id(node))
            yield node, expr, value, reason


def _reason(ctx: Context, value: Tensor, func: Any) -> str:
    chain = ctx.chain(value)
    if value.dev != CPU or any(w.text.startswith("moved to the CPU") for w in chain):
        return ""
    if value.flags & MODEL or any(isinstance(w, OfModule) for w in chain):
        return "it comes from a model, which will be on the GPU"
    if not isinstance(func, Func) or not chain:
        return ""
    if any(isinstance(w, Kept) for w in chain) or ctx.function(chain[0].node) is not func.node:
        return "the function is given it, and may be given a GPU tensor"
    return ""
