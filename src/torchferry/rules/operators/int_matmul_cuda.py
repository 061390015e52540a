"""DEV720."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, CPU

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class IntMatmulCuda(Rule):
    """A matrix product of integers, for which there is no CUDA kernel.

    What it does:
        Reports `@`, `matmul`, `mm`, `bmm` and `linear` of integer tensors: an error on the GPU, a
        note in a program that is all on the CPU.

    Why is this bad:
        '"addmm_cuda" not implemented for 'Long'': the CPU computes integer products, CUDA does not.

    Example:
        import torch

        a = torch.tensor([[1, 2], [3, 4]], device="cuda")
        print(a @ a)

    Fix:
        import torch

        a = torch.tensor([[1, 2], [3, 4]], device="cuda").double()
        print((a @ a).long())

    Fix safety:
        No automatic fix: float64 holds integers up to 2**53 exactly.

    References:
        https://github.com/pytorch/pytorch/issues/44428
    """

    code = "DEV720"
    name = "int-matmul-cuda"
    severity = Severity.ERROR

    def check(self, ctx: Context) -> Iterable[Finding]:
        for node, op, dev, frame, exploring in ctx.ip.facts.get("integer-product", ()):
            if frame.unit.doc is not ctx.doc or exploring:
                continue
            if dev == ACCEL:
                level = Severity.ERROR
            elif dev == CPU and not ctx.cuda_certain:
                level = Severity.NOTE
            else:
                continue
            yield self.finding(
                ctx,
                node,
                f"{op} of integers: CUDA has no kernel for it",
                severity=level,
                help="compute in float64 and convert back",
            )
