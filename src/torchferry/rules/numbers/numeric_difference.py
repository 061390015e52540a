"""DEV743."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding
from torchferry.flow.values import MODEL, Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class NumericDifference(Rule):
    """Exact equality of what the CPU and the GPU computed.

    What it does:
        Reports `torch.equal` of a tensor that was computed on the GPU and copied to the host, and
        one that was computed on the CPU.

    Why is this bad:
        Other kernels sum in another order: the last digits differ, on every machine.

    Example:
        import torch
        from torch import nn

        a, b = nn.Linear(3, 3), nn.Linear(3, 3).to("cuda")
        x = torch.ones(2, 3)
        assert torch.equal(a(x), b(x.to("cuda")).cpu())

    Fix:
        import torch
        from torch import nn

        a, b = nn.Linear(3, 3), nn.Linear(3, 3).to("cuda")
        x = torch.ones(2, 3)
        assert torch.allclose(a(x), b(x.to("cuda")).cpu(), rtol=1e-4, atol=1e-5)

    Fix safety:
        No automatic fix: the tolerance is for the author to choose.

    References:
        https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
    """

    code = "DEV743"
    name = "numeric-difference"
    word = "equal"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.calls("torch.equal"):
            values = [v for v, _, _ in event.args[:2] if isinstance(v, Tensor)]
            if len(values) == 2 and all(v.flags & MODEL and v.dev == 1 for v in values):
                came = [
                    any(w.text.startswith("moved to the CPU") for w in ctx.chain(v)) for v in values
                ]
                if came[0] != came[1]:
                    yield self.finding(
                        ctx,
                        event.node,
                        "exact equality of a CPU result and a GPU result: their last digits differ",
                        help="compare with a tolerance: torch.allclose, torch.testing.assert_close",
                    )
