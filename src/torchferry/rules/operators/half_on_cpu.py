"""DEV723."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding
from torchferry.flow.values import Inst

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class HalfOnCpu(Rule):
    """A model in half precision, whatever the device is.

    What it does:
        Reports `model.half()` (and `.to(torch.float16)`) that no branch on the device guards, in
        a program that chooses its device by what is available.

    Why is this bad:
        Without a GPU the program computes in float16 on the CPU: slow, and not implemented for
        many operators ('"addmm_impl_cpu_" not implemented for 'Half'').

    Example:
        import torch
        from torch import nn

        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = nn.Linear(2, 2).to(device)
        model.half()

    Fix:
        import torch
        from torch import nn

        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = nn.Linear(2, 2).to(device)
        if device == "cuda":
            model.half()

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/amp.html
    """

    code = "DEV723"
    name = "half-on-cpu"
    word = "is_available"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.methods("half", "to"):
            inst = event.func.receiver
            if not isinstance(inst, Inst) or inst.kind != "module":
                continue
            if event.func.name == "to" and not _to_half(event.node):
                continue
            if not guarded(ctx, event.node):
                yield self.finding(
                    ctx,
                    event.node,
                    "half precision is chosen without a look at the device",
                    help="use float16 only where the device is a GPU",
                )


def _to_half(call: Any) -> bool:
    """Whether a call names float16 whatever the device is."""
    words = [*call.args, *[k.value for k in call.keywords]] if isinstance(call, ast.Call) else []
    return any(not isinstance(w, ast.IfExp) and "float16" in ast.unparse(w) for w in words) and (
        "bfloat16" not in ast.unparse(call)
    )


def guarded(ctx: Context, node: Any) -> bool:
    """Whether a branch around `node` (or an early return before it) asks for the GPU."""
    child = node
    for outer in ctx.around(node):
        if (
            isinstance(outer, (ast.If, ast.IfExp, ast.While))
            and child is not outer.test
            and _asks(ast.unparse(outer.test))
        ):
            return True
        if isinstance(outer, ast.BoolOp) and _asks(ast.unparse(outer)):
            return True
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for stmt in outer.body:
                if stmt.lineno >= getattr(child, "lineno", 0):
                    break
                if (
                    isinstance(stmt, ast.If)
                    and _asks(ast.unparse(stmt.test))
                    and isinstance(stmt.body[-1], (ast.Return, ast.Raise))
                ):
                    return True
            if any("cuda" in ast.unparse(d).lower() for d in outer.decorator_list):
                return True
        if isinstance(outer, ast.Try):
            return True
        child = outer
    return False


def _asks(test: str) -> bool:
    return any(word in test.lower() for word in ("cuda", "gpu", "device", "accelerator", "mps"))
