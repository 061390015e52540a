"""Turns errors of CPU kernels into what CUDA says of the same fault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from torchferry.sim.errors import raise_device_error
from torchferry.sim.memory import OutOfMemory
from torchferry.sim.only_cuda import kernel_of
from torchferry.sim.operators import Operator
from torchferry.sim.tables.families import DEVICE_ASSERTS

if TYPE_CHECKING:
    from torchferry.sim.session import Session

_OUT_OF_BOUNDS = re.compile(r"out of bounds|index out of range in self|out of range$")
_NO_KERNEL = re.compile(
    r"not implemented for '|Unsupported dtype|doesn't support tensors of type|"
    r"does not support complex|Could not run 'aten::"
)
_NO_HOST_MEMORY = re.compile(r"you tried to allocate (\d+) bytes")

DEVICE_ASSERT = (
    "CUDA error: device-side assert triggered\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
    "below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)


def recover(
    session: Session,
    operator: Operator,
    device: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: Exception,
) -> Any:
    """Result of an operator whose CPU kernel failed, if CUDA has one; else CUDA's error."""
    if device < 0 or hasattr(error, "__torchferry__"):
        raise error
    text = str(error)
    room = _NO_HOST_MEMORY.search(text)
    if room is not None:
        card = session.memory.cards[device]
        wanted = int(room[1])
        if wanted + card.allocated > session.total_memory:
            session.out_of_memory(OutOfMemory(device, wanted), operator.name)
        raise error
    if operator.short in DEVICE_ASSERTS and _OUT_OF_BOUNDS.search(text):
        _device_assert(operator, args, text)
    if _NO_KERNEL.search(text):
        kernel = kernel_of(operator, args)
        if kernel is not None:
            return kernel(*args, **kwargs)
    raise error


def _device_assert(operator: Operator, args: tuple[Any, ...], text: str) -> NoReturn:
    tensors = [
        (name, value)
        for name, value in zip(operator.arguments, args, strict=False)
        if isinstance(value, torch.Tensor)
    ]
    raise_device_error(
        "device-side-assert",
        f"{DEVICE_ASSERT}\n(simulated; the CPU says: {text})",
        operator.name,
        tensors,
        error=getattr(torch, "AcceleratorError", RuntimeError),
    )
