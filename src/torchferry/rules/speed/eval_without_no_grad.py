"""DEV903."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding
from torchferry.flow.values import ACCEL, GRAPH, Inst, Method, Tensor, truth

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_EVALUATES = re.compile(r"(?i)(valid|eval|test|predict|infer|accuracy|score)")


class EvalWithoutNoGrad(Rule):
    """An evaluation that builds graphs.

    What it does:
        Reports the calls of a model in a loop of a function that switches it to `.eval()`, without
        `torch.no_grad()` or `inference_mode()` around and without a backward pass.

    Why is this bad:
        Every activation is kept for a backward pass that never comes: evaluation runs out of
        memory where training did not.

    Example:
        import torch
        from torch import nn

        net = nn.Linear(2, 1).to("cuda")

        def validate(batches):
            net.eval()
            total = 0.0
            for x in batches:
                total += net(x.to("cuda")).mean().item()
            return total

        validate([torch.ones(3, 2)])

    Fix:
        import torch
        from torch import nn

        net = nn.Linear(2, 1).to("cuda")

        @torch.no_grad()
        def validate(batches):
            net.eval()
            total = 0.0
            for x in batches:
                total += net(x.to("cuda")).mean().item()
            return total

        validate([torch.ones(3, 2)])

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    """

    code = "DEV903"
    name = "eval-without-no-grad"
    word = ".eval()"

    def check(self, ctx: Context) -> Iterable[Finding]:
        switched = [
            (event, event.func.receiver)
            for event in ctx.methods("eval")
            if isinstance(event.func.receiver, Inst)
        ]
        if not switched or _graphs_are_off(ctx):
            return
        seen: set[int] = set()
        for event in ctx.ip.events:
            inst = event.func
            if not isinstance(inst, Inst) or inst.kind != "module" or event.graph_off:
                continue
            if event.frame.unit.doc is not ctx.doc or id(event.node) in seen or event.exploring:
                continue
            start = next(
                (e for e, who in switched if who is inst and _reaches(ctx, e, event)), None
            )
            result = event.result
            if start is None or not isinstance(result, Tensor) or not result.flags & GRAPH:
                continue
            if result.dev != ACCEL and ctx.cuda_certain:
                continue
            loop = ctx.loop(event.node)
            seen.add(id(event.node))
            yield self.finding(
                ctx,
                loop if isinstance(loop, ast.For) else event.node,
                "the evaluation builds a graph that nobody uses: activations stay in memory",
                evidence=[
                    ctx.step(start.node, "switched to evaluation here"),
                    ctx.step(event.node, "the model is called here, with a graph"),
                ],
                help="put it under torch.no_grad() or torch.inference_mode()",
            )


def _graphs_are_off(ctx: Context) -> bool:
    """`torch.set_grad_enabled(False)` as a statement: for all that follows."""
    return any(
        isinstance(ctx.parents.get(id(event.node)), ast.Expr)
        and event.args
        and truth(event.args[0][0]) is False
        for event in ctx.calls("torch.set_grad_enabled")
    )


def _reaches(ctx: Context, start: Any, event: Any) -> bool:
    """Whether the call follows `.eval()` in the same function, in a loop, with no training."""
    function = ctx.function(event.node)
    if function is not ctx.function(start.node) or start.node.lineno > event.node.lineno:
        return False
    if ctx.loop(event.node) is None:
        return False
    if function is not None:
        text = ctx.doc.source(function)
        return ".backward(" not in text and ".grad" not in text and ".train()" not in text
    loop = ctx.loop(event.node)
    text = ctx.doc.source(loop)
    return ".backward(" not in text and ".grad" not in text and ".train(" not in ctx.doc.text


__all__ = ["EvalWithoutNoGrad", "Method", "ast"]
