"""`simulate()`: turns the simulated GPU on, and everything back afterwards."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import torch

from torchferry.sim import (
    autocast,
    backward,
    compiling,
    composite_pairs,
    composites,
    constructors,
    device_numbers,
    device_type,
    distributed,
    dlpack,
    dynamo_import,
    fourier,
    functions,
    grouping,
    legacy_types,
    loading,
    nested_constructors,
    out_checks,
    processes,
    profiling,
    recurrent,
    scripts,
    shortcut,
    sparse_constructors,
    state,
    storage_methods,
    subclasses,
    synchronized,
    tensor_methods,
    threads,
)
from torchferry.sim.cuda import (
    accelerator,
    comm,
    driver,
    driver_only,
    first_use,
    missing,
    nccl,
    nvtx,
    refused,
    seeds,
    storages,
    streams,
)
from torchferry.sim.messages import TORCH_VERSION
from torchferry.sim.patching import Patcher
from torchferry.sim.session import Session

#: Oldest torch that works, newest that was tried.
OLDEST, NEWEST = (2, 6), (2, 14)

_F = TypeVar("_F", bound=Callable[..., Any])
_INSTALLERS = (
    device_type,
    storage_methods,
    tensor_methods,
    subclasses,
    legacy_types,
    driver,
    streams,
    accelerator,
    seeds,
    device_numbers,
    nested_constructors,
    constructors,
    sparse_constructors,
    recurrent,
    composites,
    composite_pairs,
    fourier,
    grouping,
    comm,
    nvtx,
    nccl,
    missing,
    storages,
    refused,
    autocast,
    backward,
    compiling,
    functions,
    dlpack,
    profiling,
    scripts,
    loading,
    out_checks,
    processes,
    synchronized,
    distributed,
    threads,
    shortcut,
    driver_only,
    first_use,
    dynamo_import,
)
_lock = threading.RLock()
_patcher = Patcher()
_warned: set[str] = set()


class simulate:
    """A simulated GPU: `with simulate(gpus=2, memory="16GB") as gpu:` or `@simulate()`.

    gpus: number of GPUs. memory: of each, as bytes or "80GB". name, capability: what torch.cuda
    says of them. trace: keep account by place. rng: "host" draws random numbers on the GPU from the
    CPU's generator, so that they are the same as without a GPU; "device" gives each GPU a generator
    of its own.

    Raises ValueError for bad settings and RuntimeError for a torch older than 2.6.
    """

    def __init__(
        self,
        gpus: int = 1,
        memory: str | int = "80GB",
        name: str = "Simulated GPU",
        capability: tuple[int, int] = (9, 0),
        trace: bool = True,
        rng: str = "host",
    ) -> None:
        self._settings: dict[str, Any] = {
            "gpus": gpus,
            "memory": memory,
            "name": name,
            "capability": capability,
            "trace": trace,
            "rng": rng,
        }
        self._sessions: list[Session] = []
        check_version()

    def __enter__(self) -> Session:
        session = Session(**self._settings)
        session.settings = self._settings
        with _lock:
            outer = state.running()
            if outer is not None:
                outer.mode.rest()
            state.push(session)
            if state.depth() == 1:
                _install()
        session.default_device = saved_default_device()
        session.mode.__enter__()
        self._sessions.append(session)
        return session

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        session = self._sessions.pop()
        session.mode.__exit__(kind, error, traceback)
        session.mode.rest()  # threads that outlive the session are still inside
        restore_default_device(session.default_device)
        with _lock:
            last = state.depth() == 1
            if last:
                _patcher.undo()
            state.pop()
            outer = state.running()
            if outer is not None:
                outer.mode.resume()

    def __call__(self, function: _F) -> _F:
        """Run `function` on a simulated GPU of its own at each call."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with simulate(**self._settings):
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]


def saved_default_device() -> Any:
    """What `torch.set_default_device` has set, None where nothing."""
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else context.device


def restore_default_device(device: Any) -> None:
    """Take back what the program set as default device."""
    if saved_default_device() != device:
        torch.set_default_device(device)
        if device is None and hasattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context"):
            del torch._GLOBAL_DEVICE_CONTEXT.device_context  # as before; torch 2.6 trips over None


def _install() -> None:
    try:
        for module in _INSTALLERS:
            module.install(_patcher)
        _patcher.replace_copies()
    except BaseException:
        _patcher.undo()
        state.pop()
        raise


def check_version() -> None:
    """Refuse a torch that is too old; warn once of one that is newer than tried."""
    if TORCH_VERSION < OLDEST:
        raise RuntimeError(
            f"the simulated GPU needs torch {OLDEST[0]}.{OLDEST[1]} or newer, "
            f"this is {torch.__version__}"
        )
    if TORCH_VERSION > NEWEST and "version" not in _warned:
        _warned.add("version")
        warnings.warn(
            f"torch {torch.__version__} is newer than the newest that torchferry was tried with "
            f"({NEWEST[0]}.{NEWEST[1]}): the simulated GPU may be wrong",
            stacklevel=3,
        )
