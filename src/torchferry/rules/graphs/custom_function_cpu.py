"""DEV760."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import Func, Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_FILLED = tuple(f"torch.{name}" for name in "zeros ones full rand randn eye arange".split())
_BACK = ("torch.from_numpy", "torch.tensor", "torch.as_tensor")


class CustomFunctionCpu(Rule):
    """An autograd function that goes through numpy and gives CPU tensors back.

    What it does:
        Reports, in the methods of a `torch.autograd.Function`, `.numpy()` without `.cpu()`,
        tensors made from numpy without the device of the inputs, and results or gradients that a
        factory makes on the CPU.

    Why is this bad:
        `.numpy()` fails for a GPU tensor; a result or a saved gradient on the CPU fails later, in
        `loss.backward()`, far from its cause.

    Example:
        import numpy as np
        import torch

        class Sorted(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                x = a.detach().numpy()
                return torch.from_numpy(np.sort(x))

            @staticmethod
            def backward(ctx, g):
                return g

        Sorted.apply(torch.ones(3, requires_grad=True))

    Fix:
        import numpy as np
        import torch

        class Sorted(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                x = a.detach().cpu().numpy()
                return torch.from_numpy(np.sort(x)).to(a.device)

            @staticmethod
            def backward(ctx, g):
                return g

        Sorted.apply(torch.ones(3, requires_grad=True))

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/notes/extending.html
    """

    code = "DEV760"
    name = "custom-function-cpu"
    word = "Function"

    def check(self, ctx: Context) -> Iterable[Finding]:
        level = Severity.WARNING if ctx.cuda_certain else Severity.NOTE
        for event in ctx.methods("numpy", "__array__"):
            receiver = event.func.receiver
            if not _in_function(event) or not isinstance(receiver, Tensor):
                continue
            if any(w.text.startswith("moved to the CPU") for w in ctx.chain(receiver)):
                continue
            yield self.finding(
                ctx,
                event.node,
                "the function's input is read through numpy: it fails for a GPU tensor",
                severity=level,
                help="`.cpu().numpy()` on the way in, `.to(x.device)` on the way out",
            )
        for event in [*ctx.calls(*_BACK), *ctx.calls(*_FILLED)]:
            if not _in_function(event) or "device" in event.kwargs or _moved(ctx, event.node):
                continue
            if event.func.name in _FILLED and not _returned(ctx, event.node):
                continue
            first = event.args[0][0] if event.args else None
            if isinstance(first, Tensor) or _one_number(event):
                continue
            use = ctx.statement(event.node)
            what = "a result" if isinstance(use, ast.Return) else "a tensor"
            yield self.finding(
                ctx,
                event.node,
                f"the function makes {what} on the CPU, whatever device its inputs are on",
                severity=level,
                help="make it on the device of the inputs: `.to(x.device)`",
            )


def _returned(ctx: Context, node: Any) -> bool:
    """Whether the function returns what a call makes, as it is."""
    stmt = ctx.statement(node)
    if isinstance(stmt, ast.Assign) and stmt.value is node and len(stmt.targets) == 1:
        function, target = ctx.function(node), stmt.targets[0]
        found = [
            part for r in ast.walk(function) if isinstance(r, ast.Return) and r.value is not None
            for part in (r.value.elts if isinstance(r.value, ast.Tuple) else [r.value])
        ]  # fmt: skip
        return isinstance(target, ast.Name) and any(
            isinstance(part, ast.Name) and part.id == target.id for part in found
        )
    if not isinstance(stmt, ast.Return):
        return False
    parts = stmt.value.elts if isinstance(stmt.value, ast.Tuple) else [stmt.value]
    return any(part is node for part in parts)


def _in_function(event: Any) -> bool:
    func = event.frame.func
    return (
        isinstance(func, Func)
        and func.cls is not None
        and func.cls.kind == "function"
        and func.name in ("forward", "backward", "setup_context")
    )


def _moved(ctx: Context, node: Any) -> bool:
    """Whether the call stands at the start of a chain with a move in it."""
    for outer in ctx.around(node):
        if isinstance(outer, ast.Attribute):
            if outer.attr in ("to", "cuda", "type_as"):
                return True
        elif (
            not isinstance(outer, ast.Call)
            or not isinstance(outer.func, ast.Attribute)
            or outer.func.attr not in ("to", "float", "double", "long", "view", "reshape", "type")
        ):
            return False
    return False


def _one_number(event: Any) -> bool:
    """`torch.tensor(torch.finfo(x.dtype).min)`: one number may meet GPU tensors."""
    expr = event.args[0][1] if event.args else None
    if event.func.name not in ("torch.tensor", "torch.as_tensor"):
        return False
    if isinstance(expr, ast.Constant):
        return True
    return isinstance(expr, ast.Attribute) and expr.attr in ("min", "max", "eps", "tiny")
