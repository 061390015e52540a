"""DEV603."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix
from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, CPU, LEAF, Func, OfModule, Tensor

from ..devices import device_at
from ..edits import add_keyword, remove_method_call
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class NonleafAfterMove(Rule):
    """A tensor that is moved after it was told to keep gradients: it is no leaf any more.

    What it does:
        Reports `torch.ones(3, requires_grad=True).to(device)`, `x.requires_grad_().cuda()` and
        `x = x.to(device)` of a leaf that keeps gradients.

    Why is this bad:
        On a GPU the move is an operation: the moved tensor's `.grad` stays None, an optimizer
        refuses it, and the gradient goes to the original that nobody holds.

    Example:
        import torch

        w = torch.ones(3, requires_grad=True).to("cuda")

    Fix:
        import torch

        w = torch.ones(3, requires_grad=True, device="cuda")

    Fix safety:
        Safe: the tensor is made where it was meant to be.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
    """

    code = "DEV603"
    name = "nonleaf-after-move"
    fixable = True
    word = "requires_grad"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.methods("to", "cuda"):
            tensor, result = event.func.receiver, event.result
            if not isinstance(tensor, Tensor) or not tensor.flags & LEAF or event.graph_off:
                continue
            if tensor.dev != CPU or not isinstance(result, Tensor) or result.dev == CPU:
                continue
            if isinstance(tensor.why, OfModule) or not isinstance(event.node.func, ast.Attribute):
                continue
            func = event.frame.func
            if (
                isinstance(func, Func)
                and func.name == "__init__"
                and "Parameter" in ctx.doc.source(event.node)
            ):
                continue  # a rule of its own
            if _original_lost(ctx, event.node):
                yield self.finding(
                    ctx,
                    event.node,
                    "the tensor is moved after requires_grad: on a GPU it is no leaf, and its "
                    ".grad stays None",
                    severity=Severity.WARNING if _leaf_wanted(ctx, event.node) else Severity.NOTE,
                    evidence=ctx.evidence(tensor),
                    help="make it on the device, or call requires_grad_() after the move",
                    fix=_fix(ctx, event.node, result),
                )


def _leaf_wanted(ctx: Context, call: Any) -> bool:
    """Whether something reads the gradient of the moved tensor, or optimizes it."""
    stmt = ctx.statement(call)
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
    names = {ast.unparse(t) for t in targets}
    for node in ctx.nodes.get(ast.Attribute, []):
        if node.attr == "grad" and ast.unparse(node.value) in names:
            test = ctx.parents.get(id(node))
            asked = isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot))
            if not asked:
                return True
    return "optim" in ctx.doc.text or not any(n.isidentifier() for n in names)


def _original_lost(ctx: Context, call: Any) -> bool:
    """Whether nobody holds the leaf: it has no name, or the name is bound to the moved one."""
    stmt = ctx.statement(call)
    if not isinstance(stmt, (ast.Assign, ast.AnnAssign)) or stmt.value is None:
        return False
    receiver = call.func.value
    if isinstance(receiver, (ast.Name, ast.Attribute, ast.Subscript)):
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        return stmt.value is call and any(ast.unparse(t) == ast.unparse(receiver) for t in targets)
    if not isinstance(receiver, ast.Call):
        return False
    inner = receiver.func
    # x.requires_grad_() leaves the leaf with the name x, unless x is bound again
    while isinstance(inner, ast.Attribute) and inner.attr in ("requires_grad_", "float", "double"):
        base = inner.value
        if isinstance(base, ast.Name):
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            return any(isinstance(t, ast.Name) and t.id == base.id for t in targets)
        if not isinstance(base, ast.Call):
            return False
        inner = base.func
    return True


def _fix(ctx: Context, call: Any, result: Tensor) -> Fix | None:
    """`torch.ones(3, requires_grad=True).to(device)` with the device in the factory."""
    factory = call.func.value
    if not isinstance(factory, ast.Call) or not any(
        k.arg == "requires_grad" for k in factory.keywords
    ):
        return None
    if isinstance(factory.func, ast.Attribute) and not ctx.source(factory.func).startswith("torch"):
        return None
    if call.func.attr == "to" and len(call.args) == 1 and not call.keywords:
        device = ctx.doc.source(call.args[0])
    elif call.func.attr == "cuda" and not call.args and not call.keywords:
        device = device_at(ctx, call) or '"cuda"'
    else:
        return None
    event = ctx.event_at.get(id(factory))
    if event is None or not getattr(event.func, "name", "").startswith("torch."):
        return None
    more = add_keyword(ctx.doc, factory, "device", device, past_star=True)
    less = remove_method_call(ctx.doc, call)
    if more is None or less is None or result.dev not in (ACCEL, 4):
        return None
    return Fix("make the leaf on the device", (*more, *less))
