"""DEV951."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix
from torchferry.core.finding import Finding
from torchferry.flow.values import Const, Tensor

from ..edits import replace
from ..operators.half_on_cpu import guarded
from ..origins import is_literal_move
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class PinMemoryUnguarded(Rule):
    """Pinned memory on a machine without an accelerator.

    What it does:
        Reports `pin_memory=True` of a factory, and `.pin_memory()`, that no branch on the device
        guards.

    Why is this bad:
        "Need to provide pin_memory allocator to use pin memory": the program does not run without
        a GPU any more. (A DataLoader only warns.)

    Example:
        import torch

        staging = torch.empty(3, pin_memory=True)

    Fix:
        import torch

        staging = torch.empty(3, pin_memory=torch.cuda.is_available())

    Fix safety:
        Safe: on a machine with a GPU nothing changes.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.pin_memory.html
    """

    code = "DEV951"
    name = "pin-memory-unguarded"
    fixable = True
    word = "pin_memory"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.calls_under("torch."):
            given = event.kwargs.get("pin_memory")
            if given is None or ".data." in event.func.name or guarded(ctx, event.node):
                continue
            if isinstance(given[0], Const) and given[0].value is True:
                fix = None
                if isinstance(given[1], ast.Constant) and "import torch\n" in ctx.doc.text:
                    edits = replace(ctx.doc, given[1], "torch.cuda.is_available()")
                    fix = Fix("pin where there is a GPU", edits) if edits else None
                yield self.finding(
                    ctx,
                    event.node,
                    "pinned memory needs an accelerator: without one this fails",
                    help="pin_memory=device.type == 'cuda'",
                    fix=fix,
                )
        for event in ctx.methods("pin_memory"):
            receiver = event.func.receiver
            if isinstance(receiver, Tensor) and any(
                why.text.startswith("moved to the CPU") for why in ctx.chain(receiver)
            ):
                continue  # it comes from a GPU: there is one
            if _goes_to_a_fixed_gpu(ctx, event.node):
                continue  # the program needs one anyhow
            if isinstance(receiver, Tensor) and receiver.dev == 1 and not guarded(ctx, event.node):
                yield self.finding(
                    ctx,
                    event.node,
                    "pinned memory needs an accelerator: without one this fails",
                    help="pin where the device is a GPU",
                )


def _goes_to_a_fixed_gpu(ctx: Context, pinned: Any) -> bool:
    """Whether what is pinned is moved at once by `.cuda()`, or to a device that is fixed."""
    for event in (*ctx.methods("to"), *ctx.methods("cuda")):
        move = event.node
        if isinstance(move.func, ast.Attribute) and move.func.value is pinned:
            if move.func.attr == "cuda" or is_literal_move(move):
                return True
            target = event.args[0][0] if event.args else None
            return isinstance(target, Const) and str(target.value).startswith("cuda")
    return False
