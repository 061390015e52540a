"""DEV901."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, Ext, Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class SyncInLoop(Rule):
    """A round trip to the host in every step of a loop.

    What it does:
        Reports `f(x.cpu()).to(device)` in a loop, when x is on the GPU; notes a result on the host
        that becomes a GPU tensor again in the same step, rows of a GPU tensor that are copied one
        by one, and copies to the host in a loop inside another loop.

    Why is this bad:
        `.cpu()` waits for all queued work of the GPU. The loop then runs at the speed of the
        slower of both, with both waiting for each other.

    Example:
        import torch

        p = torch.ones(2, 5, device="cuda")
        for _ in range(10):
            t = torch.multinomial(p.cpu(), 1).to("cuda")

    Fix:
        import torch

        p = torch.ones(2, 5, device="cuda")
        for _ in range(10):
            t = torch.multinomial(p, 1)

    Fix safety:
        No automatic fix: the numbers of a random draw differ between CPU and GPU.

    References:
        https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
    """

    code = "DEV901"
    name = "sync-in-loop"
    kinds = ("host-round-trip",)

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.methods("cpu", "numpy", "tolist"):
            tensor = event.func.receiver
            if not isinstance(tensor, Tensor) or tensor.dev != ACCEL or event.depth < 1:
                continue
            loop = ctx.loop(event.node)
            if loop is None:
                continue
            back = _back_again(ctx, event.node)
            if back is not None:
                yield self.finding(
                    ctx,
                    event.node,
                    "each step copies to the host and back: the GPU waits for the CPU",
                    evidence=[ctx.step(back, "back to the device here")],
                    help="compute on the device",
                )
            elif (back := _remade(ctx, loop, event.node)) is not None:
                yield self.finding(
                    ctx,
                    event.node,
                    "each step copies to the host, and makes a GPU tensor of the result again",
                    severity=Severity.NOTE,
                    evidence=[ctx.step(back, "back to the device here")],
                    help="compute on the device",
                )
            elif event.func.name == "cpu" and _row_by_row(ctx, loop):
                yield self.finding(
                    ctx,
                    event.node,
                    "each row of a GPU tensor is copied by itself: the GPU is waited for each time",
                    severity=Severity.NOTE,
                    help="copy once, before the loop",
                )
            elif ctx.loop(loop) is not None and event.func.name == "cpu":
                yield self.finding(
                    ctx,
                    event.node,
                    "each step of the inner loop waits for the GPU",
                    severity=Severity.NOTE,
                    help="copy once, outside the inner loop",
                )


def _remade(ctx: Context, loop: Any, node: Any) -> Any:
    """The call that makes a GPU tensor of the name that the copy's statement binds."""
    stmt = ctx.statement(node)
    names = {t.id for t in getattr(stmt, "targets", []) if isinstance(t, ast.Name)}
    for call in ast.walk(loop) if names else ():
        event = ctx.event_at.get(id(call))
        if event is None or not isinstance(call, ast.Call):
            continue
        if isinstance(event.func, Ext) and "device" in event.kwargs:
            parts: list[ast.AST] = list(call.args)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda"):
            parts = [call.func.value]
        else:
            continue
        used = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
        if used & names and isinstance(event.result, Tensor) and event.result.dev == ACCEL:
            return call
    return None


def _row_by_row(ctx: Context, loop: Any) -> bool:
    """Whether a loop takes the rows of a GPU tensor, alone or zipped with others."""
    if not isinstance(loop, ast.For):
        return False
    if isinstance(loop.iter, ast.Call):
        event = ctx.event_at.get(id(loop.iter))
        name = getattr(loop.iter.func, "id", "")
        given = [v for v, _, _ in event.args] if event is not None and name == "zip" else []
        return any(isinstance(v, Tensor) and v.dev == ACCEL for v in given)
    return any(
        node is loop and isinstance(iterable, Tensor) and iterable.dev == ACCEL
        for node, iterable, _, _, _ in ctx.ip.facts.get("loop", ())
    )


def _back_again(ctx: Context, node: Any) -> Any:
    """The move to the device in the expression around a copy to the host."""
    child = node
    for outer in ctx.around(node):
        if isinstance(outer, ast.stmt):
            return None
        if isinstance(outer, ast.Subscript) and child is outer.slice:
            return None  # an index into data that stays on the host
        child = outer
        if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute):
            if outer.func.attr == "cuda":
                return outer
            if outer.func.attr == "to" and outer.args:
                text = ast.unparse(outer.args[0])
                if "dev" in text.lower() or "cuda" in text:
                    return outer
    return None
