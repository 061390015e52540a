"""DEV741."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_SHARING = ("from_numpy", "as_tensor", "asarray", "frombuffer")


class AliasingLost(Rule):
    """A tensor that shares memory with a numpy array, until it is moved.

    What it does:
        Reports `view = torch.as_tensor(array).to(device)` when the array is written afterwards and
        `view` is used as if it saw the change.

    Why is this bad:
        On the CPU `.to` gives the tensor itself, which shares the array's memory. On a GPU it is a
        copy of that moment.

    Example:
        import numpy as np
        import torch

        def play(net, device):
            board = np.zeros(9)
            view = torch.as_tensor(board).to(device)
            for k in range(3):
                board[k] = 1
                net(view)

    Fix:
        import numpy as np
        import torch

        def play(net, device):
            board = np.zeros(9)
            for k in range(3):
                board[k] = 1
                net(torch.as_tensor(board).to(device))

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.as_tensor.html
    """

    code = "DEV741"
    name = "aliasing-lost"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for node in ctx.nodes.get(ast.Assign, []):
            if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
                continue
            array = _shared_array(node.value)
            if not array or array == node.targets[0].id or _casts_only(node.value):
                continue
            written = _written_after(ctx, node, array, node.targets[0].id)
            if written is not None:
                yield self.finding(
                    ctx,
                    node,
                    f"`{node.targets[0].id}` shares the memory of `{array}` on the CPU only: on a "
                    "GPU it is a copy that does not see later changes",
                    evidence=[ctx.step(written, f"`{array}` is changed here")],
                    help="make the tensor again after the change",
                )


def _shared_array(value: Any) -> str:
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return ""
    inner = value.func.value
    if value.func.attr not in ("to", "cuda") or not isinstance(inner, ast.Call):
        return ""
    name = inner.func.attr if isinstance(inner.func, ast.Attribute) else ""
    if name not in _SHARING or not inner.args or inner.keywords:
        return ""
    first = inner.args[0]
    return first.id if isinstance(first, ast.Name) else ""


_DTYPES = tuple(f"torch.{kind}" for kind in "float double half bfloat int uint long bool".split())


def _casts_only(move: ast.Call) -> bool:
    """`.to(torch.float)`: a copy on every device."""
    words = [ast.unparse(word) for word in (*move.args, *(k.value for k in move.keywords))]
    return bool(words) and all(word.startswith(_DTYPES) for word in words)


def _written_after(ctx: Context, node: Any, array: str, view: str) -> Any:
    scope = ctx.function(node) or ctx.tree
    written = None
    used = 0
    loop = None
    for part in ast.walk(scope):
        line = getattr(part, "lineno", 0)
        if line <= node.lineno:
            continue
        if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            if (
                isinstance(part.value, ast.Name)
                and part.value.id == array
                and (written is None or line < written.lineno)
            ):
                written, loop = part, ctx.loop(part)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            if part.id in (view, array):
                return None
        elif isinstance(part, ast.Name) and part.id == view:
            used = max(used, line)
    if written is None or (ctx.loop(node) is not None and loop is ctx.loop(node)):
        return None
    return written if used > written.lineno else None
