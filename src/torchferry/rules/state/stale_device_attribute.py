"""DEV407."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import Func, Tensor

from ..causes import causes
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context


class StaleDeviceAttribute(Rule):
    """`self.device` of a module, set when it was made, used in forward.

    What it does:
        Reports a module that remembers a parameter's device in `__init__` (`self.device =
        self.weight.device`, `next(self.parameters()).device`) and uses it later.

    Why is this bad:
        `.to()`, `.cuda()` and `DataParallel` move the module, not the attribute: it names the
        device that the module had when it was made, the CPU.

    Example:
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.device = self.lin.weight.device

            def forward(self, x):
                return self.lin(x) + torch.ones(2, device=self.device)

    Fix:
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)

            def forward(self, x):
                return self.lin(x) + torch.ones(2, device=x.device)

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
    """

    code = "DEV407"
    name = "stale-device-attribute"
    word = "device"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                "the module keeps the device it was made with; `.to()` does not change it",
                severity=Severity.ERROR,
                evidence=proof(ctx, cause),
                help="ask the input or a parameter for its device where it is needed",
            )
        for (_, attr), sets in ctx.ip.attr_sets.items():
            if "device" not in attr:
                continue
            for _, stmt, target, frame in sets:
                func = frame.func
                if not isinstance(func, Func) or func.name != "__init__" or stmt is None:
                    continue
                if frame.unit.doc is not ctx.doc or not isinstance(stmt, ast.Assign):
                    continue
                value = stmt.value
                if (
                    isinstance(value, ast.Attribute)
                    and value.attr == "device"
                    and _own_parameter(ctx, value.value)
                    and _used_later(ctx, stmt, attr)
                ):
                    yield self.finding(
                        ctx,
                        stmt,
                        f"`{ctx.source(target)}` keeps the device that the module is made on; "
                        "it does not follow `.to()`",
                        severity=Severity.WARNING,
                        help="ask the input or a parameter for its device where it is needed",
                    )


def _own_parameter(ctx: Context, node: ast.expr) -> bool:
    text = ctx.source(node)
    return text.startswith(("self.", "next(self.parameters", "next(iter(self.parameters"))


def _used_later(ctx: Context, stmt: ast.stmt, attr: str) -> bool:
    cls = ctx.class_of(stmt)
    for node in ast.walk(cls) if cls is not None else ():
        if (
            isinstance(node, ast.Attribute)
            and node.attr == attr
            and isinstance(node.ctx, ast.Load)
            and node.lineno > stmt.lineno
        ):
            return True
    return False


__all__ = ["StaleDeviceAttribute", "Tensor"]
