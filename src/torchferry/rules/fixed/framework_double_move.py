"""DEV811."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding

from ..origins import is_literal_move
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context


class FrameworkDoubleMove(Rule):
    """A hard-coded move inside a module that a framework places.

    What it does:
        Reports `.cuda()`, `.to("cuda")` and `device="cuda"` in the methods of a LightningModule.

    Why is this bad:
        The trainer places module and batches, on any device and any number of them. A move by hand
        pins a part to GPU 0.

    Example:
        import lightning as L
        import torch

        class Net(L.LightningModule):
            def training_step(self, batch, index):
                x = batch.to("cuda")
                return x.sum()

    Fix:
        import lightning as L
        import torch

        class Net(L.LightningModule):
            def training_step(self, batch, index):
                return batch.sum()

    Fix safety:
        No automatic fix.

    References:
        https://lightning.ai/docs/pytorch/stable/accelerators/accelerator_prepare.html
    """

    code = "DEV811"
    name = "framework-double-move"
    word = "LightningModule"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cls in ctx.nodes.get(ast.ClassDef, []):
            if not any(ast.unparse(base).endswith("LightningModule") for base in cls.bases):
                continue
            for node in ast.walk(cls):
                if is_literal_move(node):
                    yield self.finding(
                        ctx,
                        node,
                        f"`{ctx.source(node)}` fights the trainer, which places modules and "
                        "batches",
                        help="drop the move; use self.device where a device is needed",
                    )
