"""DEV501."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.edit import Fix
from torchferry.core.finding import Finding, Severity

from ..causes import Cause, causes
from ..devices import device_at
from ..edits import method_call
from ..modules import class_name
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context


class ModelNotMoved(Rule):
    """A model that is still on the CPU when it is called with data on the GPU.

    What it does:
        Reports the model that was never moved (at its constructor), or that was moved on other
        paths only (at the call), when data on the GPU reaches it.

    Why is this bad:
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the
        same".

    Example:
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(3, 1)
        y = model(torch.randn(4, 3).to(device))

    Fix:
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(3, 1).to(device)
        y = model(torch.randn(4, 3).to(device))

    Fix safety:
        Safe: the module is moved where it is made.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
    """

    code = "DEV501"
    name = "model-not-moved"
    severity = Severity.ERROR
    kinds = ("submodule-not-moved", "loaded-model-not-moved")
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                f"the {module_words(cause)} is still on the CPU, but its input is on the GPU",
                evidence=proof(ctx, cause),
                help="move the module to the device before it is called",
                fix=construct_fix(ctx, cause),
            )


def module_words(cause: Cause) -> str:
    """`Net` model, or plain "model"."""
    return f"`{class_name(cause.module)}`" if cause.module is not None else "model"


def construct_fix(ctx: Context, cause: Cause) -> Fix | None:
    """`.to(device)` behind the constructor, where the finding stands on one."""
    module, node = cause.module, cause.node
    if module is None or node is not module.node or not isinstance(node, ast.Call):
        return None
    if id(node) not in ctx.parents:
        return None
    device = device_at(ctx, node, cause.partner)
    edits = method_call(ctx.doc, node, f".to({device})") if device else None
    if edits is None:
        return None
    return Fix(f"move `{ctx.source(node)}` to the device", edits, group="module")
