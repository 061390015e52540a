"""DEV502."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.edit import Fix, Safety
from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..edits import method_call
from ..rule import Rule
from ..wording import proof
from .model_not_moved import module_words

if TYPE_CHECKING:
    from ..causes import Cause
    from ..context import Context


class ModelMovedBack(Rule):
    """A model that was moved back to the CPU and is then called with data on the GPU.

    What it does:
        Reports `.cpu()` or `.to("cpu")` of a model on the GPU, when the model is called afterwards
        with an input that is still on the GPU.

    Why is this bad:
        `Module.to` works in place: every later call of the model runs on the CPU.

    Example:
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(3, 1).to(device)
        x = torch.randn(4, 3).to(device)
        model(x)
        model.to("cpu")
        print(model(x))

    Fix:
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(3, 1).to(device)
        x = torch.randn(4, 3).to(device)
        model(x)
        model.to("cpu")
        print(model(x.cpu()))

    Fix safety:
        Safe: the input follows the model to the CPU, where the author wanted it.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
    """

    code = "DEV502"
    name = "model-moved-back"
    severity = Severity.ERROR
    kinds = ("helper-moves-model", "model-moved-back-early")
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            fix = None
            if _straight_on(ctx, cause) and id(cause.expr) in ctx.parents:
                edits = method_call(ctx.doc, cause.expr, ".cpu()")
                if edits is not None:
                    title = f"copy `{ctx.source(cause.expr)}` to the CPU too"
                    fix = Fix(title, edits, Safety.SAFE, group="moved back")
            where = ctx.where(cause.clash.node)
            yield self.finding(
                ctx,
                cause.node,
                f"the {module_words(cause)} is moved back to the CPU here; its input in {where} "
                "is on the GPU",
                evidence=proof(ctx, cause),
                help="bring the input to the CPU as well, or leave the model where it is",
                fix=fix,
            )


def _straight_on(ctx: Context, cause: Cause) -> bool:
    """Whether the call simply follows the move: not in a helper, not in the next turn of a loop."""
    back, call = cause.moved_back, cause.clash.node
    return (
        cause.expr is not None
        and ctx.function(back) is ctx.function(call)
        and back.lineno < call.lineno
        and ctx.loop(back) is None
    )
