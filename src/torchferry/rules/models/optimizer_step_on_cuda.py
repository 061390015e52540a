"""DEV511."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class OptimizerStepOnCuda(Rule):
    """A loop that moves the whole state of an optimizer, the step counter too.

    What it does:
        Reports a loop over `optimizer.state` that moves every tensor in it.

    Why is this bad:
        Adam's `step` belongs on the CPU: "If capturable=False, state_steps should not be CUDA
        tensors" in some versions, a host wait for each parameter in others.
        `load_state_dict` places the state by itself.

    Example:
        import torch

        def resume(opt, state, device):
            opt.load_state_dict(state)
            for s in opt.state.values():
                for k, v in s.items():
                    if torch.is_tensor(v):
                        s[k] = v.to(device)

    Fix:
        import torch

        def resume(opt, state, device):
            opt.load_state_dict(state)

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html
    """

    code = "DEV511"
    name = "optimizer-step-on-cuda"
    word = ".state"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for loop in ctx.nodes.get(ast.For, []):
            text = ctx.doc.source(loop.iter)
            if not text.endswith((".state.values()", ".state.items()")):
                continue
            if "step" in ctx.doc.source(loop).replace(".step(", ""):
                continue  # the counter is treated by name
            for node in ast.walk(loop):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                    call = node.value
                    if (
                        isinstance(call, ast.Call)
                        and isinstance(call.func, ast.Attribute)
                        and call.func.attr in ("to", "cuda")
                    ):
                        yield self.finding(
                            ctx,
                            node,
                            "the loop moves every tensor of the optimizer's state, also the "
                            "step counter, which belongs on the CPU",
                            help="drop the loop: load_state_dict places the state",
                        )
