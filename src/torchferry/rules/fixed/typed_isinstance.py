"""DEV803."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix
from torchferry.core.finding import Finding

from ..edits import replace
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_DTYPES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
    "LongTensor": "int64", "IntTensor": "int32", "ShortTensor": "int16", "CharTensor": "int8",
    "ByteTensor": "uint8", "BoolTensor": "bool", "BFloat16Tensor": "bfloat16",
}  # fmt: skip
_TYPE = re.compile(rf"(torch\.)?({'|'.join(_DTYPES)})$")


class TypedIsinstance(Rule):
    """`isinstance(x, torch.LongTensor)`: false for every tensor on a GPU.

    What it does:
        Reports `isinstance` and `type(x) ==` with a legacy CPU tensor type, where its CUDA
        counterpart is not asked for as well.

    Why is this bad:
        `torch.LongTensor` means "int64 on the CPU". On a GPU the test is false, and a branch is
        silently skipped.

    Example:
        import torch

        def squeeze(x):
            return x.squeeze(1) if isinstance(x, torch.LongTensor) else x

    Fix:
        import torch

        def squeeze(x):
            return x.squeeze(1) if x.dtype == torch.int64 else x

    Fix safety:
        Safe where x is a tensor; the fix is offered for a plain name only.

    References:
        https://docs.pytorch.org/docs/stable/tensors.html
    """

    code = "DEV803"
    name = "typed-isinstance"
    fixable = True
    word = "Tensor"

    def check(self, ctx: Context) -> Iterable[Finding]:
        said: set[int] = set()
        for call in ctx.nodes.get(ast.Call, []):
            if getattr(call.func, "id", "") != "isinstance" or len(call.args) != 2:
                continue
            given = call.args[1]
            kinds = given.elts if isinstance(given, ast.Tuple) else [given]
            names = [ast.unparse(kind) for kind in kinds]
            typed = [n for n in names if _TYPE.match(n)]
            if typed and not any("cuda" in n or n in ("torch.Tensor", "Tensor") for n in names):
                around = ctx.parents.get(id(call))
                if isinstance(around, ast.BoolOp):  # one finding for one condition
                    if id(around) in said:
                        continue
                    said.add(id(around))
                yield self._report(ctx, call, typed[0], _fix(ctx, call, typed, names))
        for compare in ctx.nodes.get(ast.Compare, []):
            left = compare.left
            if isinstance(left, ast.Call) and getattr(left.func, "id", "") == "type":
                right = ast.unparse(compare.comparators[0])
                if _TYPE.match(right):
                    yield self._report(ctx, compare, right, None)

    def _report(self, ctx: Context, node: Any, name: str, fix: Fix | None) -> Finding:
        return self.finding(
            ctx,
            node,
            f"{name} is the type of CPU tensors: the test is false for a tensor on a GPU",
            help="ask for the dtype: `x.dtype == torch.bool`",
            fix=fix,
        )


def _fix(ctx: Context, call: Any, typed: list[str], names: list[str]) -> Fix | None:
    subject = call.args[0]
    if len(typed) != 1 or len(names) != 1 or not isinstance(subject, ast.Name):
        return None
    if not typed[0].startswith("torch."):
        return None
    dtype = _DTYPES[typed[0].removeprefix("torch.")]
    text = f"{subject.id}.dtype == torch.{dtype}"
    parent = ctx.parents.get(id(call))
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
        text = f"{subject.id}.dtype != torch.{dtype}"
        edits = replace(ctx.doc, parent, text)
    else:
        edits = replace(ctx.doc, call, text)
    from torchferry.core.edit import Safety

    reason = "a value that is no tensor has no dtype"
    return None if edits is None else Fix("ask for the dtype", edits, Safety.UNSAFE, reason)
