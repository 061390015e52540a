"""DEV402."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix, Safety
from torchferry.core.finding import Evidence, Finding, Severity
from torchferry.flow.module_calls import needs_device
from torchferry.flow.values import Map

from ..causes import causes
from ..edits import wrap_call
from ..modules import modules_in
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context


class UnregisteredModuleList(Rule):
    """Layers that a module keeps in a Python list or dict.

    What it does:
        Reports the assignment of a plain list, tuple or dict of modules to an attribute of a
        module, where `ModuleList` or `ModuleDict` is meant.

    Why is this bad:
        Layers in a plain container are not registered: `.to()` does not move them, `parameters()`
        does not give them to the optimizer, `state_dict()` does not save them.

    Example:
        import torch
        from torch import nn

        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = [nn.Linear(2, 2), nn.Linear(2, 3)]

            def forward(self, x):
                return [head(x) for head in self.heads]

    Fix:
        import torch
        from torch import nn

        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 3)])

            def forward(self, x):
                return [head(x) for head in self.heads]

    Fix safety:
        Unsafe: the layers get parameters that the optimizer trains and the checkpoint holds.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
    """

    code = "DEV402"
    name = "unregistered-module-list"
    kinds = ("unregistered-module-dict",)
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self._report(ctx, cause.node, proof(ctx, cause), Severity.ERROR)
        for sets in ctx.ip.attr_sets.values():
            for value, stmt, target, frame in sets:
                if stmt is None or frame.unit.doc is not ctx.doc or not modules_in(value):
                    continue
                if not any(map(needs_device, modules_in(value))):
                    continue  # losses and activations have nothing to move, train or save
                if not _registered_elsewhere(ctx, target, stmt):
                    yield self._report(ctx, stmt, [], Severity.WARNING)

    def _report(
        self, ctx: Context, stmt: Any, evidence: list[Evidence], severity: Severity
    ) -> Finding:
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt
        return self.finding(
            ctx,
            stmt,
            f"the layers in `{ctx.source(target)}` are not registered: they are neither moved, "
            "nor trained, nor saved with the module",
            severity=severity,
            evidence=evidence,
            help="keep them in nn.ModuleList or nn.ModuleDict",
            fix=_container_fix(ctx, stmt, "ModuleList", "ModuleDict"),
        )


def _registered_elsewhere(ctx: Context, target: Any, stmt: Any) -> bool:
    """Whether the class hands the same container (or its items) to a registering call."""
    cls = ctx.class_of(stmt)
    attr = getattr(target, "attr", "")
    for node in ast.walk(cls) if cls is not None else ():
        if isinstance(node, ast.Call):
            last = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if last in ("add_module", "register_module", "setattr"):
                return True
            if last in ("Sequential", "ModuleList", "ModuleDict"):
                for arg in node.args:
                    for part in ast.walk(arg):
                        if isinstance(part, ast.Attribute) and part.attr == attr:
                            return True
    value = stmt.value if isinstance(stmt, ast.Assign) else None
    for part in ast.walk(value) if value is not None else ():
        # a list of layers that have names of their own: [self.a, self.b]
        if (
            isinstance(part, (ast.List, ast.Tuple))
            and part.elts
            and all(isinstance(e, ast.Attribute) for e in part.elts)
        ):
            return True
    return _appended_by_name(cls, attr)


def _appended_by_name(cls: Any, attr: str) -> bool:
    """Whether all modules in the list are names that the class registers: `self.parts[k] = m`."""
    appended: set[str] = set()
    registered: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(cls) if cls is not None else ():
        if isinstance(node, ast.Assign):
            bound |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            if any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in node.targets):
                registered.add(node.value.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, first = node.func.value, node.args[0] if node.args else None
            own = node.func.attr == "append" and getattr(owner, "attr", "") == attr
            if own and isinstance(first, ast.Name):
                appended.add(first.id)
    return bool(appended & bound) and appended & bound <= registered


def _container_fix(ctx: Context, stmt: Any, of_list: str, of_dict: str) -> Fix | None:
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return None
    prefix = nn_name(ctx)
    if not prefix:
        return None
    value = stmt.value
    if isinstance(value, (ast.List, ast.ListComp)):
        name = of_list
    elif isinstance(value, (ast.Dict, ast.DictComp)) and of_dict:
        name = of_dict
    else:
        return None
    if any(_is_container(part) for part in _parts(value)):
        return None  # each level needs a container of its own
    edits = wrap_call(ctx.doc, value, f"{prefix}.{name}")
    if edits is None:
        return None
    reason = "the layers are then trained and saved too"
    return Fix(f"keep them in a {name}", edits, Safety.UNSAFE, reason)


def _parts(value: Any) -> list[Any]:
    """The expressions of the items of a display or comprehension."""
    if isinstance(value, ast.ListComp):
        return [value.elt]
    if isinstance(value, ast.DictComp):
        return [value.value]
    return list(value.values if isinstance(value, ast.Dict) else value.elts)


def _is_container(node: Any) -> bool:
    return isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp))


def nn_name(ctx: Context) -> str:
    """What the file calls torch.nn: "nn", "torch.nn" or ""."""
    for node in ctx.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "torch":
            for alias in node.names:
                if alias.name == "nn":
                    return alias.asname or "nn"
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch.nn" and alias.asname:
                    return alias.asname
    for node in ctx.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch":
                    return f"{alias.asname or 'torch'}.nn"
    return ""


__all__ = ["Map", "UnregisteredModuleList", "nn_name"]
