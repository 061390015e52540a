"""DEV521."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding
from torchferry.flow.values import ACCEL, Inst, Map

from ..context import tensors_of
from ..modules import device_then
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_DUMPS = ("pickle.dump", "pickle.dumps", "joblib.dump", "dill.dump", "cloudpickle.dump")


class PickleLoadNoMapLocation(Rule):
    """GPU tensors written with plain pickle or joblib.

    What it does:
        Reports `pickle.dump` and its kin for tensors or models that are on the GPU.

    Why is this bad:
        `pickle.load` has no `map_location`: the file cannot be read on a machine without a GPU,
        not even through `torch.load(..., map_location=...)` when the pickle is nested in another.

    Example:
        import pickle
        import torch

        weights = torch.ones(3, device="cuda")
        pickle.dump(weights, open("w.pkl", "wb"))

    Fix:
        import pickle
        import torch

        weights = torch.ones(3, device="cuda")
        pickle.dump(weights.cpu(), open("w.pkl", "wb"))

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/notes/serialization.html
    """

    code = "DEV521"
    name = "pickle-load-no-map-location"
    word = "dump"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for event in ctx.calls(*_DUMPS):
            if event.args and _on_device(ctx, event.args[0][0], event):
                yield self.finding(
                    ctx,
                    event.node,
                    "GPU tensors are pickled: the file cannot be read without a GPU",
                    help="pickle CPU copies, or use torch.save and torch.load with map_location",
                )


def _on_device(ctx: Context, value: Any, event: Any) -> bool:
    if isinstance(value, Inst):
        return value.kind == "module" and device_then(ctx, value, event) == ACCEL
    if isinstance(value, Map):
        return any(_on_device(ctx, v, event) for v in value.state.values() if v is not None)
    return any(tensor.dev == ACCEL for tensor in tensors_of(value))
