"""DEV742."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding
from torchferry.flow.values import ACCEL, CPU, Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class NonblockingD2h(Rule):
    """An asynchronous copy to the host that is read before it is complete.

    What it does:
        Reports `.to("cpu", non_blocking=True)` without a synchronize near it, and the first use
        of what it gives; also `host.copy_(x, non_blocking=True)` of a GPU tensor.

    Why is this bad:
        The call returns before the bytes are there. A blocking copy waits; this one gives wrong
        numbers now and then, without an error.

    Example:
        import torch

        def fetch(x):
            y = x.to("cpu", non_blocking=True)
            return y.sum().item()

    Fix:
        import torch

        def fetch(x):
            y = x.cpu()
            return y.sum().item()

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    """

    code = "DEV742"
    name = "nonblocking-d2h"
    word = "non_blocking"

    def check(self, ctx: Context) -> Iterable[Finding]:
        filled = _filled_buffers(ctx)
        for call in ctx.nodes.get(ast.Call, []):
            if (not _to_host(call) and id(call) not in filled) or _parked(ctx, call):
                continue
            scope = ctx.function(call)
            text = ctx.doc.text if scope is None else ctx.doc.source(scope)
            if "synchronize" in text or "wait(" in text or ".query(" in text:
                continue
            yield self.finding(
                ctx,
                call,
                "the copy to the host is asynchronous, and nothing waits for it",
                help="use .cpu(), or synchronize before the first use",
            )
            use = _first_use(ctx, call, scope)
            if use is not None:
                yield self.finding(
                    ctx,
                    use,
                    "read before the asynchronous copy is complete",
                    evidence=[ctx.step(call, "the copy starts here")],
                    help="synchronize first",
                )


def _parked(ctx: Context, call: Any) -> bool:
    """`self.x = self.x.to("cpu", ...)`: kept aside until it goes back to the GPU.

    The copy back follows in the same stream.
    """
    stmt = ctx.statement(call)
    if not isinstance(stmt, ast.Assign) or id(stmt.value) != id(call):
        return False
    target = stmt.targets[0]
    kept = target.value if isinstance(target, ast.Subscript) else target
    same = ast.unparse(target) == ast.unparse(call.func.value)
    return same and isinstance(kept, ast.Attribute)


def _filled_buffers(ctx: Context) -> set[int]:
    """id of the calls `host.copy_(gpu, non_blocking=True)`, and of moves to a host device."""
    return {
        id(event.node)
        for event in ctx.methods("copy_")
        if isinstance(event.func.receiver, Tensor) and event.func.receiver.dev == CPU
        and event.args and isinstance(event.args[0][0], Tensor) and event.args[0][0].dev == ACCEL
        and _not_blocking(event.node)
    } | {
        id(event.node)
        for event in ctx.methods("to")
        if isinstance(event.result, Tensor) and event.result.dev == CPU
        and isinstance(event.func.receiver, Tensor) and event.func.receiver.dev == ACCEL
        and _not_blocking(event.node)
    }  # fmt: skip


def _not_blocking(call: Any) -> bool:
    flags = [k for k in call.keywords if k.arg == "non_blocking"]
    return any(isinstance(k.value, ast.Constant) and k.value.value is True for k in flags)


def _to_host(call: Any) -> bool:
    if not isinstance(call.func, ast.Attribute) or not _not_blocking(call):
        return False
    if call.func.attr == "cpu":
        return True
    words = [*call.args, *[k.value for k in call.keywords if k.arg == "device"]]
    return call.func.attr == "to" and any(
        isinstance(w, ast.Constant) and w.value == "cpu" for w in words
    )


def _first_use(ctx: Context, call: Any, scope: Any) -> Any:
    """The first statement at which the copy, or what a helper returns of it, is read."""
    if not isinstance(scope, ast.FunctionDef) or not isinstance(ctx.statement(call), ast.Return):
        return None
    for stmt in ctx.nodes.get(ast.Assign, []):
        value = stmt.value
        if not isinstance(value, ast.Call) or not isinstance(stmt.targets[0], ast.Name):
            continue
        if getattr(value.func, "id", "") != scope.name:
            continue
        name = stmt.targets[0].id
        uses = [
            n for n in ctx.nodes.get(ast.Name, [])
            if n.id == name and isinstance(n.ctx, ast.Load) and n.lineno > stmt.lineno
        ]  # fmt: skip
        if uses:
            return min(uses, key=lambda n: (n.lineno, n.col_offset))
    return None
