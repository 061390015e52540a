"""DEV722."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Edit, Fix
from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, ARRAY, DOUBLE, Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class MpsFloat64(Rule):
    """A double that is moved to the device before it is cast to float.

    What it does:
        Reports `torch.from_numpy(...).to(device).float()`, where the move comes before the cast;
        in a program that may pick MPS also a tensor of float64 that is made on the device.

    Why is this bad:
        numpy computes in float64. MPS refuses such tensors, and CUDA copies twice the bytes.

    Example:
        import torch

        def load(table, device):
            return torch.from_numpy(table).to(device).float()  # device may be mps

    Fix:
        import torch

        def load(table, device):
            return torch.from_numpy(table).float().to(device)  # device may be mps

    Fix safety:
        Safe: the same values; the cast is done on the host.

    References:
        https://docs.pytorch.org/docs/stable/notes/mps.html
    """

    code = "DEV722"
    name = "mps-float64"
    fixable = True
    word = "float"

    def check(self, ctx: Context) -> Iterable[Finding]:
        if "mps" in ctx.doc.text:
            for event in _made_double(ctx):
                yield self.finding(
                    ctx,
                    event.node,
                    "a tensor of float64 is made on the device: MPS refuses it",
                    help="use float32",
                )
        for call in ctx.nodes.get(ast.Call, []):
            if not _casts_to_float(call):
                continue
            move = call.func.value
            if not isinstance(move, ast.Call) or not isinstance(move.func, ast.Attribute):
                continue
            if move.func.attr not in ("to", "cuda") or _has_dtype(move):
                continue
            source = move.func.value
            if not isinstance(source, ast.Call) or not _keeps_float64(ctx, source):
                continue
            level = Severity.WARNING if "mps" in ctx.doc.text else Severity.NOTE
            yield self.finding(
                ctx,
                call,
                "the float64 array is moved before it is cast to float32: MPS refuses it",
                severity=level,
                help="cast first, then move",
                fix=_swap(ctx, call, move),
            )


def _made_double(ctx: Context) -> Iterator[Any]:
    """Factories that are asked for float64 on the accelerator."""
    for event in ctx.calls_under("torch."):
        result = event.result
        if "device" not in event.kwargs or not isinstance(result, Tensor):
            continue
        if result.dev == ACCEL and result.flags & DOUBLE:
            yield event


def _keeps_float64(ctx: Context, call: ast.Call) -> bool:
    """A tensor of a numpy array, with the array's dtype."""
    if _name(call) == "from_numpy":
        return True
    event = ctx.event_at.get(id(call))
    return (
        _name(call) in ("tensor", "as_tensor")
        and event is not None
        and "dtype" not in event.kwargs
        and bool(event.args)
        and event.args[0][0] is ARRAY
    )


def _casts_to_float(call: Any) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "float" and not call.args:
        return True
    first = call.args[0] if call.args else None
    return call.func.attr == "to" and first is not None and "float32" in ast.unparse(first)


def _has_dtype(call: ast.Call) -> bool:
    return any("float" in ast.unparse(a) or "dtype" in ast.unparse(a) for a in call.args) or any(
        k.arg == "dtype" for k in call.keywords
    )


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _swap(ctx: Context, call: ast.Call, move: ast.Call) -> Fix | None:
    doc = ctx.doc
    start = doc.span(move.func.value).end  # type: ignore[attr-defined]
    middle, end = doc.span(move).end, doc.span(call).end
    first, second = doc.text[start:middle], doc.text[middle:end]
    if "#" in first + second or "\n" in first + second or not first.startswith("."):
        return None
    return Fix("cast before the move", (Edit(start, end, second + first),))
