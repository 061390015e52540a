"""DEV605."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class MoveUndone(Rule):
    """A later assignment that reads the unmoved tensor again.

    What it does:
        Reports `x = source.clamp(...)` after `x = source.to(device)` in one function, when x is
        used afterwards.

    Why is this bad:
        The second assignment starts from the tensor on the CPU: the move is lost.

    Example:
        import torch

        def load(batch, device):
            x = batch["x"].to(device)
            if x.dim() == 2:
                x = batch["x"].clamp(-1, 1)
            return x * 2

    Fix:
        import torch

        def load(batch, device):
            x = batch["x"].to(device)
            if x.dim() == 2:
                x = x.clamp(-1, 1)
            return x * 2

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """

    code = "DEV605"
    name = "move-undone"

    def check(self, ctx: Context) -> Iterable[Finding]:
        moves: dict[tuple[int, str], tuple[Any, str]] = {}
        for node, target, value in _assignments(ctx):
            name = target.id
            source = _moved_source(value)
            if not source and not moves:
                continue
            key = (id(ctx.function(node)), name)
            if source:
                if source != name:
                    moves[key] = (node, source)
                continue
            found = moves.pop(key, None)
            if found is not None and self._undoes(ctx, node, found, name):
                yield self.finding(
                    ctx,
                    node,
                    f"`{name}` is made from `{found[1]}` again, which was never moved itself",
                    evidence=[ctx.step(found[0], f"`{name}` is moved here")],
                    help=f"go on from the moved `{name}`",
                )

    def _undoes(self, ctx: Context, node: Any, found: tuple[Any, str], name: str) -> bool:
        move, source = found
        if not isinstance(node, ast.Assign) or not _made_of(node.value, source, name):
            return False
        text = ast.unparse(node.value)
        if any(word in text for word in (".to(", ".cuda(", "device", ".cpu(", ".shape", ".size(")):
            return False
        if ctx.loop(move) is not ctx.loop(node) or _other_branch(ctx, move, node):
            return False
        return _used_after(ctx, node, name)


def _assignments(ctx: Context) -> Iterator[tuple[Any, ast.Name, Any]]:
    """(statement, name, value) of `a = x` and of each pair of `a, b = x, y`."""
    for node in ctx.nodes.get(ast.Assign, []):
        if len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name):
            yield node, target, value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, part in zip(target.elts, value.elts, strict=False):
                if isinstance(one, ast.Name) and _moved_source(part):
                    yield node, one, part


def _made_of(value: Any, source: str, name: str) -> bool:
    """Whether a value is the source, a method of it, or arithmetic with it, without the name."""
    if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value)):
        return False
    while True:
        if ast.unparse(value) == source:
            return True
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            value = value.func.value
        elif isinstance(value, ast.Attribute):
            value = value.value
        elif isinstance(value, ast.BinOp):
            value = value.left
        else:
            return False


def _moved_source(value: Any) -> str:
    """`source` of `source.to(device)` or `source.cuda()`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return ""
    if value.func.attr not in ("to", "cuda"):
        return ""
    base = value.func.value
    if not isinstance(base, (ast.Name, ast.Subscript, ast.Attribute)):
        return ""
    given = [ast.unparse(a) for a in value.args]
    if value.func.attr == "to" and not any("dev" in g.lower() or "cuda" in g for g in given):
        return ""
    return ast.unparse(base)


def _other_branch(ctx: Context, move: Any, node: Any) -> bool:
    """Whether the two assignments are in alternatives: only one of them runs."""
    outer = {id(n): n for n in ctx.around(move)}
    child = node
    for around in ctx.around(node):
        if id(around) in outer and isinstance(around, (ast.If, ast.Try)):
            first = next((s for s in around.body if move is s or move in ast.walk(s)), None)
            second = child in around.body
            return (first is not None) != second
        child = around
    return False


def _used_after(ctx: Context, node: Any, name: str) -> bool:
    scope = ctx.function(node)
    body = ctx.tree if scope is None else scope
    for part in ast.walk(body):
        if (
            isinstance(part, ast.Name)
            and part.id == name
            and isinstance(part.ctx, ast.Load)
            and part.lineno > node.lineno
        ):
            return True
    return False
