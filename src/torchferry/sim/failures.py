"""Turns errors of CPU kernels into what CUDA says of the same fault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim.errors import raise_device_error
from torchferry.sim.memory import OutOfMemory
from torchferry.sim.operators import Operator
from torchferry.sim.tables.families import DEVICE_ASSERTS

if TYPE_CHECKING:
    from torchferry.sim.session import Session

_OUT_OF_BOUNDS = re.compile(r"out of bounds|index out of range in self|out of range$")
_NO_HOST_MEMORY = re.compile(r"you tried to allocate (\d+) bytes")

DEVICE_ASSERT = (
    "CUDA error: device-side assert triggered\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
    "below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)


def translate(
    session: Session,
    operator: Operator,
    device: int,
    args: tuple[Any, ...],
    error: Exception,
) -> None:
    """Raise CUDA's error for `error`, or return where CUDA would say the same."""
    if device < 0:
        return
    text = str(error)
    room = _NO_HOST_MEMORY.search(text)
    if room is not None:
        card = session.memory.cards[device]
        wanted = int(room[1])
        if wanted + card.allocated > session.total_memory:
            session.out_of_memory(OutOfMemory(device, wanted), operator.name)
        return
    if operator.short in DEVICE_ASSERTS and _OUT_OF_BOUNDS.search(text):
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
