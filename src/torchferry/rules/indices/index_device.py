"""DEV701."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix
from torchferry.core.finding import Finding, Severity

from ..causes import Cause, causes
from ..edits import method_call
from ..rule import Rule
from ..wording import proof
from ._index import waiting_indices

if TYPE_CHECKING:
    from ..context import Context


class IndexDevice(Rule):
    """A tensor on the CPU that is indexed with a tensor on the GPU.

    What it does:
        Reports `table[index]` when the table is on the CPU and the index on the GPU. The other way
        round is legal.

    Why is this bad:
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)".

    Example:
        import torch

        table = torch.linspace(0, 1, 10)
        t = torch.tensor([1, 2], device="cuda")
        print(table[t])

    Fix:
        import torch

        table = torch.linspace(0, 1, 10, device="cuda")
        t = torch.tensor([1, 2], device="cuda")
        print(table[t])

    Fix safety:
        Safe: the table is copied to the index's device at each use; a buffer, or a table made on
        the device, is faster.

    References:
        https://docs.pytorch.org/docs/stable/tensor_view.html
    """

    code = "DEV701"
    name = "index-device"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            node: Any = cause.node
            yield self.finding(
                ctx,
                node,
                f"`{ctx.source(node.value)}` is on the CPU, its index "
                f"`{ctx.source(node.slice)}` on the GPU",
                evidence=proof(ctx, cause),
                help="bring the table to the device, once",
                fix=_fix(ctx, node, cause),
            )
        for meeting in waiting_indices(ctx, frozenset(("index",))):
            yield self.finding(
                ctx,
                meeting.node,
                f"`{ctx.source(meeting.node)}` fails once the index it is given is on a GPU: the "
                "table stays on the CPU",
                severity=Severity.NOTE,
                help="keep the table on the device of the model",
            )


def _fix(ctx: Context, node: Any, cause: Cause) -> Fix | None:
    if not isinstance(cause.expr, ast.Name) or not isinstance(
        node.value, (ast.Name, ast.Attribute)
    ):
        return None
    if not isinstance(node.ctx, ast.Load):
        return None
    edits = method_call(ctx.doc, node.value, f".to({cause.expr.id}.device)")
    if edits is None:
        return None
    return Fix(f"bring `{ctx.source(node.value)}` to the index's device", edits)
