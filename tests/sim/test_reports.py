"""Device errors say which tensors, made where, moved where, and what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchferry.sim import simulate  # noqa: E402
from torchferry.trace import DeviceErrorReport  # noqa: E402


class Net(torch.nn.Module):
    """A module with every mistake; `mode` chooses."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4)
        self.scale = torch.ones(4)
        self.layers = [torch.nn.Linear(4, 4)]

    def forward(self, x: Any, mode: str) -> Any:
        if mode == "hidden":
            h0, c0 = torch.zeros(1, 1, 4), torch.zeros(1, 1, 4)
            return self.lstm(x, (h0, c0))
        out, _ = self.lstm(x)
        return out * self.scale if mode == "attribute" else self.layers[0](out)


def report_of(run: Callable[[], Any]) -> DeviceErrorReport:
    with simulate(), pytest.raises((RuntimeError, TypeError)) as caught:
        run()
    report: DeviceErrorReport = caught.value.__torchferry__  # type: ignore[attr-defined]
    assert report.message == str(caught.value)
    assert report.place is not None
    assert report.place.file == __file__
    return report


def forward(mode: str) -> Callable[[], Any]:
    def run() -> Any:
        model = Net().to("cuda")
        x = torch.randn(2, 1, 3).to("cuda")
        return model(x, mode)

    return run


def test_hidden_state_made_on_the_host() -> None:
    report = report_of(forward("hidden"))
    hidden = report.tensors[1]
    assert (hidden.name, hidden.device, hidden.born_by) == ("h0", "cpu", "zeros")
    assert hidden.born is not None
    assert "torch.zeros" in hidden.born.source
    assert "`h0`" in report.suggestion
    assert "device=x.device" in report.suggestion
    assert f"line {hidden.born.line}" in report.suggestion
    assert [m.device for m in report.tensors[0].moves] == ["cuda:0"]


def test_plain_attribute() -> None:
    report = report_of(forward("attribute"))
    assert [t.name for t in report.tensors] == ["out", "self.scale"]
    assert "register_buffer('scale'" in report.suggestion


def test_module_in_a_plain_list() -> None:
    report = report_of(forward("list"))
    assert report.tensors[0].name == "self.layers[0].bias"
    assert "nn.ModuleList" in report.suggestion


def test_moved_back_too_early() -> None:
    def run() -> None:
        x = torch.ones(2, device="cuda")
        y = x.cpu()
        x + y

    report = report_of(run)
    assert report.tensors[1].name == "y"
    assert "moved to the CPU" in report.suggestion


def test_numpy() -> None:
    def run() -> None:
        values = torch.ones(2, device="cuda")
        values.numpy()

    report = report_of(run)
    assert report.kind == "numpy-of-device-tensor"
    assert "`values.detach().cpu().numpy()`" in report.suggestion


def test_index() -> None:
    def run() -> None:
        table, chosen = torch.arange(3), torch.tensor([1], device="cuda")
        table[chosen]

    report = report_of(run)
    assert report.kind == "index-device"
    assert "`chosen.cpu()`" in report.suggestion


def test_half_moved_model() -> None:
    def run() -> None:
        device = torch.device("cuda")
        model = torch.nn.Linear(1, 1).to(device)
        x_train = torch.ones(5, 1).to(device)
        model = model.to(torch.device("cpu"))
        model(x_train)

    report = report_of(run)
    names = {t.name for t in report.tensors}
    assert "x_train" in names
    assert "model.bias" in names
    assert "model" in report.suggestion
