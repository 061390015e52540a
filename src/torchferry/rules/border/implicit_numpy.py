"""DEV302."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import cpu_fix, proof
from ._border import waiting_borders

if TYPE_CHECKING:
    from ..context import Context


class ImplicitNumpy(Rule):
    """A tensor on the GPU that is handed to numpy, scipy, sklearn, pandas or matplotlib.

    What it does:
        Reports calls of host libraries (and of the program's own helpers that hand their argument
        to one) that are given a tensor on the GPU, alone or in a list. In a program that is all on
        the CPU, what comes from a model or from a caller is a note.

    Why is this bad:
        These libraries call `numpy.asarray` on their arguments, which fails for a GPU tensor.

    Example:
        import numpy as np
        import torch

        x = torch.ones(3, device="cuda")
        print(np.sqrt(x))

    Fix:
        import numpy as np
        import torch

        x = torch.ones(3, device="cuda")
        print(np.sqrt(x.cpu()))

    Fix safety:
        Safe: `.cpu()` of a CPU tensor is the tensor itself.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cpu.html
    """

    code = "DEV302"
    name = "implicit-numpy"
    severity = Severity.ERROR
    kinds = ("sklearn-on-cuda", "plot-on-cuda", "scipy-on-cuda")
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            what = f"`{ctx.source(cause.expr)}`" if cause.expr is not None else "an argument"
            listed = cause.clash.kind == "border-list"
            inside = " with GPU tensors in it" if listed else ", which is on the GPU,"
            yield self.finding(
                ctx,
                cause.node,
                f"{what}{inside} is handed to {cause.clash.op}, which reads host memory only",
                evidence=proof(ctx, cause),
                help="copy it to the host first: `.cpu()`",
                fix=None if listed else cpu_fix(ctx, cause.expr),
            )
        for node, expr, _, reason in waiting_borders(ctx, explicit=False):
            yield self.finding(
                ctx,
                node,
                f"`{ctx.source(node)}` reads a tensor through numpy: {reason}",
                severity=Severity.NOTE,
                help="`.cpu()` before the call costs nothing on the CPU",
                fix=cpu_fix(ctx, expr),
            )
