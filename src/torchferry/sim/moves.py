"""Moves between devices that autograd follows: the gradient comes back to where the tensor was."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from torchferry.sim import state
from torchferry.sim.tags import CPU, FLOATING, device_number


class _Move(torch.autograd.Function):
    """Copy to a device. Its backward copies the gradient back."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        tensor: torch.Tensor,
        device: int,
        dtype: torch.dtype | None,
        non_blocking: bool,
        memory_format: torch.memory_format,
    ) -> torch.Tensor:
        out = state.current().transfer(tensor, device, dtype, non_blocking, memory_format)
        return out.view_as(out) if out is tensor else out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        ctx.home = max(device_number(inputs[0]), CPU)
        ctx.away = inputs[1]
        ctx.dtype = inputs[0].dtype

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad = grads[0]
        return move(grad, ctx.home, ctx.dtype), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return move(tangents[0], ctx.away)


# As CUDA names the node of a move: `grad_fn=<ToCopyBackward0>`.
_Move._backward_cls.__name__ = _Move._backward_cls.__qualname__ = "ToCopyBackward0"


def move(
    tensor: torch.Tensor,
    device: int,
    dtype: torch.dtype | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    """`tensor` on `device` (a number): itself if it is there already, else a copy."""
    if tensor.is_meta:
        refuse_meta(tensor)
    here = device_number(tensor)
    if here == FLOATING and device != FLOATING:
        here = CPU
    if here == device:
        same = memory_format is torch.preserve_format or tensor.is_contiguous(
            memory_format=memory_format
        )
        if same and (dtype is None or dtype == tensor.dtype) and not copy:
            return tensor
        return _original_to(tensor, dtype or tensor.dtype, copy=copy, memory_format=memory_format)
    followed = (tensor.requires_grad and torch.is_grad_enabled()) or _is_wrapped(tensor)
    if followed or forward_ad._current_level >= 0:
        out: torch.Tensor = _Move.apply(tensor, device, dtype, non_blocking, memory_format)
        return out
    return state.current().transfer(tensor, device, dtype, non_blocking, memory_format)


def land(tensor: torch.Tensor, device: int) -> None:
    """Settle a tensor that C++ code made without a device."""
    if device >= 0 and device_number(tensor) == FLOATING:
        state.current().adopt(tensor, device)


def refuse_meta(tensor: torch.Tensor) -> None:
    """Raise what moving a tensor without data raises."""
    if tensor.is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")


def _is_wrapped(tensor: torch.Tensor) -> bool:
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)


_original_to: Any = torch._C.TensorBase.to
