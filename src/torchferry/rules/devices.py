"""Which device expression a fix can write at a place."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchferry.flow.values import ACCEL, Tensor
from torchferry.source.functions import parameters

if TYPE_CHECKING:
    from .context import Context


def device_at(ctx: Context, node: ast.AST, partner: Any = None) -> str:
    """The program's own device name visible at `node`, else the partner's device; "" for none.

    A name counts when it is bound to the accelerator before `node`, in a scope around it, and
    nothing between hides it.
    """
    function = ctx.function(node)
    line = getattr(node, "lineno", 0)
    chain = []
    while function is not None:
        chain.append(function)
        function = ctx.function(function)
    local = _parameter(ctx, chain)
    if local:
        return local
    for owner, name, stmt, bits in ctx.ip.device_names:
        if bits != ACCEL or getattr(stmt, "lineno", None) is None or not ctx.own(stmt):
            continue
        if (
            owner is None
            and (chain or stmt.lineno < line)
            and not any(_binds(f, name.partition(".")[0]) for f in chain)
        ):
            return str(name)
        if any(owner is f for f in chain) and stmt.lineno < line:
            return str(name)
    return partner_device(ctx, node, partner)


def _parameter(ctx: Context, chain: list[Any]) -> str:
    for function in chain:
        if "device" in parameters(function):
            return "device"
    return ""


def partner_device(ctx: Context, node: ast.AST, partner: Any) -> str:
    """`x.device` for a partner that is a plain name bound in the same function before."""
    if isinstance(partner, ast.Name):
        function = ctx.function(node)
        if function is not None and partner.id in parameters(function):
            return f"{partner.id}.device"
        if ctx.function(partner) is function and _bound_before(ctx, function, partner.id, node):
            return f"{partner.id}.device"
    return ""


def tensor_parameter(ctx: Context, node: ast.AST) -> str:
    """A parameter of the function around `node` that is a tensor and not bound again, or ""."""
    function = ctx.function(node)
    if function is None or isinstance(function, ast.Lambda):
        return ""
    for names in ctx.frames_of(function):
        for name in parameters(function):
            if type(names.get(name)) is Tensor and not _binds(function, name, own=True):
                return name
    return ""


def _binds(function: Any, name: str, own: bool = False) -> bool:
    if not own and name in parameters(function):
        return True
    body = function.body if isinstance(function.body, list) else [function.body]
    for stmt in body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                return True
    return False


def _bound_before(ctx: Context, function: Any, name: str, node: ast.AST) -> bool:
    body = ctx.tree.body if function is None else function.body
    line = getattr(node, "lineno", 0)
    first = 10**9
    for stmt in body if isinstance(body, list) else []:
        for part in ast.walk(stmt):
            if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store):
                first = min(first, part.lineno)
    return first < line
