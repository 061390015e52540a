"""DEV902."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix
from torchferry.core.finding import Finding
from torchferry.flow.values import GRAPH, LEAF, Func, Method, Seq, Tensor

from ..edits import method_call
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class LossAccumulateGraph(Rule):
    """A loss that is added up or kept with its graph.

    What it does:
        Reports `running += loss`, `losses.append(loss)` and `total[name] += loss` in a training
        loop when the loss holds a graph and nothing calls backward on the sum.

    Why is this bad:
        Each kept loss holds the graph of its step: the memory of the GPU fills up, step by step.

    Example:
        import torch
        from torch import nn

        net = nn.Linear(2, 1)
        running = 0.0
        for _ in range(10):
            loss = net(torch.ones(3, 2)).mean()
            loss.backward()
            running += loss

    Fix:
        import torch
        from torch import nn

        net = nn.Linear(2, 1)
        running = 0.0
        for _ in range(10):
            loss = net(torch.ones(3, 2)).mean()
            loss.backward()
            running += loss.item()

    Fix safety:
        Safe: `.detach()` has the same value and does not wait for the GPU.

    References:
        https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "DEV902"
    name = "loss-accumulate-graph"
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for node, _, right, frame, _, _ in ctx.ip.facts.get("augmented", ()):
            if frame.unit.doc is not ctx.doc or not isinstance(node.op, ast.Add):
                continue
            kept = self._kept(ctx, node, node.target) or _kept_by_object(ctx, node, frame)
            if _holds_graph(right) and kept:
                yield self._report(ctx, node, node.value)
        for event in ctx.ip.events:
            func = event.func
            if not isinstance(func, Method) or func.name != "append" or not event.args:
                continue
            if event.frame.unit.doc is not ctx.doc or not isinstance(func.receiver, Seq):
                continue
            value, expr, _ = event.args[0]
            if _holds_graph(value) and self._kept(ctx, event.node, event.node.func.value):
                yield self._report(ctx, event.node, expr)

    def _kept(self, ctx: Context, node: Any, target: Any) -> bool:
        """In a loop with a backward pass, into something that nobody differentiates."""
        loop = ctx.loop(node)
        if loop is None:
            return False
        step: Any = loop  # the loop of the training steps may be around the one that adds up
        while step is not None and not _trains(ctx, step):
            step = ctx.loop(step)
        if step is None:
            return False
        while isinstance(target, ast.Subscript):
            target = target.value
        name = ast.unparse(target)
        scope = ctx.function(node) or ctx.tree
        for part in ast.walk(scope):
            if isinstance(part, ast.Call):
                if ast.unparse(part.func) == f"{name}.backward":
                    return False
                words = [ast.unparse(a) for a in part.args]
                last = ast.unparse(part.func).rpartition(".")[2]
                if name in words and last in ("stack", "cat", "sum", "backward", "grad", "mean"):
                    return False
                if (
                    name in words
                    and ctx.loop(part) is loop
                    and last not in ("print", "float", "len")
                ):
                    return False
        return not _made_in(step, name)

    def _report(self, ctx: Context, node: Any, expr: Any) -> Finding:
        edits = method_call(ctx.doc, expr, ".detach()")
        fix = None if edits is None else Fix(f"detach `{ctx.source(expr)}`", edits)
        return self.finding(
            ctx,
            node,
            f"`{ctx.source(expr)}` is kept with its graph: memory grows with every step",
            help="keep `.item()` or `.detach()`",
            fix=fix,
        )


def _kept_by_object(ctx: Context, node: Any, frame: Any) -> bool:
    """`self.total += loss` in a method that is called, as a statement, in a training loop."""
    function = ctx.function(node)
    target = node.target
    if function is None or not isinstance(frame.func, Func) or frame.func.cls is None:
        return False
    if not isinstance(target, ast.Attribute) or ast.unparse(target.value) != "self":
        return False
    if f"{ast.unparse(target)}.backward" in ctx.doc.source(ctx.class_of(node) or function):
        return False
    for call in ctx.nodes.get(ast.Call, []):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != function.name:
            continue
        loop = ctx.loop(call) if isinstance(ctx.parents.get(id(call)), ast.Expr) else None
        if loop is not None and _trains(ctx, loop) and ctx.class_of(call) is not ctx.class_of(node):
            return True
    return False


def _trains(ctx: Context, loop: Any) -> bool:
    text = ctx.doc.source(loop)
    return ".backward(" in text or ".grad(" in text


def _holds_graph(value: Any) -> bool:
    return isinstance(value, Tensor) and bool(value.flags & GRAPH) and not value.flags & LEAF


def _made_in(loop: Any, name: str) -> bool:
    """Whether the loop itself binds the name anew in each step."""
    for stmt in loop.body:
        for part in ast.walk(stmt):
            if isinstance(part, ast.Assign) and any(ast.unparse(t) == name for t in part.targets):
                return True
    return False
