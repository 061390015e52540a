"""Turns errors of CPU kernels into what CUDA says of the same fault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from torchferry.sim.errors import raise_device_error
from torchferry.sim.memory import OutOfMemory
from torchferry.sim.operators import Operator
from torchferry.sim.tables.families import DEVICE_ASSERTS
from torchferry.sim.tables.refusals import WIDER

if TYPE_CHECKING:
    from torchferry.sim.session import Session

_OUT_OF_BOUNDS = re.compile(r"out of bounds|index out of range in self|out of range$")
_NO_KERNEL = re.compile(r"not implemented for '|Unsupported dtype")
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
    if _NO_KERNEL.search(text) and not operator.mutated:
        return _wider(operator, args, kwargs, error)
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


def _wider(
    operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> Any:
    """Compute in a wider dtype what only CUDA computes in this one."""
    narrow = next((a.dtype for a in args if isinstance(a, torch.Tensor) and a.dtype in WIDER), None)
    if narrow is None:
        raise error

    def widen(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype is narrow:
            return value.to(WIDER[narrow])
        return value

    def narrowed(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.dtype is WIDER[narrow]:
                return value.to(narrow)
            if narrow is torch.float16 and value.dtype is torch.complex64:
                return value.to(torch.complex32)
            return value
        if isinstance(value, (tuple, list)):
            return type(value)(narrowed(item) for item in value)
        return value

    try:
        out = operator.func(*map(widen, args), **{k: widen(v) for k, v in kwargs.items()})
    except (RuntimeError, IndexError):
        raise error from None
    return narrowed(out)
