"""DEV104."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import HOST, Inst, Map, Method, Seq, Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class BatchContainer(Rule):
    """A batch that is a list or a dict, moved as if it were a tensor.

    What it does:
        Reports `.to(device)` on a list, tuple or dict; a comprehension that moves every value of a
        batch of which some are no tensors; and, as a note, a loader whose batches mix tensors with
        strings, so that only the tensors can be moved.

    Why is this bad:
        "'list' object has no attribute 'to'".

    Example:
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Demo(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                return {"x": torch.ones(3), "name": f"item {i}"}

        for batch in DataLoader(Demo(), batch_size=2):
            batch = {k: v.to("cuda") for k, v in batch.items()}

    Fix:
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Demo(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                return {"x": torch.ones(3), "name": f"item {i}"}

        for batch in DataLoader(Demo(), batch_size=2):
            batch = {k: v.to("cuda") if torch.is_tensor(v) else v for k, v in batch.items()}

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_collate
    """

    code = "DEV104"
    name = "batch-container"
    severity = Severity.ERROR

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.ip.events:
            func = event.func
            if not isinstance(func, Method) or func.name not in ("to", "cuda"):
                continue
            if event.frame.unit.doc is not ctx.doc or event.exploring:
                continue
            if (
                isinstance(func.receiver, (Seq, Map))
                and getattr(func.receiver, "kind", "") != "iter"
            ):
                kind = "dict" if isinstance(func.receiver, Map) else func.receiver.kind
                yield self.finding(
                    ctx,
                    event.node,
                    f"`{ctx.source(event.node)}`: a {kind} cannot be moved, only the tensors in it",
                    help="move each tensor of the batch",
                )
        for node, iterable, item, frame, exploring in ctx.ip.facts.get("loop", ()):
            if exploring or frame.unit.doc is not ctx.doc or not isinstance(iterable, Inst):
                continue
            if iterable.kind == "loader" and isinstance(item, Map):
                finding = self._loop(ctx, node, item)
                if finding is not None:
                    yield finding

    def _loop(self, ctx: Context, node: Any, item: Map) -> Finding | None:
        values = [v for v in item.state.values() if v is not None]
        others = [k[1] for k, v in item.state.items() if v is not None and _no_tensor(v)]
        if not others or not any(isinstance(v, Tensor) for v in values):
            return None
        named = ", ".join(f"`{name}`" for name in others)
        text = "\n".join(ctx.doc.source(stmt) for stmt in node.body)
        if re.search(r"is_tensor|hasattr|isinstance\([^)]*Tensor", text):
            return None
        blind = _blind_move(node)
        if blind is not None:
            return self.finding(
                ctx,
                blind,
                f"{named} of the batch is a list of strings: it cannot be moved",
                evidence=[ctx.step(node, "the batch comes from this loader")],
                help="move only the tensors: `v.to(device) if torch.is_tensor(v) else v`",
            )
        if ".to(" in text or ".cuda(" in text:
            return None
        return self.finding(
            ctx,
            node,
            f"the batch mixes tensors with a list of strings ({named}): only the tensors can move",
            severity=Severity.NOTE,
            help="move only the tensors: `v.to(device) if torch.is_tensor(v) else v`",
        )


def _no_tensor(value: Any) -> bool:
    if not isinstance(value, Seq):
        return False
    return value.state["items"] is None and value.state["elem"] is HOST


def _blind_move(loop: Any) -> Any:
    """A comprehension in the loop that moves every value of `.items()` or `.values()`."""
    for stmt in loop.body:
        for node in ast.walk(stmt):
            if isinstance(node, (ast.DictComp, ast.ListComp)):
                moved = node.value if isinstance(node, ast.DictComp) else node.elt
                text = ast.unparse(node.generators[0].iter)
                if (
                    isinstance(moved, ast.Call)
                    and isinstance(moved.func, ast.Attribute)
                    and moved.func.attr in ("to", "cuda")
                    and text.endswith(("items()", "values()"))
                ):
                    return node
    return None
