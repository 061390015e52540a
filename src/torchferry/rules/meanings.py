"""What a tensor is meant for, by its name and by how it is handed over."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from torchferry.flow.values import ACCEL, Func

from .origins import birth_rule, is_literal_move

if TYPE_CHECKING:
    from torchferry.flow.events import Clash
    from torchferry.flow.values import Why

    from .context import Context

_NOISE = re.compile(r"(?i)(noise|latent|^eps|epsilon|^z\d*$|_z$|^z_)")


def is_weight(call: Any, expr: Any) -> bool:
    """Whether an expression is what a call of a loss gets as its weight."""
    return isinstance(call, ast.Call) and any(
        k.arg in ("weight", "pos_weight") and k.value is expr for k in call.keywords
    )


def is_parameter(function: Any, expr: Any) -> bool:
    """Whether an expression is a parameter of the function that was not bound again before."""
    if function is None or not isinstance(expr, ast.Name):
        return False
    spec = function.args
    if expr.id not in {a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}:
        return False
    return not any(
        isinstance(n, ast.Name)
        and n.id == expr.id
        and isinstance(n.ctx, ast.Store)
        and n.lineno < expr.lineno
        for n in ast.walk(function)
    )


def is_noise(ctx: Context, born: Why) -> bool:
    """Whether a draw is meant as noise, by the name that it gets."""
    if birth_rule(born) != "noise-on-cpu":
        return False
    stmt = ctx.statement(born.node)
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    return any(isinstance(t, ast.Name) and _NOISE.search(t.id) for t in targets)


def kept_device(ctx: Context, node: Any) -> Any:
    """Where a module stores the `self.device` that a factory was given."""
    given = [k.value for k in getattr(node, "keywords", ()) if k.arg == "device"]
    if not given or not isinstance(given[0], ast.Attribute):
        return None
    cls = ctx.class_of(node)
    if cls is None or ast.unparse(given[0].value) != "self":
        return None
    stores = ctx.ip.attr_sets.get((id(cls), given[0].attr), [])
    return next((s[1] for s in stores if s[1] is not None), None)


def led_from_here(ctx: Context, clash: Clash) -> bool:
    """Whether a clash in another file is one of what this document gives to it."""
    return any(unit.doc is ctx.doc for _, unit, _ in clash.stack)


def method_of(stored: Any) -> str:
    """The name of the function that stored an attribute; else ""."""
    func = stored[3].func
    return func.name if isinstance(func, Func) else ""


def literal_move(ctx: Context, found: list[Any]) -> Any:
    """The call in a function that put a side of a clash on the GPU, by the GPU's name."""
    for tensor, _ in found:
        newest = tensor.why
        if (
            tensor.dev == ACCEL
            and newest is not None
            and ctx.function(newest.node)
            and is_literal_move(newest.node)
        ):
            return newest.node
    return None
