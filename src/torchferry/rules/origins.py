"""Where a tensor comes from, and on which way it came to an operator."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchferry.flow.values import ACCEL, CPU, PARAM, Tensor, Why

from .context import Context, tensors_of

if TYPE_CHECKING:
    from torchferry.flow.events import Clash

RANDOM = frozenset("rand randn randint randperm normal bernoulli multinomial".split())
_HOST_TEXTS = ("made on the CPU here", "made from host memory here")


def argument_of(ctx: Context, call: Any, born: Why) -> Any:
    """The argument of a call that carries the tensor born there."""
    event = ctx.event_at.get(id(call))
    if event is None:
        return None
    for value, expr, starred in [*event.args, *event.kwargs.values()]:
        if expr is None or starred:
            continue
        if isinstance(value, Tensor) and _carries(ctx, value, born):
            return expr
    return None


def _carries(ctx: Context, tensor: Tensor, born: Why) -> bool:
    return any(w.node is born.node for w in ctx.chain(tensor)) and tensor.dev != ACCEL


def passed_at(ctx: Context, clash: Clash, born: Why, dev: int = CPU) -> Any:
    """The outermost call on the way to the clash that was given the tensor; else None."""
    for call, unit, _ in clash.stack:
        event = ctx.event_at.get(id(call))
        if event is None or unit.doc is not ctx.doc:
            continue
        for value, _, _ in [*event.args, *event.kwargs.values()]:
            for tensor in tensors_of(value):
                if tensor.dev == dev and any(w.node is born.node for w in ctx.chain(tensor)):
                    return call
    return None


def is_factory(why: Why) -> bool:
    """Whether a tensor was made by a call in this file, on the host for certain."""
    return why.text in _HOST_TEXTS and isinstance(why.node, ast.Call)


def birth_rule(born: Why) -> str:
    """The rule for a tensor that a function makes on the host."""
    last = _called_name(born.node)
    if last.endswith("Tensor"):
        return "legacy-constructor"
    if last in RANDOM:
        return "noise-on-cpu"
    return "factory-in-forward"


def frozen_default(node: Any, function: Any) -> bool:
    """Whether a tensor's device is a default argument of the function that makes it."""
    if not isinstance(node, ast.Call) or isinstance(function, ast.Lambda):
        return False
    given = next((k.value for k in node.keywords if k.arg == "device"), None)
    if given is None and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        given = node.args[0] if node.args else None
    if not isinstance(given, ast.Name):
        return False
    spec = function.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)][-len(spec.defaults) :]
    return bool(spec.defaults) and given.id in names


def parameter_list(ctx: Context, tensor: Tensor, born: Why) -> Any:
    """The statement that stores a parameter in a plain list of a module."""
    if not tensor.flags & PARAM:
        return None
    for sets in ctx.ip.attr_sets.values():
        for value, stmt, _, _ in sets:
            if isinstance(value, Tensor) or stmt is None:
                continue
            for inner in tensors_of(value):
                if inner.flags & PARAM and inner.why is not None and inner.why.node is born.node:
                    return stmt
    return None


# ---- borders and indices


def is_literal_move(node: Any) -> bool:
    """`.cuda()`, or a call that names the accelerator in a string."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        return True
    words = [*node.args, *[k.value for k in node.keywords]]
    return any(
        isinstance(w, ast.Constant) and isinstance(w.value, str) and w.value.startswith("cuda")
        for w in words
    )


def discarded_births(ctx: Context) -> dict[int, Any]:
    """id(birth) of tensors -> the call whose moved result is thrown away."""
    found: dict[int, Any] = {}
    for event in discarded_moves(ctx):
        for why in ctx.chain(event.func.receiver):
            found.setdefault(id(why.node), event.node)
    return found


def discarded_moves(ctx: Context) -> list[Any]:
    """Moves of tensors to the accelerator that stand alone as a statement."""
    return [
        event
        for event in ctx.methods("to", "cuda")
        if isinstance(event.func.receiver, Tensor)
        and isinstance(ctx.parents.get(id(event.node)), ast.Expr)
    ]


def _called_name(call: ast.Call) -> str:
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def is_entry(function: Any) -> bool:
    """A function that stands for the program itself: its tensors are data."""
    return getattr(function, "name", "") in ("main", "run", "train", "__init__", "setup")
