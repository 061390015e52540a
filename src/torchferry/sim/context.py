"""The context of CUDA: an assertion in a kernel breaks it, and every later call raises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from torchferry.sim.checks import first_device
from torchferry.sim.errors import Named, raise_device_error
from torchferry.sim.operators import Kind, describe

if TYPE_CHECKING:
    from torchferry.sim.session import Session

DEVICE_ASSERT = (
    "CUDA error: device-side assert triggered\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
    "below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
_ERROR: type[Exception] = getattr(torch, "AcceleratorError", RuntimeError)


def device_assert(session: Session, operator: str, tensors: Sequence[Named], text: str) -> NoReturn:
    """Raise CUDA's error for what the CPU says; the context is broken from now on."""
    session.broken = text
    session.mode.prepare_anew()
    message = f"{DEVICE_ASSERT}\n(simulated; the CPU says: {text})"
    raise_device_error("device-side-assert", message, operator, tensors, _ERROR)


def check(session: Session) -> None:
    """Raise the error that has broken the context earlier, if one has."""
    if session.broken:
        message = (
            f"{DEVICE_ASSERT}\n(simulated; an earlier error has broken the CUDA context, the "
            f"program must start again: {session.broken})"
        )
        raise_device_error("broken-context", message, "cuda", error=_ERROR)


def guarded(session: Session, func: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """`run` after a check; views do not call CUDA."""
    if func.namespace == "aten" and describe(func).kind is Kind.VIEW:
        return run

    def checked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wish = kwargs.get("device")
        on_gpu = isinstance(wish, torch.device) and wish.type == "cuda"
        if on_gpu or first_device(args, kwargs) >= 0:
            check(session)
        return run(args, kwargs)

    return checked
