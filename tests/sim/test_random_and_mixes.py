"""Random operators take generators of their own device only; legal mixes of devices run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from torchferry.sim import simulate  # noqa: E402

init = torch.nn.init
#: x: positive numbers, (4, 3); g: the generator; d: the device of x.
CALLS: dict[str, Callable[..., object]] = {
    "bernoulli": lambda x, g, d: torch.bernoulli(x, generator=g),
    "bernoulli of p": lambda x, g, d: torch.bernoulli(x, 0.5, generator=g),
    "bernoulli_": lambda x, g, d: x.bernoulli_(0.5, generator=g),
    "bernoulli_ of tensor": lambda x, g, d: x.bernoulli_(x.clone(), generator=g),
    "binomial": lambda x, g, d: torch.binomial(x, x, generator=g),
    "cauchy_": lambda x, g, d: x.cauchy_(generator=g),
    "exponential_": lambda x, g, d: x.exponential_(generator=g),
    "geometric_": lambda x, g, d: x.geometric_(0.5, generator=g),
    "log_normal_": lambda x, g, d: x.log_normal_(generator=g),
    "normal_": lambda x, g, d: x.normal_(generator=g),
    "random_": lambda x, g, d: x.random_(generator=g),
    "random_ to": lambda x, g, d: x.random_(5, generator=g),
    "random_ from to": lambda x, g, d: x.random_(2, 5, generator=g),
    "uniform_": lambda x, g, d: x.uniform_(generator=g),
    "multinomial": lambda x, g, d: torch.multinomial(x, 1, generator=g),
    "normal": lambda x, g, d: torch.normal(x, x, generator=g),
    "normal of mean": lambda x, g, d: torch.normal(x, 1.0, generator=g),
    "normal of std": lambda x, g, d: torch.normal(0.0, x, generator=g),
    "normal of size": lambda x, g, d: torch.normal(0.0, 1.0, (2,), generator=g, device=d),
    "poisson": lambda x, g, d: torch.poisson(x, generator=g),
    "rand": lambda x, g, d: torch.rand(2, generator=g, device=d),
    "rand out": lambda x, g, d: torch.rand(2, generator=g, out=torch.empty(2, device=d)),
    "randn": lambda x, g, d: torch.randn(2, generator=g, device=d),
    "randint": lambda x, g, d: torch.randint(0, 5, (2,), generator=g, device=d),
    "randperm": lambda x, g, d: torch.randperm(4, generator=g, device=d),
    "gamma": lambda x, g, d: torch._standard_gamma(x, generator=g),
    "dirichlet": lambda x, g, d: torch._sample_dirichlet(x, generator=g),
    "rrelu": lambda x, g, d: torch.ops.aten.rrelu(x, 0.1, 0.3, True, g),
    "init.normal_": lambda x, g, d: init.normal_(x, generator=g),
    "init.trunc_normal_": lambda x, g, d: init.trunc_normal_(x, generator=g),
    "init.xavier_uniform_": lambda x, g, d: init.xavier_uniform_(x, generator=g),
    "init.kaiming_normal_": lambda x, g, d: init.kaiming_normal_(x, generator=g),
    "init.orthogonal_": lambda x, g, d: init.orthogonal_(x, generator=g),
}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_own_generators_are_taken(device: str) -> None:
    with simulate(trace=False):
        for call in CALLS.values():
            x = torch.rand(4, 3, device=device)
            out = call(x, torch.Generator(device), device)
            assert out.device.type == device  # type: ignore[attr-defined]


@pytest.mark.parametrize(("device", "other"), [("cpu", "cuda"), ("cuda", "cpu")])
def test_other_generators_are_refused(device: str, other: str) -> None:
    words = f"Expected a '{device}' device type for generator but found '{other}'"
    with simulate(trace=False):
        for name, call in CALLS.items():
            x = torch.rand(4, 3, device=device)
            try:
                call(x, torch.Generator(other), device)
            except RuntimeError as error:
                assert words in str(error), name  # noqa: PT017
            else:
                pytest.fail(f"{name} runs")


MIXES: dict[str, Callable[..., object]] = {
    "0-dim CPU tensor": lambda x, i: (x + torch.tensor(2.0)) * torch.tensor(3) - torch.tensor(1.0),
    "0-dim CPU tensor first": lambda x, i: torch.tensor(2.0) / x,
    "in place": lambda x, i: x.mul_(torch.tensor(2.0)),
    "where": lambda x, i: torch.where(x > 0, torch.tensor(1.0), x),
    "clamp": lambda x, i: x.clamp(max=torch.tensor(0.5)),
    "lerp's weight": lambda x, i: torch.lerp(x, x, torch.tensor(0.5)),
    "masked_fill": lambda x, i: x.masked_fill(x > 0, torch.tensor(0.0)),
    "index by the host": lambda x, i: x[i],
    "index of columns": lambda x, i: x[:, i],
    "mask of the host": lambda x, i: x[torch.tensor([True, False, True, False])],
    "set by an index of the host": lambda x, i: x.index_put_((i,), torch.tensor(1.0)),
    "set to a number": lambda x, i: x.__setitem__(0, torch.tensor(1.0)) or x,
    "set to values of the host": lambda x, i: x.__setitem__(0, torch.ones(3)) or x,
    "copy_": lambda x, i: x.copy_(torch.ones(4, 3)),
    "tensor_split": lambda x, i: torch.tensor_split(x, torch.tensor([1, 2]))[0],
    "packed lengths": lambda x, i: (
        torch.nn.utils.rnn.pack_padded_sequence(x[None], torch.tensor([2]), batch_first=True).data
    ),
    "foreach with a number": lambda x, i: torch._foreach_mul([x], torch.tensor(2.0))[0],
    "range by numbers": lambda x, i: torch.linspace(
        torch.tensor(0.0), torch.tensor(1.0), 3, device="cuda"
    ),
}


def test_legal_mixes_run() -> None:
    with simulate(trace=False):
        for name, mix in MIXES.items():
            x = torch.rand(4, 3, device="cuda")
            assert mix(x, torch.tensor([0, 2])).is_cuda, name  # type: ignore[attr-defined]
