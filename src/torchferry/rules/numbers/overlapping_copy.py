"""DEV744."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix
from torchferry.core.finding import Finding

from ..edits import method_call
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class OverlappingCopy(Rule):
    """A tensor that is shifted within itself.

    What it does:
        Reports `x[1:] = x[:-1]` and `x[1:].copy_(x[:-1])`: both sides are overlapping views of one
        tensor.

    Why is this bad:
        Elements are copied in parallel on a GPU: what is read may have been written already. The
        CPU's order hides it for some layouts.

    Example:
        import torch

        x = torch.arange(5)
        x[1:] = x[:-1]

    Fix:
        import torch

        x = torch.arange(5)
        x[1:] = x[:-1].clone()

    Fix safety:
        Safe: the right side is read as a whole before anything is written.

    References:
        https://docs.pytorch.org/docs/stable/tensor_view.html
    """

    code = "DEV744"
    name = "overlapping-copy"
    kinds = ("overlapping-inplace", "inplace-overlap")
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for target, _, _, frame, exploring in ctx.ip.facts.get("set-item", ()):
            stmt = ctx.statement(target)
            if exploring or frame.unit.doc is not ctx.doc or not isinstance(stmt, ast.Assign):
                continue
            if isinstance(stmt.value, ast.Subscript) and _overlap(target, stmt.value):
                yield self._report(ctx, stmt, stmt.value)
        for call, receiver, value in _copies(ctx):
            if isinstance(value, ast.Subscript) and _overlap(receiver, value):
                yield self._report(ctx, call, value)

    def _report(self, ctx: Context, node: Any, value: Any) -> Finding:
        edits = method_call(ctx.doc, value, ".clone()")
        return self.finding(
            ctx,
            node,
            f"`{ctx.source(node)}` copies a tensor onto itself: both sides overlap",
            help="clone the source first",
            fix=None if edits is None else Fix("clone the source", edits),
        )


def _copies(ctx: Context) -> Iterator[tuple[Any, Any, Any]]:
    """(call, receiver, argument) of `x[1:].copy_(x[:-1])`."""
    for event in ctx.methods("copy_"):
        call = event.node
        if not event.exploring and isinstance(call, ast.Call) and call.args:
            receiver = getattr(call.func, "value", None)
            if isinstance(receiver, ast.Subscript):
                yield call, receiver, call.args[0]


def _overlap(target: Any, value: Any) -> bool:
    if ast.unparse(target.value) != ast.unparse(value.value):
        return False
    left, right = _parts(target.slice), _parts(value.slice)
    if len(left) != len(right) or ast.unparse(target.slice) == ast.unparse(value.slice):
        return False
    overlapping = False
    for one, two in zip(left, right, strict=False):
        if isinstance(one, ast.Slice) and isinstance(two, ast.Slice):
            if ast.unparse(one) != ast.unparse(two):
                overlapping = overlapping or _shifted(one, two)
                if not overlapping:
                    return False
        elif ast.unparse(one) != ast.unparse(two):
            return False
    return overlapping


def _parts(node: Any) -> list[Any]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _shifted(one: ast.Slice, two: ast.Slice) -> bool:
    """`1:` and `:-1`: one starts later, the other ends earlier, by one small number."""
    for a, b in ((one, two), (two, one)):
        if (
            a.lower is not None
            and a.upper is None
            and b.lower is None
            and b.upper is not None
            and isinstance(b.upper, ast.UnaryOp)
            and isinstance(b.upper.op, ast.USub)
        ):
            return True
    return False
