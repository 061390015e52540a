"""DEV602."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix, Safety
from torchferry.core.finding import Finding

from ..edits import remove_method_call
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class ParamMovedInInit(Rule):
    """A Parameter that is moved where it is made: on a GPU it is no parameter any more.

    What it does:
        Reports `self.x = nn.Parameter(...).to(device)` and `.cuda()` in a module.

    Why is this bad:
        On the CPU `.to("cpu")` gives the Parameter itself. On a GPU it gives a plain tensor, which
        the module does not register: never trained, never saved, without an error.

    Example:
        import torch
        from torch import nn

        class Gate(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.w = nn.Parameter(torch.zeros(3)).to(device)

    Fix:
        import torch
        from torch import nn

        class Gate(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.w = nn.Parameter(torch.zeros(3))

    Fix safety:
        Unsafe: the parameter is then trained, and the module must be moved as a whole.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    code = "DEV602"
    name = "param-moved-in-init"
    fixable = True
    word = "Parameter"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for call in ctx.nodes.get(ast.Call, []):
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda"):
                continue
            if not _is_parameter(call.func.value) or _only_dtype(call):
                continue
            stmt = ctx.statement(call)
            target = stmt.targets[0] if isinstance(stmt, ast.Assign) else None
            if not isinstance(target, ast.Attribute) or ctx.class_of(call) is None:
                continue
            edits = remove_method_call(ctx.doc, call)
            reason = "the parameter is then trained; move the module as a whole"
            title = f"drop `.{call.func.attr}(...)`"
            fix = None if edits is None else Fix(title, edits, Safety.UNSAFE, reason)
            yield self.finding(
                ctx,
                call,
                f"on a GPU `{ctx.source(target)}` is a plain tensor: the moved Parameter is not "
                "registered",
                help="make the Parameter, and move the module",
                fix=fix,
            )


def _is_parameter(node: Any) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name == "Parameter"


def _only_dtype(call: ast.Call) -> bool:
    if call.func.attr == "cuda":  # type: ignore[attr-defined]
        return False
    given = [*call.args, *[k.value for k in call.keywords if k.arg != "non_blocking"]]
    return all(ast.unparse(a).startswith("torch.float") or "dtype" in ast.unparse(a) for a in given)
