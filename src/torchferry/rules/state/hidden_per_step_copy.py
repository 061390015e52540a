"""DEV404."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding
from torchferry.flow.values import ACCEL, CPU, Func, Kept, Tensor, Why

from ..context import in_method
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class HiddenPerStepCopy(Rule):
    """A table that a module keeps on the CPU and copies to the device in every forward.

    What it does:
        Reports `.to(x.device)` (or `.cuda()`) in `forward` on a plain tensor attribute, and the
        place where the attribute is made, when the module is used on a device.

    Why is this bad:
        Each step waits for the same copy from pageable host memory. A buffer moves once, with the
        module.

    Example:
        import torch
        from torch import nn

        class Position(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.table = torch.zeros(10, 4)

            def forward(self, x):
                return self.lin(x) + self.table.to(x.device)

        Position().to("cuda")(torch.ones(10, 4, device="cuda"))

    Fix:
        import torch
        from torch import nn

        class Position(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.register_buffer("table", torch.zeros(10, 4), persistent=False)

            def forward(self, x):
                return self.lin(x) + self.table

        Position().to("cuda")(torch.ones(10, 4, device="cuda"))

    Fix safety:
        No automatic fix: the attribute may be meant to stay on the host.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer
    """

    code = "DEV404"
    name = "hidden-per-step-copy"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.methods("to", "cuda"):
            tensor = event.func.receiver
            if not isinstance(tensor, Tensor) or event.exploring or tensor.dev != CPU:
                continue
            kept = tensor.why
            if not isinstance(kept, Kept) or kept.inst.kind != "module":
                continue
            if kept.inst.cls is not None and kept.inst.cls.find("_apply") is not None:
                continue  # the class moves it by itself
            if not in_method(event, "forward") or not isinstance(event.result, Tensor):
                continue
            if event.result.dev != ACCEL or _kept_again(ctx, event.node, kept.attr):
                continue
            made = _made_at(ctx, kept)
            what = "a tensor attribute" if kept.attr.startswith("?") else f"`{kept.attr}`"
            evidence = [ctx.step(made, "made on the CPU here")] if made is not None else []
            message = f"{what} is copied to the device again in every forward"
            yield self.finding(
                ctx, event.node, message, evidence=evidence,
                help="make it a buffer: register_buffer(..., persistent=False)",
            )  # fmt: skip
            if made is not None:
                yield self.finding(
                    ctx,
                    made,
                    f"{what} is a plain attribute, so that `.to()` leaves it on the CPU",
                    evidence=[ctx.step(event.node, "and each forward copies it here")],
                    help="make it a buffer: register_buffer(..., persistent=False)",
                )


def _made_at(ctx: Context, kept: Kept) -> Any:
    """The statement that makes and keeps the tensor."""
    stores = ctx.ip.attr_sets.get((id(kept.inst.cls.node), kept.attr), []) if kept.inst.cls else []
    for _, stmt, _, frame in stores:
        if stmt is not None and frame.unit.doc is ctx.doc:
            return stmt
    before: Why | None = kept.before
    if before is None or id(before.node) not in ctx.parents:
        return None
    stmt = ctx.statement(before.node)
    return stmt if isinstance(stmt, (ast.Assign, ast.Expr, ast.AnnAssign)) else None


def _kept_again(ctx: Context, node: Any, attr: str) -> bool:
    """`self.x = self.x.to(...)`: copied once, then it stays."""
    stmt = ctx.statement(node)
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    return any(isinstance(t, ast.Attribute) and t.attr == attr for t in targets)


__all__ = ["Func", "HiddenPerStepCopy"]
