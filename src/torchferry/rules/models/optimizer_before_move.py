"""DEV510."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import CPU, Inst, Method, OfModule, Seq, Tensor

from ..causes import causes
from ..context import tensors_of
from ..modules import root_of
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context


class OptimizerBeforeMove(Rule):
    """An optimizer that is built before its model is moved.

    What it does:
        Reports an optimizer over parameters on the CPU whose model moves to the GPU afterwards: an
        error where state on the CPU meets gradients on the GPU (copies of parameters, Adagrad, a
        state that was loaded or stepped before the move), else a note.

    Why is this bad:
        `Module.to` keeps the parameters, so a fresh SGD or Adam survives; what was already copied
        or allocated for them does not move.

    Example:
        import torch
        from torch import nn

        net = nn.Linear(2, 1)
        opt = torch.optim.Adagrad(net.parameters())
        net.to("cuda")
        net(torch.ones(1, 2, device="cuda")).sum().backward()
        opt.step()

    Fix:
        import torch
        from torch import nn

        net = nn.Linear(2, 1)
        net.to("cuda")
        opt = torch.optim.Adagrad(net.parameters())
        net(torch.ones(1, 2, device="cuda")).sum().backward()
        opt.step()

    Fix safety:
        No automatic fix: statements change their order.

    References:
        https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    """

    code = "DEV510"
    name = "optimizer-before-move"
    severity = Severity.NOTE

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                "the optimizer copies the parameters before the model is moved: its copies stay on "
                "the CPU",
                severity=Severity.ERROR,
                evidence=proof(ctx, cause),
                help="move the model first, then build the optimizer",
            )
        for event in ctx.calls_under("torch.optim."):
            inst = event.result
            if not isinstance(inst, Inst) or inst.kind != "optimizer" or not event.args:
                continue
            modules = _modules_on_host(event.args[0][0])
            move = _later_move(ctx, event, modules)
            if move is not None:
                yield self._report(ctx, event, inst, move)

    def _report(self, ctx: Context, event: Any, inst: Inst, move: Any) -> Finding:
        used = _used_before(ctx, inst, move)
        certain = inst.ext.endswith("Adagrad") or used is not None
        what = "allocated its state" if used is None else f"got its state in line {used.lineno}"
        return self.finding(
            ctx,
            event.node,
            f"the optimizer {what} on the CPU, and the model moves in line {move.lineno}"
            if certain
            else f"the optimizer is built before the model moves in line {move.lineno}",
            severity=Severity.ERROR if certain else Severity.NOTE,
            evidence=[ctx.step(move, "the model moves here")],
            help="move the model first, then build the optimizer",
        )


def _modules_on_host(value: Any) -> set[int]:
    found = set()
    if isinstance(value, Seq) and isinstance(value.state.get("module"), Inst):
        inst = value.state["module"]
        elem = value.state["elem"]
        if isinstance(elem, Tensor) and elem.dev == CPU:
            found.add(id(root_of(inst)))
    for tensor in tensors_of(value):
        why = tensor.why
        if isinstance(why, OfModule) and tensor.dev == CPU:
            found.add(id(root_of(why.inst)))
    return found


def _later_move(ctx: Context, event: Any, modules: set[int]) -> Any:
    if not modules:
        return None
    order = {id(e.node): i for i, e in reversed(list(enumerate(ctx.ip.events)))}
    start = order.get(id(event.node), 0)
    for inst, bits, node, frame, _ in ctx.ip.facts.get("module-move", ()):
        if (
            frame.unit.doc is ctx.doc
            and bits == 2
            and id(root_of(inst)) in modules
            and order.get(id(node), -1) > start
            and frame.func is event.frame.func
        ):
            return node
    return None


def _used_before(ctx: Context, inst: Inst, move: Any) -> Any:
    """A step or a loaded state of the optimizer before the move."""
    for event in ctx.ip.events:
        if event.node is move:
            return None
        func = event.func
        if isinstance(func, Method) and func.receiver is inst:
            if func.name == "load_state_dict":
                return event.node
            stateful = "SGD" not in inst.ext
            if func.name == "step" and stateful:
                return event.node
    return None
