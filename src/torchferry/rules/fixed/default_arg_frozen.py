"""DEV807."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context


class DefaultArgFrozen(Rule):
    """A device as a default argument, evaluated before the device is chosen.

    What it does:
        Reports `def f(device=DEVICE)` when DEVICE is assigned again in a function (`global`), and
        functions whose default device is the cause of a clash.

    Why is this bad:
        Python evaluates a default once, where the function is defined: it keeps the device of that
        moment.

    Example:
        import torch

        DEVICE = torch.device("cpu")

        def noise(n, device=DEVICE):
            return torch.randn(n, device=device)

        def main():
            global DEVICE
            DEVICE = torch.device("cuda")
            noise(3)

    Fix:
        import torch

        DEVICE = torch.device("cpu")

        def noise(n, device=None):
            return torch.randn(n, device=DEVICE if device is None else device)

        def main():
            global DEVICE
            DEVICE = torch.device("cuda")
            noise(3)

    Fix safety:
        No automatic fix.

    References:
        https://docs.python.org/3/faq/programming.html#why-are-default-values-shared-between-objects
    """

    code = "DEV807"
    name = "default-arg-frozen"
    word = "device"

    def check(self, ctx: Context) -> Iterable[Finding]:
        certain = {id(c.node): c for c in causes(ctx, self.name)}
        changed = _global_names(ctx)
        for function in ctx.nodes.get(ast.FunctionDef, []):
            cause = certain.get(id(function))
            spec = function.args
            given = [*spec.args[len(spec.args) - len(spec.defaults) :], *spec.kwonlyargs]
            for arg, default in zip(given, [*spec.defaults, *spec.kw_defaults], strict=False):
                if not isinstance(default, ast.Name) or default.id not in changed:
                    continue
                if "dev" not in arg.arg.lower() and "dev" not in default.id.lower():
                    continue
                yield self.finding(
                    ctx,
                    default,
                    f"`{arg.arg}={default.id}` is evaluated where the function is defined, before "
                    f"`{default.id}` is chosen",
                    severity=Severity.ERROR if cause else Severity.WARNING,
                    evidence=proof(ctx, cause)
                    if cause
                    else [ctx.step(changed[default.id], "assigned again here")],
                    help=f"default to None, and take `{default.id}` in the body",
                )
                cause = None
                certain.pop(id(function), None)
        for left in certain.values():
            yield self.finding(
                ctx,
                left.node,
                "the default device of this function is that of its definition",
                severity=Severity.ERROR,
                evidence=proof(ctx, left),
                help="default to None, and choose the device in the body",
            )


def _global_names(ctx: Context) -> dict[str, Any]:
    """Names that functions declare global and assign, with the assignment."""
    found: dict[str, Any] = {}
    for node in ctx.nodes.get(ast.Global, []):
        function = ctx.function(node)
        for part in ast.walk(function) if function is not None else ():
            if (
                isinstance(part, ast.Name)
                and isinstance(part.ctx, ast.Store)
                and part.id in node.names
            ):
                found.setdefault(part.id, part)
    return found
