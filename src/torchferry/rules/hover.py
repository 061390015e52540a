"""What device is this, and why: for editors that ask about a place."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchferry.flow.analyse import analyse
from torchferry.flow.values import ACCEL, CPU, Inst, Method, Tensor

from .context import Context
from .modules import class_name, device_then

if TYPE_CHECKING:
    from torchferry.core.span import Span
    from torchferry.source.document import Document
    from torchferry.source.project import Project

_WORDS = {CPU: "on the CPU", ACCEL: "on the accelerator"}


def describe(doc: Document, offset: int, project: Project | None = None) -> tuple[str, Span] | None:
    """Where the tensor or module at a character lives and how it came there, and its span.

    None where the flow knows nothing. Raises UnparsableSource.
    """
    ctx = Context(doc, analyse(doc, migrating=False, project=project))
    best: tuple[int, Any, Any, Any] | None = None
    for node, value, event in _values(ctx):
        if id(node) not in ctx.parents:
            continue
        start, end = doc.span(node)
        if start <= offset < end and (best is None or end - start < best[0]):
            best = (end - start, node, value, event)
    if best is None:
        return None
    _, node, value, event = best
    return _text(ctx, node, value, event), doc.span(node)


def _values(ctx: Context) -> Any:
    """Expressions whose value is known: calls, their arguments and receivers."""
    for event in ctx.ip.events:
        if event.frame.unit.doc is not ctx.doc:
            continue
        pairs = [(event.node, event.result)]
        pairs += [(e, v) for v, e, _ in [*event.args, *event.kwargs.values()] if e is not None]
        if isinstance(event.node, ast.Call):
            func = event.node.func
            if isinstance(event.func, Method) and isinstance(func, ast.Attribute):
                pairs.append((func.value, event.func.receiver))
            elif isinstance(event.func, Inst):
                pairs.append((func, event.func))
        for node, value in pairs:
            if isinstance(value, Tensor) or (isinstance(value, Inst) and value.kind == "module"):
                yield node, value, event


def _text(ctx: Context, node: Any, value: Any, event: Any) -> str:
    name = ctx.source(node)
    if isinstance(value, Tensor):
        where = _WORDS.get(value.dev, "on a device that is not known")
        lines = [f"`{name}`: a tensor {where}", ""]
        for step in ctx.evidence(value):
            place = step.location
            own = place.path == ctx.doc.path
            lines.append(f"- {f'line {place.line}' if own else str(place)}: {step.text}")
        return "\n".join(lines).rstrip()
    where = _WORDS.get(device_then(ctx, value, event), "on a device that is not known")
    return f"`{name}`: a module of `{class_name(value)}`, {where}"
