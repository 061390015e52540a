"""The device that a program runs on: none, a simulated GPU, or the machine's own."""

from __future__ import annotations

from typing import Any, Protocol

from torchferry.trace import Account

from ..request import Request, Where
from . import hidden_gpus


class Device(Protocol):
    """Entered before the program runs, left after its last line."""

    name: str

    def enter(self) -> None:
        """Make the device visible to the program."""

    def leave(self) -> Account | None:
        """Take it away again; what it did, if that was counted."""


def device_for(request: Request) -> Device:
    """The device that the request names."""
    if request.where is Where.SIMULATED:
        return SimulatedDevice(request)
    if request.where is Where.REAL:
        from .real_gpu import RealDevice

        return RealDevice()
    return NoDevice()


class NoDevice:
    """A machine without a GPU."""

    name = ""

    def enter(self) -> None:
        """Hide what there may be."""
        hidden_gpus.hide()

    def leave(self) -> None:
        """Nothing was counted."""
        return None


class SimulatedDevice:
    """torchferry's simulated GPU, and the trace of what it did."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._gpu: Any = None
        self.name = ""

    def enter(self) -> None:
        """Start the simulator. ValueError for options that make no sense."""
        from torchferry.sim import simulate

        wanted = self._request.gpu
        options: dict[str, Any] = {"gpus": wanted.gpus, "memory": wanted.memory, "rng": wanted.rng}
        if wanted.name:
            options["name"] = wanted.name
        self._session = simulate(trace=True, **options)
        self._gpu = self._session.__enter__()
        import torch

        self.name = torch.cuda.get_device_name(0)

    def leave(self) -> Account | None:
        """Stop the simulator, write its trace where one was asked for."""
        account: Account = self._gpu.account()
        if self._request.trace_file:
            from torchferry.trace import write_jsonl

            write_jsonl(self._request.trace_file, self._gpu.trace)
        self._session.__exit__(None, None, None)
        return account
