"""Operators whose arguments decide whether the host waits for the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim.operators import Call, Operator
from torchferry.sim.tags import device_number

if TYPE_CHECKING:
    from torchferry.sim.session import Session

_MASKS = (torch.bool, torch.uint8)


def masked(
    session: Session,
    operator: Operator,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: int,
) -> Call:
    """Indexing waits for the number of true values of a mask, and for indices from the host.

    A mask that sets one value from the host is `masked_fill_`, which does not wait.
    """
    if device >= 0:
        for index in args[1]:
            if index is None:
                continue
            if index.dtype in _MASKS:
                if not _fills(args):
                    session.counter.wait(operator.short)
                    break
            elif device_number(index) < 0:
                session.counter.wait(operator.short)
                break
    return args, kwargs


def _fills(args: tuple[Any, ...]) -> bool:
    if len(args) < 3 or not isinstance(args[2], torch.Tensor):
        return False
    return args[2].numel() == 1 and device_number(args[2]) < 0


def repeated(
    session: Session,
    operator: Operator,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: int,
) -> Call:
    """`repeat_interleave` waits for the size of its result unless `output_size` tells it."""
    if device >= 0 and kwargs.get("output_size") is None:
        session.counter.wait(operator.short)
    return args, kwargs


BY_NAME = {
    **dict.fromkeys(("index", "index_put", "index_put_", "_index_put_impl_"), masked),
    "repeat_interleave": repeated,
}
