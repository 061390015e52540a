"""DEV804."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class IsCudaBranch(Rule):
    """`if x.is_cuda: ... else: ...` with a CPU path for everything else.

    What it does:
        Notes a branch on `is_cuda` whose other side (or what follows, where the branch returns)
        makes tensors on the CPU: a factory without a device, `.numpy()`, a CPU type. Also a branch
        that only moves with `.cuda()`.

    Why is this bad:
        `is_cuda` is false on MPS, XPU and other accelerators too: they take the CPU path.

    Example:
        import torch

        def pad(x):
            if x.is_cuda:
                zero = torch.cuda.FloatTensor(3).fill_(0)
            else:
                zero = torch.FloatTensor(3).fill_(0)
            return x + zero

    Fix:
        import torch

        def pad(x):
            zero = x.new_zeros(3)
            return x + zero

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device
    """

    code = "DEV804"
    name = "is-cuda-branch"
    severity = Severity.NOTE
    word = "is_cuda"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for node in [*ctx.nodes.get(ast.If, []), *ctx.nodes.get(ast.IfExp, [])]:
            test = node.test
            if not isinstance(test, ast.Attribute) or test.attr != "is_cuda":
                continue
            if getattr(test.value, "id", "") == "self":
                continue  # a flag of a class of its own
            text = " ".join(ast.unparse(part) for part in _other_path(ctx, node))
            host = any(word in text for word in ("Tensor(", ".cpu()", ".numpy()"))
            host = host or (bool(node.orelse) and "torch." in text and "device" not in text)
            if host or _only_moves(node):
                yield self.finding(
                    ctx,
                    test,
                    "on every accelerator but CUDA this takes the CPU path",
                    help="use the tensor's own device: `x.device`, `x.new_*`",
                )


def _other_path(ctx: Context, node: Any) -> list[Any]:
    """What runs where the tensor is not on CUDA, and nowhere else."""
    if node.orelse:
        return node.orelse if isinstance(node.orelse, list) else [node.orelse]
    block = getattr(ctx.parents.get(id(node)), "body", [])
    if isinstance(node.body, list) and isinstance(node.body[-1], ast.Return) and node in block:
        return list(block[block.index(node) + 1 :])
    return []


def _only_moves(node: Any) -> bool:
    """`if x.is_cuda: y = y.cuda()`."""
    return isinstance(node, ast.If) and not node.orelse and all(
        isinstance(stmt, ast.Assign)
        and isinstance(stmt.value, ast.Call)
        and isinstance(stmt.value.func, ast.Attribute)
        and stmt.value.func.attr == "cuda"
        for stmt in node.body
    )  # fmt: skip
