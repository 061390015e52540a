"""DEV804."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class IsCudaBranch(Rule):
    """`if x.is_cuda: ... else: ...` with a CPU path for everything else.

    What it does:
        Notes a branch on `is_cuda` whose other side makes tensors on the CPU (a factory without a
        device, `.cpu()`, a CPU type).

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
            if not isinstance(test, ast.Attribute) or test.attr != "is_cuda" or not node.orelse:
                continue
            other = node.orelse if isinstance(node.orelse, list) else [node.orelse]
            text = " ".join(ast.unparse(part) for part in other)
            if "Tensor(" in text or ".cpu()" in text or ("torch." in text and "device" not in text):
                yield self.finding(
                    ctx,
                    test,
                    "on every accelerator but CUDA this takes the CPU path",
                    help="use the tensor's own device: `x.device`, `x.new_*`",
                )
