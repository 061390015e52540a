"""`torch.use_deterministic_algorithms(True)` on the simulated GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

from torchferry import simulate  # noqa: E402


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


REFUSED = {
    "avg_pool3d_backward_cuda": lambda x: functional.avg_pool3d(x, 2).sum().backward(),
    "grid_sampler_2d_backward_cuda": lambda x: functional.grid_sample(
        x[0], torch.zeros(2, 3, 3, 2, device=x.device), align_corners=False
    ).sum().backward(),
    "reflection_pad2d_backward_cuda": lambda x: functional.pad(
        x[0], (1, 1, 1, 1), mode="reflect"
    ).sum().backward(),
    "nll_loss2d_forward_out_cuda_template": lambda x: functional.cross_entropy(
        x[:, 0], torch.zeros(1, 4, 4, dtype=torch.long, device=x.device)
    ),
    "median CUDA with indices output": lambda x: x.median(dim=0),
    "_bincount_cuda": lambda x: torch.bincount(
        torch.tensor([1, 1], device=x.device), torch.ones(2, device=x.device)
    ),
    "scatter_reduce_cuda_prod_": lambda x: torch.ones(2, device=x.device).scatter_reduce(
        0, torch.zeros(2, dtype=torch.long, device=x.device), torch.ones(2, device=x.device), "prod"
    ),
}  # fmt: skip

DETERMINISTIC = {
    "avg_pool2d": lambda x: functional.avg_pool2d(x[0], 2).sum().backward(),
    "nearest": lambda x: functional.interpolate(x[0], scale_factor=2).sum().backward(),
    "nll_loss2d without reduction": lambda x: functional.cross_entropy(
        x[:, 0], torch.zeros(1, 4, 4, dtype=torch.long, device=x.device), reduction="none"
    ),
    "median of all": lambda x: x.median(),
    "bincount without weights": lambda x: torch.bincount(torch.tensor([1, 1], device=x.device)),
    "sum by scatter_reduce": lambda x: torch.ones(2, device=x.device).scatter_reduce(
        0, torch.zeros(2, dtype=torch.long, device=x.device), torch.ones(2, device=x.device), "sum"
    ),
}


def image(device: str) -> torch.Tensor:
    return torch.rand(1, 2, 4, 4, 4, device=device, requires_grad=True)


@pytest.mark.parametrize("kernel", REFUSED)
def test_refused_on_the_gpu_only(kernel: str) -> None:
    with simulate():
        REFUSED[kernel](image("cpu"))
        with pytest.raises(RuntimeError, match=f"{kernel} does not have a deterministic"):
            REFUSED[kernel](image("cuda"))


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_not_refused(name: str) -> None:
    with simulate():
        DETERMINISTIC[name](image("cuda"))


def test_only_a_warning_where_asked() -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    with simulate(), pytest.warns(UserWarning, match="avg_pool3d_backward_cuda does not have"):
        REFUSED["avg_pool3d_backward_cuda"](image("cuda"))


def test_nothing_is_refused_without_the_mode() -> None:
    torch.use_deterministic_algorithms(False)
    with simulate():
        for call in REFUSED.values():
            call(image("cuda"))
