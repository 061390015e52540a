"""DEV520."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix, Safety
from torchferry.core.finding import Finding, Severity

from ..devices import device_at
from ..edits import add_keyword
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

DISTRIBUTED = re.compile(r"DistributedDataParallel|init_process_group|local_rank")
_DEVICES = re.compile(r"cuda|device|\bmps\b|\bxpu\b")


class LoadNoMapLocation(Rule):
    """`torch.load` without `map_location`.

    What it does:
        Reports `torch.load` that does not say where the tensors go; a note where what is loaded
        does not look like a model or its state. A program that names no device and loads what it
        saved itself is right.

    Why is this bad:
        They go where they were saved from: a checkpoint of a GPU machine cannot be opened on a
        machine without one.

    Example:
        import torch

        state = torch.load("model.pt")

    Fix:
        import torch

        state = torch.load("model.pt", map_location="cpu")

    Fix safety:
        Unsafe: the loaded tensors may be on another device than before; `load_state_dict` copies
        them to where the model is.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.load.html
    """

    code = "DEV520"
    name = "load-no-map-location"
    fixable = True
    word = "load"

    def check(self, ctx: Context) -> Iterable[Finding]:
        if DISTRIBUTED.search(ctx.doc.text):
            return
        own = set() if _DEVICES.search(ctx.doc.text) else _saved_here(ctx)
        for event in ctx.calls("torch.load"):
            if len(event.args) > 1 or "map_location" in event.kwargs or "**" in event.kwargs:
                continue
            if event.args and event.args[0][1] is not None and ast.unparse(event.args[0][1]) in own:
                continue
            device = device_at(ctx, event.node) or '"cpu"'
            edits = add_keyword(ctx.doc, event.node, "map_location", device)
            title = f"load to `{device}`"
            reason = "the tensors may be on another device than before"
            fix = None if edits is None else Fix(title, edits, Safety.UNSAFE, reason)
            yield self.finding(
                ctx,
                event.node,
                "what was saved on a GPU cannot be loaded without one: torch.load needs "
                "map_location",
                severity=Severity.WARNING if _is_model(ctx, event.node) else Severity.NOTE,
                help="give map_location=device",
                fix=fix,
            )


_OF_MODELS = frozenset(
    "load_state_dict state_dict eval train parameters named_parameters forward predict".split()
)
_CALLED_SO = re.compile(r"(?i)ckpt|checkpoint|state|model|net\b|weight|snapshot|param|\.pth")


def _is_model(ctx: Context, load: ast.AST) -> bool:
    """Whether what is loaded is a model or the state of one, as far as the file tells.

    Data sets and vocabularies are mostly saved on the CPU.
    """
    statement = ctx.statement(load)
    file = load.args[0] if isinstance(load, ast.Call) and load.args else None
    if file is not None and _CALLED_SO.search(ast.unparse(file)):
        return True
    if _given_to_model(statement):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    if _CALLED_SO.search(" ".join(map(ast.unparse, statement.targets))):
        return True
    names = {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return any(
        any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(call))
        for call in ctx.nodes.get(ast.Call, [])
        if _of_model(call) or (isinstance(call.func, ast.Name) and call.func.id in names)
    )


def _of_model(call: ast.AST) -> bool:
    func = getattr(call, "func", None)
    return isinstance(func, ast.Attribute) and func.attr in _OF_MODELS


def _given_to_model(statement: Any) -> bool:
    return statement is not None and any(map(_of_model, ast.walk(statement)))


def _saved_here(ctx: Context) -> set[str]:
    """The files that the program writes with `torch.save`, as it spells their names."""
    return {
        ast.unparse(event.args[1][1])
        for event in ctx.calls("torch.save")
        if len(event.args) > 1 and event.args[1][1] is not None
    }
