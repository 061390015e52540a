"""DEV761."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..origins import discarded_moves
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context

_REGISTER = frozenset(
    "register_hook register_forward_hook register_full_backward_hook register_backward_hook "
    "register_forward_pre_hook register_post_accumulate_grad_hook".split()
)


class HookClosureDevice(Rule):
    """A hook that combines a GPU gradient with a CPU tensor of its closure.

    What it does:
        Follows functions that are registered as hooks, with a gradient on the tensor's device, and
        reports clashes with tensors from around, and moves in the hook whose result is lost.

    Why is this bad:
        The error comes up in `backward()`, without the line of the hook's registration.

    Example:
        import torch

        def freeze(param, mask):
            def hook(grad):
                return grad * mask

            param.register_hook(hook)

        w = torch.ones(3, device="cuda", requires_grad=True)
        freeze(w, torch.ones(3))

    Fix:
        import torch

        def freeze(param, mask):
            mask = mask.to(param.device)

            def hook(grad):
                return grad * mask

            param.register_hook(hook)

        w = torch.ones(3, device="cuda", requires_grad=True)
        freeze(w, torch.ones(3))

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
    """

    code = "DEV761"
    name = "hook-closure-device"
    severity = Severity.ERROR
    word = "hook"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                "the hook combines a GPU gradient with a CPU tensor of its closure",
                evidence=proof(ctx, cause),
                help="move the tensor once, before the hook is registered",
            )
        for event in discarded_moves(ctx):
            if in_hook(ctx, event.node):
                yield self.finding(
                    ctx,
                    event.node,
                    f"the result of `{ctx.source(event.node)}` is thrown away: the hook still sees "
                    "the old tensor",
                    severity=Severity.WARNING,
                    help="move the tensor once, before the hook is registered",
                )


def in_hook(ctx: Context, node: Any) -> bool:
    """Whether a node is in a function that the same file registers as a hook."""
    function = ctx.function(node)
    name = getattr(function, "name", "")
    if not name or "hook" not in ctx.doc.text:
        return False
    for call in ctx.nodes.get(ast.Call, []):
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in _REGISTER
            and any(isinstance(a, ast.Name) and a.id == name for a in call.args)
        ):
            return True
    return False
