"""A run on a real GPU draws its random numbers on the host; the simulated one stands in for it."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from torchferry.sim import simulate  # noqa: E402
from torchferry.verification import Tolerance, VerifyOptions, verify  # noqa: E402
from torchferry.verification.child.real_gpu import HostRandomMode  # noqa: E402

from .programs import EXAMPLES  # noqa: E402


def draws(device: str) -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    if device == "cuda":
        torch.cuda.manual_seed(99)  # the GPU's own generator goes another way
    x = torch.ones(8, device=device, requires_grad=True)
    nn.functional.dropout(x, 0.5).sum().backward()
    return {
        "factory": torch.randn(3, device=device),
        "like": torch.rand_like(x.detach()),
        "permutation": torch.randperm(7, device=device),
        "in place": torch.empty(3, device=device).normal_(),
        "of probabilities": torch.bernoulli(torch.full((9,), 0.5, device=device)),
        "multinomial": torch.multinomial(torch.ones(6, device=device), 4),
        "initialised": nn.Linear(2, 2, device=device).weight.detach(),
        "dropout": x.grad,
        "distribution": torch.distributions.Normal(x.detach(), 1.0).sample(),
    }


def test_every_way_to_draw_gives_the_numbers_of_the_cpu() -> None:
    on_cpu = draws("cpu")
    with simulate(rng="device"):
        own = {name: value.cpu() for name, value in draws("cuda").items()}
        mode = HostRandomMode("cuda")
        with mode:
            found = draws("cuda")
        places = {value.device.type for value in found.values()}
        found = {name: value.cpu() for name, value in found.items()}
    assert places == {"cuda"}
    assert [name for name in on_cpu if not torch.equal(on_cpu[name], found[name])] == []
    assert [name for name in on_cpu if torch.equal(on_cpu[name], own[name])] == []


def test_what_runs_where_is_counted() -> None:
    with simulate():
        with HostRandomMode("cuda") as mode:
            a = torch.ones(4, device="cuda")
            b = (a * 2).sum()
            b.item()
            host = torch.zeros(2)
            host += 1
            host.to("cuda").view(2, 1)
        account = mode.account(peak_memory=7)
    assert (account.gpu_operators, account.gpu_bytes) == (3, 16 + 16 + 4)
    assert (account.host_operators, account.host_bytes) == (2, 16)
    assert account.host_waits == 1
    assert account.peak_memory == 7


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a real GPU")
@pytest.mark.parametrize("name", ["vae", "dataloader_classifier"])
def test_examples_are_verified_on_the_real_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    options = VerifyOptions(use="real", tolerance=Tolerance(rtol=1e-3, atol=1e-4))
    verdict = verify(Path(f"{name}.py"), options=options)
    assert verdict.verified, verdict.reason
    assert verdict.gpu == "real"
