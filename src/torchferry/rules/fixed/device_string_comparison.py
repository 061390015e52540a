"""DEV805."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Edit, Fix
from torchferry.core.finding import Finding

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_CPU_TYPE = re.compile(r"torch\.\w+Tensor$")


class DeviceStringComparison(Rule):
    """`x.device == "cuda"`: a device is never equal to a string without its index.

    What it does:
        Reports comparisons of `.device` (or `str(x.device)`) with "cuda", and of `x.type()` with
        the name of a CPU type.

    Why is this bad:
        The device of a GPU tensor is `cuda:0`, its type `torch.cuda.FloatTensor`: the test is
        false on the very machine it is made for.

    Example:
        import torch

        def sync(x):
            if x.device == "cuda":
                torch.cuda.synchronize()

    Fix:
        import torch

        def sync(x):
            if x.device.type == "cuda":
                torch.cuda.synchronize()

    Fix safety:
        Safe: `.type` is the string that was meant.

    References:
        https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device
    """

    code = "DEV805"
    name = "device-string-comparison"
    kinds = ("string-device-compare", "type-string-comparison")
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for node in ctx.nodes.get(ast.Compare, []):
            if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
                continue
            for one, two in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
                if not isinstance(two, ast.Constant) or not isinstance(two.value, str):
                    continue
                if two.value in ("cuda", "mps", "xpu") and _is_device(_meant(ctx, one)):
                    yield self._device(ctx, node, one, two.value)
                elif (
                    _CPU_TYPE.match(two.value) and _is_type_call(one) and ".cuda." not in two.value
                ):
                    yield self.finding(
                        ctx,
                        node,
                        f'"{two.value}" is the type of CPU tensors: false on a GPU',
                        help="compare the dtype: `x.dtype == torch.float32`",
                    )

    def _device(self, ctx: Context, node: Any, one: Any, word: str) -> Finding:
        fix = None
        if isinstance(one, ast.Attribute):
            end = ctx.doc.span(one).end
            fix = Fix("compare the device's type", (Edit(end, end, ".type"),))
        return self.finding(
            ctx,
            node,
            f'`{ctx.source(one)}` is "{word}:0" on a GPU, never equal to "{word}"',
            help="compare `.type`",
            fix=fix,
        )


def _meant(ctx: Context, node: Any) -> Any:
    """The expression; what a name was bound to, where its function binds it once."""
    wrapped = node
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "str" and node.args:
        wrapped = node.args[0]
    if not isinstance(wrapped, ast.Name):
        return node
    scope = ctx.function(node)
    bound = [
        stmt.value for stmt in ctx.nodes.get(ast.Assign, [])
        if ctx.function(stmt) is scope
        and any(isinstance(t, ast.Name) and t.id == wrapped.id for t in stmt.targets)
    ]  # fmt: skip
    return bound[0] if len(bound) == 1 else node


def _is_device(node: Any) -> bool:
    """A tensor's or parameter's own `.device`; an option of that name may be a string."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "str" and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Attribute) or node.attr != "device":
        return False
    text = ast.unparse(node.value)
    first = text.split(".")[0].split("[")[0]
    return first not in ("args", "opt", "opts", "config", "cfg", "self", "cls", "params", "hparams")


def _is_type_call(node: Any) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "type"
        and not node.args
    )
