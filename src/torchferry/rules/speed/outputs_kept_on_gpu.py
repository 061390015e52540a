"""DEV904."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix
from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, Method, Seq, Tensor

from ..edits import method_call
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class OutputsKeptOnGpu(Rule):
    """All outputs of a data set, collected in GPU memory.

    What it does:
        Notes `outputs.append(net(x))` and `outputs += [net(x)]` of GPU tensors without a graph in a
        loop over data.

    Why is this bad:
        The predictions of all batches stay in the memory of the GPU until the loop ends; on a
        large data set it runs out.

    Example:
        import torch
        from torch import nn

        net = nn.Linear(2, 1).to("cuda")
        outputs = []
        with torch.no_grad():
            for _ in range(10):
                outputs.append(net(torch.ones(3, 2).to("cuda")))

    Fix:
        import torch
        from torch import nn

        net = nn.Linear(2, 1).to("cuda")
        outputs = []
        with torch.no_grad():
            for _ in range(10):
                outputs.append(net(torch.ones(3, 2).to("cuda")).cpu())

    Fix safety:
        Unsafe: what is done with the list afterwards happens on the CPU then.

    References:
        https://docs.pytorch.org/docs/stable/notes/faq.html
    """

    code = "DEV904"
    name = "outputs-kept-on-gpu"
    severity = Severity.NOTE
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        from torchferry.core.edit import Safety

        yield from _added(self, ctx)
        for event in ctx.ip.events:
            func = event.func
            if not isinstance(func, Method) or func.name != "append" or not event.args:
                continue
            if event.frame.unit.doc is not ctx.doc or not isinstance(func.receiver, Seq):
                continue
            value, expr, _ = event.args[0]
            if not isinstance(value, Tensor) or value.dev != ACCEL or not event.graph_off:
                continue
            loop = ctx.loop(event.node)
            if getattr(ctx.function(event.node), "name", "") == "forward":
                continue
            if loop is None or _carried(loop, expr):
                continue
            edits = method_call(ctx.doc, expr, ".cpu()")
            reason = "what is done with the list afterwards happens on the CPU then"
            title = "keep it on the host"
            yield self.finding(
                ctx,
                event.node,
                f"`{ctx.source(expr)}` of every step stays in GPU memory",
                help="keep `.cpu()` of it, or a running result",
                fix=None if edits is None else Fix(title, edits, Safety.UNSAFE, reason),
            )


def _added(rule: Rule, ctx: Context) -> Iterator[Finding]:
    """`outputs += [y]`, where y is the result of a call on the GPU without a graph."""
    for stmt in ctx.nodes.get(ast.AugAssign, []):
        shown = stmt.value
        if not isinstance(shown, ast.List) or len(shown.elts) != 1:
            continue
        loop = ctx.loop(stmt)
        event = _computed_by(ctx, loop, shown.elts[0]) if loop is not None else None
        if event is None or not event.graph_off or not isinstance(event.result, Tensor):
            continue
        if event.result.dev == ACCEL and not _carried(loop, shown.elts[0]):
            yield rule.finding(
                ctx,
                stmt,
                f"`{ctx.source(shown.elts[0])}` of every step stays in GPU memory",
                help="keep `.cpu()` of it, or a running result",
            )


def _computed_by(ctx: Context, loop: Any, expr: Any) -> Any:
    """The call whose result an expression is: itself, or what the loop binds its name to."""
    if isinstance(expr, ast.Name):
        bound = [
            s.value for s in ast.walk(loop) if isinstance(s, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == expr.id for t in s.targets)
        ]  # fmt: skip
        expr = bound[0] if len(bound) == 1 else None
    return ctx.event_at.get(id(expr)) if expr is not None else None


def _carried(loop: Any, expr: Any) -> bool:
    """Whether the appended name is read in the loop before it is bound: the next step needs it."""
    if not isinstance(expr, ast.Name):
        return not isinstance(expr, ast.Call)
    for stmt in loop.body:
        for part in ast.walk(stmt):
            if isinstance(part, ast.Name) and part.id == expr.id and part is not expr:
                bound = [
                    p.lineno for s in loop.body for p in ast.walk(s)
                    if isinstance(p, ast.Name) and p.id == expr.id and isinstance(p.ctx, ast.Store)
                ]  # fmt: skip
                if isinstance(part.ctx, ast.Load) and bound and part.lineno <= min(bound):
                    return True
    return False
