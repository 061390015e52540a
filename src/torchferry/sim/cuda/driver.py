"""The `torch._C._cuda_*` functions that torch.cuda's Python code calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import torch

from torchferry.sim import context, state
from torchferry.sim.patching import Patcher


@dataclass
class DeviceProperties:
    """What `torch.cuda.get_device_properties` returns."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int = 132
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 232448
    shared_memory_per_multiprocessor: int = 233472
    warp_size: int = 32
    L2_cache_size: int = 52428800
    gcnArchName: str = ""
    uuid: UUID = field(default_factory=lambda: UUID(int=0))
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0
    clock_rate: int = 1980000
    memory_clock_rate: int = 2619000
    memory_bus_width: int = 5120


def properties(index: int) -> DeviceProperties:
    """Properties of a simulated GPU."""
    session = state.current()
    major, minor = session.capability
    return DeviceProperties(
        session.name, major, minor, session.total_memory, pci_bus_id=index, uuid=UUID(int=index + 1)
    )


#: Words of the CUDA runtime for the errors that programs ask for.
_ERRORS = {
    0: "no error",
    1: "invalid argument",
    2: "out of memory",
    3: "initialization error",
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    700: "an illegal memory access was encountered",
    710: "device-side assert triggered",
    999: "unknown error",
}


class Runtime:
    """`torch.cuda.cudart()`."""

    class cudaError(int):
        success = 0

    class cudaOutputMode:
        KeyValuePair = 0
        CSV = 1

    @staticmethod
    def cudaGetErrorString(code: int) -> str:
        return _ERRORS.get(int(code), "unrecognized error code")

    @staticmethod
    def cudaMemGetInfo(device: int) -> tuple[int, int]:
        return memory_info(device)

    @staticmethod
    def _succeed(*args: Any) -> int:
        return 0

    cudaProfilerStart = cudaProfilerStop = cudaHostRegister = cudaHostUnregister = _succeed
    cudaStreamCreate = cudaStreamDestroy = cudaProfilerInitialize = _succeed


def memory_info(device: int) -> tuple[int, int]:
    """(free, total) bytes of a GPU."""
    session = state.current()
    card = session.memory.cards[device]
    used = max(card.reserved, card.allocated)
    return session.total_memory - used, session.total_memory


def _synchronize(*args: Any) -> None:
    context.check(state.current())
    state.current().counter.wait("synchronize")


def _exchange(index: int) -> int:
    if index < 0:
        return -1
    session = state.current()
    before = session.current_device
    session.current_device = index
    return before


def _set_device(index: int) -> None:
    if index >= 0:
        state.current().current_device = index


def _init() -> None:
    session = state.current()
    session.poisons_forks, session.unready = True, False


def is_available() -> bool:
    """True. Counting the cards by the driver is a first use of CUDA, as to forks."""
    state.current().poisons_forks = True
    return True


def _count() -> int:
    state.current().poisons_forks = True
    return state.current().gpus


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _set_sync_debug(mode: int) -> None:
    state.current().counter.sync_debug = mode


