"""DEV808."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class VisibleDevicesLate(Rule):
    """CUDA_VISIBLE_DEVICES that is set after CUDA was used.

    What it does:
        Reports `os.environ["CUDA_VISIBLE_DEVICES"] = ...` behind a call of torch.cuda or a move to
        the GPU.

    Why is this bad:
        CUDA reads the variable once, when it is initialised: later it has no effect, and the
        program runs on the wrong GPU.

    Example:
        import os
        import torch

        gpu = torch.cuda.is_available()
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"

    Fix:
        import os

        os.environ["CUDA_VISIBLE_DEVICES"] = "1"

        import torch

        gpu = torch.cuda.is_available()

    Fix safety:
        No automatic fix: statements change their order.

    References:
        https://docs.pytorch.org/docs/stable/notes/cuda.html
    """

    code = "DEV808"
    name = "visible-devices-late"
    word = "CUDA_VISIBLE_DEVICES"

    def check(self, ctx: Context) -> Iterable[Finding]:
        sets = [n for n in ctx.nodes.get(ast.Subscript, []) if _sets(n)]
        sets += [c for c in ctx.nodes.get(ast.Call, []) if _sets_by_call(c)]
        for node in sets:
            function = ctx.function(node)
            first = _cuda_use(ctx, node, function)
            if first is not None:
                yield self.finding(
                    ctx,
                    ctx.statement(node),
                    "CUDA_VISIBLE_DEVICES is set after CUDA was asked: it has no effect",
                    evidence=[ctx.step(first, "CUDA is used here")],
                    help="set it before torch is imported, or on the command line",
                )


def _sets(node: Any) -> bool:
    return (
        isinstance(node.ctx, ast.Store)
        and "environ" in ast.unparse(node.value)
        and isinstance(node.slice, ast.Constant)
        and node.slice.value == "CUDA_VISIBLE_DEVICES"
    )


def _sets_by_call(call: Any) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    first = call.args[0] if call.args else None
    if name == "update" and ast.unparse(call.func) in ("os.environ.update", "environ.update"):
        keys = first.keys if isinstance(first, ast.Dict) else []
        named = [k.value for k in keys if isinstance(k, ast.Constant)]
        return "CUDA_VISIBLE_DEVICES" in [*named, *[k.arg for k in call.keywords]]
    return (
        name in ("setdefault", "putenv")
        and isinstance(first, ast.Constant)
        and first.value == "CUDA_VISIBLE_DEVICES"
    )


def _cuda_use(ctx: Context, node: Any, function: Any) -> Any:
    """The first use of CUDA in the same scope before the assignment."""
    for call in ctx.nodes.get(ast.Call, []):
        if call.lineno >= node.lineno:
            return None
        if ctx.function(call) is not function:
            continue
        text = ast.unparse(call.func)
        if (text.startswith("torch.cuda.") or text.endswith(".cuda")) and not text.endswith(
            ("manual_seed", "manual_seed_all")
        ):
            return call
    return None
