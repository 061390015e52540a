"""DEV401."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Edit, Fix
from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import CPU, Kept, Tensor

from ..causes import causes
from ..context import in_method
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context


class UnregisteredTensorAttribute(Rule):
    """A tensor that a module keeps as a plain attribute, so that `.to()` does not move it.

    What it does:
        Reports the assignment of a tensor attribute in `__init__` when the module was moved to the
        GPU and the attribute, still on the CPU, meets a GPU tensor; as a warning (a note without
        DataParallel or FSDP) an attribute that forward moves and stores again.

    Why is this bad:
        `Module.to` moves parameters and buffers. A plain attribute is neither, nor is it saved.

    Example:
        import torch
        from torch import nn

        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
                self.offset = torch.ones(3)

            def forward(self, x):
                return self.lin(x) + self.offset

        Scale().to("cuda")(torch.ones(2, 3, device="cuda"))

    Fix:
        import torch
        from torch import nn

        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
                self.register_buffer("offset", torch.ones(3), persistent=False)

            def forward(self, x):
                return self.lin(x) + self.offset

        Scale().to("cuda")(torch.ones(2, 3, device="cuda"))

    Fix safety:
        Safe: `persistent=False` keeps the keys of the state dict.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer
    """

    code = "DEV401"
    name = "unregistered-tensor-attribute"
    severity = Severity.ERROR
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            kept = cause.tensor.why if cause.tensor is not None else None
            attr = getattr(kept, "attr", "")
            what = f"`{attr}`" if attr else "a tensor"
            yield self.finding(
                ctx,
                cause.node,
                f"{what} is a plain attribute: it stays on the CPU when the module moves",
                evidence=proof(ctx, cause),
                help="register it as a buffer",
                fix=buffer_fix(ctx, cause.node),
            )
        for event, attr, stmt in _moved_to_itself(ctx):
            for node in (stmt, event.node):
                yield self.finding(
                    ctx,
                    node,
                    f"`{attr}` is a plain attribute that forward moves and stores again: replicas "
                    "and shards of the module do not keep it",
                    severity=Severity.WARNING if _REPLICAS.search(ctx.doc.text) else Severity.NOTE,
                    help="register it as a buffer",
                )


_REPLICAS = re.compile(r"DataParallel|FSDP|FullyShard|fully_shard")


def _moved_to_itself(ctx: Context) -> Iterator[tuple[Any, str, Any]]:
    """(move, attribute, where it is made) of `self.x = self.x.to(...)` in forward."""
    for event in ctx.methods("to", "cuda"):
        tensor = event.func.receiver
        kept = tensor.why if isinstance(tensor, Tensor) else None
        if not isinstance(kept, Kept) or tensor.dev != CPU or not in_method(event, "forward"):
            continue
        stmt = ctx.statement(event.node)
        targets = stmt.targets if isinstance(stmt, ast.Assign) else []
        if not any(isinstance(t, ast.Attribute) and t.attr == kept.attr for t in targets):
            continue
        cls = kept.inst.cls
        for _, made, _, frame in ctx.ip.attr_sets.get((id(cls.node), kept.attr), []) if cls else []:
            if "Buffer" in ast.unparse(getattr(getattr(made, "value", None), "func", made or stmt)):
                break  # nn.Buffer registers itself
            if made is not None and made is not stmt and frame.unit.doc is ctx.doc:
                yield event, kept.attr, made
                break


def buffer_fix(ctx: Context, stmt: Any) -> Fix | None:
    """`self.x = value` as `self.register_buffer("x", value, persistent=False)`."""
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return None
    target = stmt.targets[0]
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return None
    doc = ctx.doc
    start, value, end = doc.span(target).start, doc.span(stmt.value), doc.span(stmt).end
    between = doc.text[doc.span(target).end : value.start]
    if between.strip(" \t") != "=" or doc.text[value.end : end].strip():
        return None
    owner = target.value.id
    text = doc.text[value.start : value.end]
    edit = Edit(start, end, f'{owner}.register_buffer("{target.attr}", {text}, persistent=False)')
    if isinstance(stmt.value, (ast.Tuple, ast.GeneratorExp, ast.Yield, ast.NamedExpr)):
        return None
    return Fix(
        f"register {owner}.{target.attr} as a buffer", (edit,), group=f"{target.attr} buffer"
    )
