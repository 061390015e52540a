"""DEV406."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import Func

from ..causes import causes
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context


class StaleCacheDevice(Rule):
    """A cached tensor of a module that is on the device of an earlier call.

    What it does:
        Reports the use of a tensor that `forward` (or another method) keeps in an attribute, when
        the module was moved in between and the cache was not made again.

    Why is this bad:
        A cache in a plain attribute does not move with the module, and a key without the device
        does not notice.

    Example:
        import torch
        from torch import nn

        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
                self.mask = None

            def forward(self, x):
                if self.mask is None:
                    self.mask = torch.ones(3, device=x.device)
                return self.lin(x) * self.mask

        net = Masked()
        net(torch.ones(2, 3))
        net.to("cuda")
        net(torch.ones(2, 3, device="cuda"))

    Fix:
        import torch
        from torch import nn

        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
                self.mask = None

            def forward(self, x):
                if self.mask is None or self.mask.device != x.device:
                    self.mask = torch.ones(3, device=x.device)
                return self.lin(x) * self.mask

        net = Masked()
        net(torch.ones(2, 3))
        net.to("cuda")
        net(torch.ones(2, 3, device="cuda"))

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
    """

    code = "DEV406"
    name = "stale-cache-device"
    severity = Severity.ERROR

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            attr = getattr(cause.tensor.why, "attr", "") if cause.tensor is not None else ""
            yield self.finding(
                ctx,
                cause.node,
                f"the cached `{attr}` is still on the CPU, from before the module moved",
                evidence=proof(ctx, cause),
                help="make it again when its device is not that of the input, or keep a buffer",
            )
        seen: set[int] = set()
        for node, tensor, _, op, frame, _ in ctx.ip.facts.get("either", ()):
            kept = tensor.why
            if frame.unit.doc is not ctx.doc or kept.inst.cls is None:
                continue
            stores = ctx.ip.attr_sets.get((id(kept.inst.cls.node), kept.attr), [])
            late = [s[1] for s in stores if _in_other_method(s) and s[1] is not None]
            if kept.inst.kind != "module" or not late:
                continue
            store = late[0]
            if id(store) in seen or _asks_device(ctx, store):
                continue
            seen.add(id(store))
            yield self.finding(
                ctx,
                store,
                f"the cached `{kept.attr}` may be from before the module moved: nothing asks for "
                "its device",
                severity=Severity.WARNING,
                evidence=[ctx.step(store, "kept here"), ctx.step(node, f"used here, in {op}")],
                help="make it again when its device is not that of the input, or keep a buffer",
            )


def _asks_device(ctx: Context, store: Any) -> bool:
    """Whether the branch that makes the cache looks at the device."""
    return any(
        isinstance(outer, ast.If) and "device" in ast.unparse(outer.test)
        for outer in ctx.around(store)
    )


def _in_other_method(stored: Any) -> bool:
    func = stored[3].func
    return isinstance(func, Func) and func.name != "__init__"
