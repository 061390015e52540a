"""DEV743."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding
from torchferry.flow.values import COMPUTED, MODEL, Method, Tensor, Why

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class NumericDifference(Rule):
    """Exact equality of what the CPU and the GPU computed.

    What it does:
        Reports `torch.equal(a, b)` and `(a == b).all()` of a tensor that was computed on the GPU
        and copied to the host, and one that was computed on the CPU.

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

    def check(self, ctx: Context) -> Iterable[Finding]:
        for node, values in _comparisons(ctx):
            if len(values) != 2 or not all(v.dev == 1 and _computed(ctx, v) for v in values):
                continue
            came = [any(map(_came_back, ctx.chain(v))) for v in values]
            if came[0] != came[1]:
                yield self.finding(
                    ctx,
                    node,
                    "exact equality of a CPU result and a GPU result: their last digits differ",
                    help="compare with a tolerance: torch.allclose, torch.testing.assert_close",
                )


def _came_back(why: Why) -> bool:
    return why.text.startswith("moved to the CPU")


def _computed(ctx: Context, tensor: Tensor) -> bool:
    """Whether a tensor is a result, or the copy of one."""
    if tensor.flags & (MODEL | COMPUTED):
        return True
    for why in ctx.chain(tensor):
        event = ctx.event_at.get(id(why.node)) if _came_back(why) else None
        copied = getattr(event.func, "receiver", None) if event is not None else None
        if isinstance(copied, Tensor) and copied.flags & COMPUTED:
            return True
    return False


def _comparisons(ctx: Context) -> Iterator[tuple[Any, list[Tensor]]]:
    """`torch.equal(a, b)`, `torch.all(a == b)`, `(a == b).all()`: the call and both tensors."""
    for event in ctx.calls("torch.equal"):
        yield event.node, [v for v, _, _ in event.args[:2] if isinstance(v, Tensor)]
    for event in [*ctx.calls("torch.all"), *ctx.methods("all")]:
        call = event.node
        method = isinstance(event.func, Method)
        same = call.func.value if method else call.args[0] if call.args else None
        if isinstance(same, ast.Compare) and isinstance(same.ops[0], ast.Eq):
            sides = [_value(ctx, side, event.frame) for side in (same.left, same.comparators[0])]
            yield call, [v for v in sides if isinstance(v, Tensor)]


def _value(ctx: Context, node: Any, frame: Any) -> Any:
    """What a name or a call was worth, where it is known."""
    if isinstance(node, ast.Name):
        return frame.vars.get(node.id)
    event = ctx.event_at.get(id(node))
    return event.result if event is not None else None
