"""Sentences, proofs and fixes that rules of several families share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix, Safety

from .devices import device_at, partner_device, tensor_parameter
from .edits import add_keyword, method_call

if TYPE_CHECKING:
    from torchferry.core.finding import Evidence

    from .causes import Cause
    from .context import Context

#: what operators are called by people
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "matmul": "@", "eq": "a comparison",
    "Add": "+=", "Sub": "-=", "Mult": "*=", "Div": "/=",
}  # fmt: skip


def operator_name(cause: Cause) -> str:
    """The operator of a clash, as the source writes it."""
    op = cause.clash.op
    return _OPERATORS.get(op, op)


def proof(ctx: Context, cause: Cause) -> list[Evidence]:
    """Where both sides come from, the calls on the way, and where they meet."""
    steps = []
    found = cause.clash.parties[0] if isinstance(cause.clash.parties[0], list) else []
    if cause.tensor is not None:
        steps += ctx.evidence(cause.tensor)
    if (
        cause.module is not None
        and cause.module.node is not None
        and ctx.statement(cause.module.node) is not None
    ):
        steps.append(ctx.step(cause.module.node, "the module is made on the CPU here"))
    if cause.moved_back is not None:
        steps.append(ctx.step(cause.moved_back, "the module is moved back to the CPU here"))
    for tensor, _ in found:
        if tensor.dev == 2 and tensor is not cause.tensor:
            steps += ctx.evidence(tensor)
            break
    for node, text in cause.extra:
        steps.append(ctx.step(node, text))
    for call, _, _ in cause.clash.stack:
        steps.append(ctx.step(call, f"passed into `{ctx.source(call)}`"))
    steps.append(ctx.step(cause.clash.node, f"met here, in {operator_name(cause)}"))
    unique = []
    for step in steps:
        if step not in unique:
            unique.append(step)
    return unique


def device_for(ctx: Context, cause: Cause, node: Any) -> str:
    """The device expression for a change at `node`."""
    near = partner_device(ctx, node, cause.partner)
    return device_at(ctx, node, cause.partner) or near


def move_fix(ctx: Context, cause: Cause, expr: Any, safety: Safety = Safety.SAFE) -> Fix | None:
    """`expr.to(device)`."""
    if expr is None or id(expr) not in ctx.parents:
        return None
    device = device_for(ctx, cause, expr)
    if not device:
        return None
    edits = method_call(ctx.doc, expr, f".to({device})")
    if edits is None:
        return None
    title = f"move `{ctx.source(expr)}` to the device"
    reason = "" if safety is Safety.SAFE else "which of the two should move is for you to say"
    return Fix(title, edits, safety, reason, group=f"move at line {expr.lineno}")


def birth_fix(ctx: Context, cause: Cause, call: Any) -> Fix | None:
    """`device=` in the factory; behind it for a call that takes none."""
    if not ctx.own(call):
        return None
    device = device_at(ctx, call)
    parameter = tensor_parameter(ctx, call)
    if parameter and (not device or device != "device" or ctx.function(call) is not None):
        device = f"{parameter}.device"
    device = device or device_for(ctx, cause, call)
    if not device:
        return None
    born = cause.tensor.why if cause.tensor is not None else None
    while born is not None and born.before is not None:
        born = born.before
    takes = born is None or born.text == "made on the CPU here"
    legacy = ctx.source(call.func).endswith("Tensor")
    edits = (
        add_keyword(ctx.doc, call, "device", device, past_star=True)
        if takes and not legacy
        else None
    )
    edits = edits or method_call(ctx.doc, call, f".to({device})")
    if edits is None:
        return None
    return Fix(
        f"make `{ctx.source(call)}` on the device of its partner", edits,
        group=f"birth at line {call.lineno}",
    )  # fmt: skip


def cpu_fix(ctx: Context, expr: Any) -> Fix | None:
    """`expr.cpu()`."""
    if expr is None or id(expr) not in ctx.parents:
        return None
    edits = method_call(ctx.doc, expr, ".cpu()")
    if edits is None:
        return None
    title = f"copy `{ctx.source(expr)}` to the host"
    return Fix(title, edits, group=f"border at line {expr.lineno}")