def _set_fraction(fraction: float, device: int) -> None:
    state.current().memory.set_fraction(device, fraction)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_cuda_init": _init,
    "_cuda_getDeviceCount": _count,
    "_cuda_getDevice": lambda: state.current().current_device,
    "_cuda_setDevice": _set_device,
    "_cuda_exchangeDevice": _exchange,
    "_cuda_maybeExchangeDevice": _exchange,
    "_cuda_isInBadFork": lambda: False,
    "_cuda_synchronize": _synchronize,
    "_cuda_canDeviceAccessPeer": lambda a, b: True,
    "_cuda_getArchFlags": lambda: "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120",
    "_cuda_ipc_collect": _nothing,
    "_cuda_sleep": _nothing,
    "_cuda_get_sync_debug_mode": lambda: state.current().counter.sync_debug,
    "_cuda_set_sync_debug_mode": _set_sync_debug,
    "_cuda_cudaCachingAllocator_enable": _nothing,
    "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
    "_cuda_getCurrentBlasHandle": lambda: 1,
    "_cuda_getCurrentSolverHandle": lambda: 1,
    "_cuda_getCompiledVersion": lambda: 13000,
    "_cuda_getDriverVersion": lambda: 13000,
    "_cuda_memoryStats": lambda device: state.current().memory.stats(device),
    "_cuda_emptyCache": lambda *a: state.current().memory.release_cached(),
    "_cuda_resetPeakMemoryStats": lambda device: state.current().memory.reset_peaks(device),
    "_cuda_resetAccumulatedMemoryStats": _nothing,
    "_cuda_hostMemoryStats": dict,
    "_cuda_resetPeakHostMemoryStats": _nothing,
    "_cuda_resetAccumulatedHostMemoryStats": _nothing,
    "_cuda_setMemoryFraction": _set_fraction,
    "_cuda_getMemoryFraction": lambda device: state.current().memory.cards[device].fraction,
    "_cuda_memorySnapshot": lambda *a: {"segments": [], "device_traces": []},
    "_cuda_record_memory_history": _nothing,
    "_cuda_record_memory_history_legacy": _nothing,
    "_cuda_getAllocatorBackend": lambda: "native",
    "_cuda_cudaCachingAllocator_set_allocator_settings": _nothing,
    "_cuda_getCurrentRawStream": lambda device: 0,
    "_cuda_lock_mutex": _nothing,
    "_cuda_unlock_mutex": _nothing,
    "_cuda_get_cudnn_benchmark_limit": lambda: 10,
    "_cuda_set_cudnn_benchmark_limit": _nothing,
    "_cuda_clearCublasWorkspaces": _nothing,
    "_cuda_isCurrentStreamCapturing": lambda: False,
    "_cuda_tunableop_is_enabled": lambda: False,
    "_cuda_tunableop_enable": _nothing,
}


def now() -> float:
    """Milliseconds, for events."""
    return time.perf_counter() * 1000.0


def install(patcher: Patcher) -> None:
    """Put the driver under torch.cuda."""
    for name, function in FUNCTIONS.items():
        patcher.set(torch._C, name, function)
    cuda: Any = torch.cuda
    patcher.set(cuda, "_exchange_device", _exchange)
    patcher.set(cuda, "_maybe_exchange_device", _exchange)
    patcher.set(cuda, "_is_in_bad_fork", _in_bad_fork)
    patcher.set(cuda, "_cudart", Runtime())
    patcher.set(cuda, "_get_device_properties", properties)
    patcher.set(cuda, "_initialized", False)
    patcher.set(cuda, "_queued_calls", [])
    if hasattr(cuda, "_lazy_seed_tracker"):  # seeds from before this machine was there
        patcher.set(cuda, "_lazy_seed_tracker", type(cuda._lazy_seed_tracker)())
    patcher.set(cuda, "device_count", lambda: state.current().gpus, copies=True)
    patcher.set(cuda, "is_available", is_available, copies=True)
    patcher.set(cuda, "is_bf16_supported", lambda *a, **k: True, copies=True)
    patcher.set(cuda, "mem_get_info", _mem_get_info, copies=True)
    patcher.set(cuda, "is_current_stream_capturing", lambda: False, copies=True)
    patcher.set(cuda.graphs, "is_current_stream_capturing", lambda: False)
    patcher.set(torch.version, "cuda", "13.0")
    patcher.set(torch.backends.cudnn, "is_available", lambda: True)
    patcher.set(torch.backends.cudnn, "version", lambda: 91000)
    patcher.set(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
    patcher.set(torch.backends.cuda, "is_built", lambda: True)
    patcher.set(torch, "get_device_module", _device_module, copies=True)


def _in_bad_fork() -> bool:
    session = state.running()
    return session is not None and session.forked


def _mem_get_info(device: Any = None) -> tuple[int, int]:
    from torch.cuda._utils import _get_device_index

    return memory_info(_get_device_index(device, optional=True))


def _device_module(device: Any = None) -> Any:
    if device is None:
        return torch.cuda
    kind = device.type if isinstance(device, torch.device) else torch.device(device).type
    module = getattr(torch, kind, None)
    if module is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered.")
    return module
