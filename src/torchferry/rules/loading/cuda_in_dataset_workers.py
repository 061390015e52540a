"""DEV950."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, Bound, Func, Inst, Tensor

from ..fixed.default_device_leak import workers
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class CudaInDatasetWorkers(Rule):
    """A data set that makes GPU tensors in the workers of a DataLoader.

    What it does:
        Reports moves to the GPU in `__getitem__` or `__init__` of a data set that a DataLoader
        with workers reads, or in its `collate_fn`, and the loader. Without workers it is a note.

    Why is this bad:
        "Cannot re-initialize CUDA in forked subprocess". Where it works, each item is copied by
        itself instead of a batch.

    Example:
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Numbers(Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, i):
                return torch.tensor([float(i)]).to("cuda")

        for x in DataLoader(Numbers(), num_workers=2):
            print(x)

    Fix:
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Numbers(Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, i):
                return torch.tensor([float(i)])

        for x in DataLoader(Numbers(), num_workers=2):
            print(x.to("cuda"))

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing
    """

    code = "DEV950"
    name = "cuda-in-dataset-workers"
    severity = Severity.ERROR
    kinds = ("fork-cuda", "collate-on-cuda")

    def check(self, ctx: Context) -> Iterable[Finding]:
        yield from self._collated(ctx)
        places = _gpu_places(ctx)
        if not places:
            return
        forked = "spawn" not in ctx.doc.text and "forkserver" not in ctx.doc.text
        loaders = []
        for event in ctx.calls("torch.utils.data.DataLoader"):
            data = event.args[0][0] if event.args else event.kwargs.get("dataset", (None,))[0]
            if isinstance(data, Inst) and data.cls is not None and workers(event):
                loaders.append((event, data.cls))
        for node, cls, result in places:
            readers = [e for e, c in loaders if c is cls] if cls is not None else []
            certain = bool(readers) and forked and result.dev == ACCEL
            yield self.finding(
                ctx,
                node,
                "the data set makes GPU tensors: its workers cannot use CUDA after a fork"
                if readers
                else "the data set makes GPU tensors: it cannot be read by workers",
                severity=Severity.ERROR if certain else Severity.NOTE,
                evidence=[ctx.step(e.node, "read by workers here") for e in readers[:1]],
                help="give CPU tensors; move the batch in the loop",
            )
            for event in readers if certain else ():
                yield self.finding(
                    ctx,
                    event.node,
                    "the workers of this loader would make GPU tensors after a fork",
                    evidence=[ctx.step(node, "the data set moves to the GPU here")],
                    help="give CPU tensors; move the batch in the loop",
                )

    def _collated(self, ctx: Context) -> Iterable[Finding]:
        """A collate function that moves, in the workers of its loader."""
        for event in ctx.calls("torch.utils.data.DataLoader"):
            given = event.kwargs.get("collate_fn")
            func = given[0] if given is not None else None
            func = func.func if isinstance(func, Bound) else func
            if not isinstance(func, Func) or not workers(event) or func.unit.doc is not ctx.doc:
                continue
            move = next((n for n in ast.walk(func.node) if _to_device(n)), None)
            if move is None:
                continue
            yield self.finding(
                ctx,
                move,
                "the collate function makes GPU tensors: its workers cannot use CUDA after a fork",
                evidence=[ctx.step(event.node, "called by the workers of this loader")],
                help="collate CPU tensors; move the batch in the loop",
            )
            yield self.finding(
                ctx,
                event.node,
                "the workers of this loader would make GPU tensors after a fork",
                evidence=[ctx.step(move, "the collate function moves to the GPU here")],
                help="collate CPU tensors; move the batch in the loop",
            )


def _to_device(node: Any) -> bool:
    """`.cuda()`, or `.to(...)` of something that is named a device or an accelerator."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "cuda":
        return True
    text = " ".join(ast.unparse(a) for a in node.args).lower()
    return node.func.attr == "to" and ("dev" in text or "cuda" in text)


def _gpu_places(ctx: Context) -> list[tuple[Any, Any, Tensor]]:
    found = []
    seen: set[int] = set()
    for event in ctx.ip.events:
        func = event.frame.func
        if not isinstance(func, Func) or func.cls is None or func.cls.kind != "dataset":
            continue
        if func.name not in ("__getitem__", "__init__", "__iter__", "__getitems__"):
            continue
        result = event.result
        if not isinstance(result, Tensor) or result.dev not in (ACCEL,):
            continue
        if event.frame.unit.doc is not ctx.doc or id(event.node) in seen:
            continue
        if _moves(event):
            seen.add(id(event.node))
            found.append((event.node, func.cls, result))
    return found


def _moves(event: Any) -> bool:
    name = getattr(event.func, "name", "")
    last = name.rpartition(".")[2]
    return last in ("to", "cuda") or "device" in event.kwargs
