"""The C functions under torch.accelerator."""

from __future__ import annotations

from typing import Any

import torch

from torchferry.sim import state
from torchferry.sim.cuda import driver, streams
from torchferry.sim.patching import Patcher


def _capability(index: int) -> dict[str, Any]:
    dtypes = {torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64}
    return {"supported_dtypes": dtypes}


FUNCTIONS: dict[str, Any] = {
    "_accelerator_getAccelerator": lambda: torch.device("cuda"),
    "_accelerator_getDeviceIndex": lambda: state.current().current_device,
    "_accelerator_setDeviceIndex": driver.FUNCTIONS["_cuda_setDevice"],
    "_accelerator_getStream": streams.current_stream,
    "_accelerator_setStream": streams.set_stream,
    "_accelerator_synchronizeDevice": driver.FUNCTIONS["_cuda_synchronize"],
    "_accelerator_exchangeDevice": driver.FUNCTIONS["_cuda_exchangeDevice"],
    "_accelerator_maybeExchangeDevice": driver.FUNCTIONS["_cuda_exchangeDevice"],
    "_accelerator_isAllocatorInitialized": lambda: True,
    "_accelerator_emptyCache": driver.FUNCTIONS["_cuda_emptyCache"],
    "_accelerator_emptyHostCache": lambda: None,
    "_accelerator_getDeviceStats": driver.FUNCTIONS["_cuda_memoryStats"],
    "_accelerator_resetAccumulatedStats": lambda device: None,
    "_accelerator_resetPeakStats": driver.FUNCTIONS["_cuda_resetPeakMemoryStats"],
    "_accelerator_getMemoryInfo": driver.memory_info,
    "_accelerator_getDeviceCapability": _capability,
}


def install(patcher: Patcher) -> None:
    """Put the functions into torch._C."""
    for name, function in FUNCTIONS.items():
        patcher.set(torch._C, name, function)
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        for name, value in (
            ("is_available", driver.is_available),
            ("device_count", lambda: state.current().gpus),
        ):
            patcher.set(accelerator, name, value, copies=True)
    if hasattr(torch._C, "_get_accelerator"):
        patcher.set(torch._C, "_get_accelerator", lambda *a: torch.device("cuda"))
