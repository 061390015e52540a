"""DEV103."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import move_fix, operator_name, proof

if TYPE_CHECKING:
    from ..context import Context


class MixedDevices(Rule):
    """An operator with one tensor on the CPU and one on the GPU.

    What it does:
        Reports an operator whose operands are on two devices for certain, where no more special
        rule names the cause.

    Why is this bad:
        "Expected all tensors to be on the same device". Only zero-dimensional CPU tensors may join
        tensors on a GPU.

    Example:
        import torch

        x = torch.ones(3, device="cuda")
        y = torch.ones(3)
        z = x + y

    Fix:
        import torch

        x = torch.ones(3, device="cuda")
        y = torch.ones(3, device="cuda")
        z = x + y

    Fix safety:
        Safe: the tensor is moved to the device of its partner.

    References:
        https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device
    """

    code = "DEV103"
    name = "mixed-devices"
    severity = Severity.ERROR
    kinds = ("hidden-device-mix", "wrapper-partial-move", "tensor-left-behind")
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            what = f"`{ctx.source(cause.expr)}`" if cause.expr is not None else "an operand"
            yield self.finding(
                ctx,
                cause.node,
                f"{what} is on the CPU and meets a GPU tensor in {operator_name(cause)}",
                evidence=proof(ctx, cause),
                help="bring both to one device",
                fix=move_fix(ctx, cause, cause.expr),
            )
