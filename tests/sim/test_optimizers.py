"""Optimizers on the simulated GPU take CUDA's default implementation and give the CPU's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchferry.sim import simulate  # noqa: E402
from torchferry.sim.messages import TORCH_VERSION  # noqa: E402

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True}),
    ("AdamW", {"lr": 0.01}),
    ("NAdam", {"lr": 0.01}),
    ("RAdam", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True}),
    ("Adagrad", {"lr": 0.01}),
    ("Adadelta", {"lr": 0.1}),
    ("Adamax", {"lr": 0.01}),
    ("ASGD", {"lr": 0.01}),
    ("Rprop", {"lr": 0.01}),
]


def train(device: str, make: Callable[[Any], Any], clip: bool = True) -> list[float]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)).to(
        device
    )
    optimizer = make(model.parameters())
    x, y = torch.randn(16, 4).to(device), torch.randint(3, (16,)).to(device)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    assert all(p.device.type == device and p.grad.device.type == device for p in model.parameters())
    return losses


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=lambda v: v if v == str(v) else "")
def test_same_numbers_as_the_cpu(name: str, settings: dict[str, Any]) -> None:
    def make(parameters: Any) -> Any:
        return getattr(torch.optim, name)(parameters, **settings)

    expected = train("cpu", make)
    with simulate():
        found = train("cuda", make)
    if name in ("NAdam", "ASGD"):  # their foreach code rounds differently
        assert found == pytest.approx(expected, rel=1e-5)
    else:
        assert found == expected


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "Adagrad"])
@pytest.mark.parametrize("implementation", ["fused", "foreach", "for loop"])
def test_implementations(name: str, implementation: str) -> None:
    if (name, implementation) == ("Adagrad", "fused") and TORCH_VERSION < (2, 11):
        pytest.skip("this torch has a fused Adagrad for the CPU only")
    flags = {"foreach": False} if implementation == "for loop" else {implementation: True}

    def make(parameters: Any) -> Any:
        return getattr(torch.optim, name)(parameters, lr=0.01, **flags)

    def plain(parameters: Any) -> Any:
        return getattr(torch.optim, name)(parameters, lr=0.01)

    expected = train("cpu", plain)
    with simulate():
        found = train("cuda", make)
    assert found == pytest.approx(expected, rel=1e-4)


def test_cuda_takes_foreach_by_default() -> None:
    with simulate() as gpu:
        train("cuda", lambda p: torch.optim.Adam(p, lr=0.01))
    assert any(key[0].startswith("_foreach_addcdiv_") for key in gpu.counter.operators)


def test_tensor_learning_rate_and_capturable() -> None:
    with simulate():
        train("cuda", lambda p: torch.optim.Adam(p, lr=torch.tensor(0.01), foreach=False))
        train("cuda", lambda p: torch.optim.Adam(p, lr=0.01, capturable=True))


def test_learning_rate_scheduler_and_state_dict() -> None:
    with simulate():
        model = torch.nn.Linear(2, 2).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        model(torch.ones(1, 2, device="cuda")).sum().backward()
        optimizer.step()
        scheduler.step()
        saved = optimizer.state_dict()
        assert saved["state"][0]["momentum_buffer"].is_cuda
        optimizer.load_state_dict(saved)
        optimizer.step()
        assert optimizer.param_groups[0]["lr"] == 0.5
