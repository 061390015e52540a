"""Where the host waits depends on the arguments: indexing by masks and by indices of the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchferry import simulate  # noqa: E402


def setitem(target: Any, index: Any, value: Any) -> None:
    target[index] = value


Case = Callable[[Any, Any, Any], Any]
WAITS: dict[str, Case] = {
    "mask": lambda x, mask, i: x[mask],
    "index of the host": lambda x, mask, i: x[i.cpu()],
    "mask and a value of the GPU": lambda x, mask, i: setitem(x, mask, x[0]),
    "repeats of the GPU": lambda x, mask, i: torch.repeat_interleave(x, i[:1]),
}
RUNS_ON: dict[str, Case] = {
    "index": lambda x, mask, i: x[i],
    "mask and one value of the host": lambda x, mask, i: setitem(x, mask, 1.0),
    "slice": lambda x, mask, i: x[1:3],
    "repeats with the size": lambda x, mask, i: torch.repeat_interleave(x, i[:1], output_size=4),
}


def waits(call: Case) -> int:
    with simulate() as gpu:
        x, i = torch.rand(4, device="cuda"), torch.tensor([1, 2], device="cuda")
        mask = x > 0.5
        i.cpu()
        before = gpu.account().host_waits
        call(x, mask, i)
        return gpu.account().host_waits - before


@pytest.mark.parametrize("name", WAITS)
def test_the_host_waits(name: str) -> None:
    copies = 1 if name == "index of the host" else 0  # `.cpu()` itself
    assert waits(WAITS[name]) - copies == 1


@pytest.mark.parametrize("name", RUNS_ON)
def test_the_host_runs_on(name: str) -> None:
    assert waits(RUNS_ON[name]) == 0
