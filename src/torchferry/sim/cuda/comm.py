"""The C functions under torch.nn.parallel.comm: broadcast, scatter and gather between GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchferry.sim.moves import move
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import CPU


def broadcast(tensor: torch.Tensor, devices: Sequence[int]) -> list[torch.Tensor]:
    """A copy of `tensor` on each device."""
    return [move(tensor, device) for device in devices]


def broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[int], buffer_size: int
) -> list[list[torch.Tensor]]:
    """Copies of all tensors on each device."""
    return [[move(tensor, device) for tensor in tensors] for device in devices]


def broadcast_out(tensor: torch.Tensor, out: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    for target in out:
        target.copy_(tensor)
    return out


def scatter(
    tensor: torch.Tensor,
    devices: Sequence[int],
    chunk_sizes: Sequence[int] | None,
    dim: int,
    streams: Any,
) -> list[torch.Tensor]:
    """Chunks of `tensor`, one a device."""
    if chunk_sizes is None:
        chunks = tensor.chunk(len(devices), dim)
    else:
        chunks = tensor.split(list(chunk_sizes), dim)
    return [move(chunk, device) for chunk, device in zip(chunks, devices, strict=False)]


def scatter_out(tensor: torch.Tensor, out: Any, dim: int, streams: Any) -> Any:
    sizes = [t.size(dim) for t in out]
    for target, chunk in zip(out, tensor.split(sizes, dim), strict=True):
        target.copy_(chunk)
    return out


def gather(tensors: Sequence[torch.Tensor], dim: int, destination: int | None) -> torch.Tensor:
    """All tensors on one device (-1: the CPU), joined."""
    target = CPU if destination is None else destination
    return torch.cat([move(tensor, target) for tensor in tensors], dim)


def gather_out(tensors: Sequence[torch.Tensor], out: torch.Tensor, dim: int) -> torch.Tensor:
    offset = 0
    for tensor in tensors:
        size = tensor.size(dim)
        out.narrow(dim, offset, size).copy_(tensor)
        offset += size
    return out


def install(patcher: Patcher) -> None:
    """Put the functions into torch._C."""
    functions: tuple[Any, ...] = (
        broadcast, broadcast_coalesced, broadcast_out, scatter, scatter_out, gather, gather_out,
    )  # fmt: skip
    for function in functions:
        patcher.set(torch._C, f"_{function.__name__}", function)
