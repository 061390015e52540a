"""The C functions under torch.cuda.nccl: collectives over the GPUs of one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import Any

import torch

from torchferry.sim.moves import move
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import device_number

Tensors = Sequence[torch.Tensor]

#: ncclRedOp_t
OPERATIONS: dict[int, Callable[..., torch.Tensor]] = {
    0: torch.add,
    1: torch.mul,
    2: torch.maximum,
    3: torch.minimum,
}


def _folded(inputs: Tensors, op: int) -> torch.Tensor:
    home = device_number(inputs[0])
    return fold(OPERATIONS[op], [move(t.detach(), home) for t in inputs])


def _all_reduce(inputs: Tensors, outputs: Tensors, op: int = 0, *ignored: Any) -> None:
    result = _folded(inputs, op)
    for output in outputs:
        output.copy_(result)


def _reduce(inputs: Tensors, output: torch.Tensor, root: int, op: int = 0, *ignored: Any) -> None:
    output.copy_(_folded(inputs, op))


def _broadcast(inputs: Tensors, root: int = 0, *ignored: Any) -> None:
    for tensor in inputs:
        if tensor is not inputs[root]:
            tensor.copy_(inputs[root])


def _all_gather(inputs: Tensors, outputs: Tensors, *ignored: Any) -> None:
    for output in outputs:
        parts = output.view(-1).split([t.numel() for t in inputs])
        for part, tensor in zip(parts, inputs, strict=True):
            part.copy_(tensor.view(-1))


def _reduce_scatter(inputs: Tensors, outputs: Tensors, op: int = 0, *ignored: Any) -> None:
    parts = _folded(inputs, op).view(-1).split([t.numel() for t in outputs])
    for output, part in zip(outputs, parts, strict=True):
        output.view(-1).copy_(part)


def _communicators(*args: Any) -> None:
    raise RuntimeError(
        "torch.cuda.nccl.init_rank: a simulated GPU has no NCCL communicators. Use "
        "torch.distributed, whose backend 'nccl' works."
    )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_nccl_version": lambda: (2 << 32) | (27 << 16) | 5,
    "_nccl_version_suffix": lambda: b"",
    "_nccl_unique_id": lambda: bytes(128),
    "_nccl_init_rank": _communicators,
    "_nccl_all_reduce": _all_reduce,
    "_nccl_reduce": _reduce,
    "_nccl_broadcast": _broadcast,
    "_nccl_all_gather": _all_gather,
    "_nccl_reduce_scatter": _reduce_scatter,
}


def install(patcher: Patcher) -> None:
    """Put the functions into torch._C."""
    for name, function in FUNCTIONS.items():
        patcher.set(torch._C, name, function)
