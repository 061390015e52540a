"""DEV403."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix, Safety
from torchferry.core.finding import Evidence, Finding, Severity
from torchferry.flow.values import PARAM, Map, OfModule, Seq, Why

from ..causes import causes
from ..context import tensors_of
from ..edits import wrap_call
from ..rule import Rule
from ..wording import proof
from .unregistered_module_list import nn_name

if TYPE_CHECKING:
    from ..context import Context


class UnregisteredParamList(Rule):
    """Parameters that a module keeps in a Python list or dict.

    What it does:
        Reports the assignment of a plain list or dict of `nn.Parameter` to an attribute of a
        module.

    Why is this bad:
        Parameters in a plain container are not registered: neither moved, nor trained, nor saved.

    Example:
        import torch
        from torch import nn

        class Poly(nn.Module):
            def __init__(self):
                super().__init__()
                self.coef = [nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))]

            def forward(self, x):
                return self.coef[0] + self.coef[1] * x

    Fix:
        import torch
        from torch import nn

        class Poly(nn.Module):
            def __init__(self):
                super().__init__()
                self.coef = nn.ParameterList(
                    [nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))]
                )

            def forward(self, x):
                return self.coef[0] + self.coef[1] * x

    Fix safety:
        Unsafe: the parameters are then trained and saved, which they were not before.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html
    """

    code = "DEV403"
    name = "unregistered-param-list"
    kinds = ("unregistered-param-dict",)
    fixable = True
    word = "Parameter"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self._report(ctx, cause.node, proof(ctx, cause), Severity.ERROR)
        for sets in ctx.ip.attr_sets.values():
            for value, stmt, target, frame in sets:
                if stmt is None or frame.unit.doc is not ctx.doc:
                    continue
                if not isinstance(value, (Seq, Map)) or not _made_here(ctx, value, stmt):
                    continue
                if not _registered_elsewhere(ctx, target, stmt):
                    yield self._report(ctx, stmt, [], Severity.WARNING)

    def _report(
        self, ctx: Context, stmt: Any, evidence: list[Evidence], severity: Severity
    ) -> Finding:
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt
        return self.finding(
            ctx,
            stmt,
            f"the parameters in `{ctx.source(target)}` are not registered: they are neither "
            "moved, nor trained, nor saved with the module",
            severity=severity,
            evidence=evidence,
            help="keep them in nn.ParameterList or nn.ParameterDict",
            fix=_fix(ctx, stmt),
        )


def _registered_elsewhere(ctx: Context, target: Any, stmt: Any) -> bool:
    """Whether the class registers parameters by hand, or keeps the same list in a container."""
    cls, attr = ctx.class_of(stmt), getattr(target, "attr", "")
    for node in ast.walk(cls) if cls is not None else ():
        if not isinstance(node, ast.Call):
            continue
        last = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if last in ("register_parameter", "setattr"):
            return True
        if last in ("ParameterList", "ParameterDict"):
            names = {n.attr for a in node.args for n in ast.walk(a) if isinstance(n, ast.Attribute)}
            if attr in names:
                return True
    return False


def _made_here(ctx: Context, value: Any, stmt: Any) -> bool:
    """Whether the container holds parameters that have no other name in the module."""
    for tensor in tensors_of(value):
        if isinstance(tensor.why, OfModule):
            continue  # `list(self.layer.parameters())`: the layer has them
        if tensor.flags & PARAM and tensor.why is not None:
            line = getattr(tensor.why.node, "lineno", 0)
            if stmt.lineno <= line <= (stmt.end_lineno or stmt.lineno):
                return True
            if type(tensor.why) is Why and _put_in(ctx, tensor.why.node):
                return not _registers(ctx, stmt)
    return False


def _put_in(ctx: Context, born: Any) -> bool:
    """Whether a parameter is made in the call that puts it into a list: `.append(Parameter())`."""
    for outer in ctx.around(born):
        if isinstance(outer, ast.stmt):
            return isinstance(outer, ast.Expr)
        if not isinstance(outer, ast.Call) or not isinstance(outer.func, ast.Attribute):
            continue
        if outer.func.attr in ("append", "extend", "insert"):
            return True
    return False


def _registers(ctx: Context, stmt: Any) -> bool:
    """Whether the class registers parameters by itself somewhere."""
    cls = ctx.class_of(stmt)
    text = ctx.doc.source(cls) if cls is not None else ""
    return "register_parameter(" in text or "setattr(" in text or "ParameterList(" in text


def _fix(ctx: Context, stmt: Any) -> Fix | None:
    prefix = nn_name(ctx)
    if not prefix or not isinstance(stmt, ast.Assign):
        return None
    if isinstance(stmt.value, (ast.List, ast.ListComp)):
        name = "ParameterList"
    elif isinstance(stmt.value, (ast.Dict, ast.DictComp)):
        name = "ParameterDict"
    else:
        return None
    edits = wrap_call(ctx.doc, stmt.value, f"{prefix}.{name}")
    if edits is None:
        return None
    return Fix(f"keep them in a {name}", edits, Safety.UNSAFE, "they are then trained and saved")
