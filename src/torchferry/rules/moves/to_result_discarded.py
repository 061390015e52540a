"""DEV601."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Edit, Fix
from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import UNKNOWN, Tensor

from ..causes import causes
from ..graphs.hook_closure_device import in_hook
from ..origins import discarded_moves
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context

_TENSOR_NAME = re.compile(r"(?i)(^|_)(ids|labels?|masks?|targets?|images?|pixel_values|tensors?)$")


class ToResultDiscarded(Rule):
    """The result of `tensor.to(device)` is thrown away.

    What it does:
        Reports `.to(...)`, `.cuda()` and `.cpu()` of a tensor that stand alone as a statement.

    Why is this bad:
        `Module.to` moves in place, `Tensor.to` does not: it gives a new tensor, and the old one
        stays where it was.

    Example:
        import torch

        x = torch.ones(3)
        x.to("cuda")

    Fix:
        import torch

        x = torch.ones(3)
        x = x.to("cuda")

    Fix safety:
        Safe: the name is bound to the moved tensor, as was meant.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """

    code = "DEV601"
    name = "to-result-discarded"
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        certain = {id(c.node): c for c in causes(ctx, self.name)}
        seen: set[int] = set()
        for event in discarded_moves(ctx):
            if id(event.node) in seen or in_hook(ctx, event.node):
                continue
            seen.add(id(event.node))
            cause = certain.get(id(event.node))
            yield self._report(
                ctx,
                event.node,
                Severity.ERROR if cause else Severity.WARNING,
                proof(ctx, cause) if cause else [],
            )
        known = {id(e.node) for e in ctx.methods("to", "cuda", "cpu")}
        for stmt in ctx.nodes.get(ast.Expr, []):
            call = stmt.value
            if id(call) not in seen | known and _looks_like_tensor(ctx, call):
                yield self._report(ctx, call, Severity.WARNING, [])

    def _report(self, ctx: Context, call: Any, severity: Severity, evidence: list[Any]) -> Finding:
        receiver = call.func.value
        fix = None
        if isinstance(receiver, (ast.Name, ast.Attribute, ast.Subscript)):
            start, end = ctx.doc.span(call)
            name = ctx.doc.source(receiver)
            if "\n" not in name:
                edit = Edit(start, end, f"{name} = {ctx.doc.text[start:end]}")
                fix = Fix(f"bind the result to `{ctx.source(receiver)}`", (edit,))
        return self.finding(
            ctx,
            call,
            f"the result of `{ctx.source(call)}` is thrown away: `{ctx.source(receiver)}` stays "
            "where it is",
            severity=severity,
            evidence=evidence,
            help="a tensor does not move in place: bind the result",
            fix=fix,
        )


def _looks_like_tensor(ctx: Context, call: Any) -> bool:
    """An unknown value with the name of a tensor, moved in a statement of its own."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr not in ("to", "cuda") or not isinstance(call.func.value, ast.Name):
        return False
    event = ctx.event_at.get(id(call))
    if event is not None and event.func is not UNKNOWN:
        return False
    if call.func.attr == "to" and not (call.args or call.keywords):
        return False
    return _TENSOR_NAME.search(call.func.value.id) is not None


__all__ = ["Tensor", "ToResultDiscarded"]
