"""The session: what is restored, nested and repeated use, random numbers, workers, threads."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.utils.data as data  # noqa: E402

from torchferry.sim import Session, simulate  # noqa: E402
from torchferry.sim import state as sim_state  # noqa: E402

OWNERS: tuple[Any, ...] = (
    torch, torch.Tensor, torch.UntypedStorage, torch._C, torch.cuda, torch.cuda.streams,
    torch.cuda.random, torch.autograd, torch.backends.cudnn, torch.backends.cuda, torch.version,
    torch.nn.Module, threading.Thread, torch.accelerator, torch.linalg, torch._VF,
)  # fmt: skip


def snapshot() -> dict[tuple[int, str], int]:
    """Identity of every name that a stand-in could replace."""
    return {
        (i, name): id(value)
        for i, owner in enumerate(OWNERS)
        for name, value in vars(owner).items()
    }


def ignore_lazy(names: dict[tuple[int, str], int]) -> dict[tuple[int, str], int]:
    return {k: v for k, v in names.items() if not k[1].startswith("__")}


def test_everything_is_restored() -> None:
    import torch.utils.checkpoint

    with simulate():
        torch.ones(2, device="cuda")  # torch loads some of its modules at first use
    before = ignore_lazy(snapshot())
    with simulate():
        model = torch.nn.Linear(2, 2).cuda()
        model(torch.ones(1, 2, device="cuda")).sum().backward()
        with torch.autocast("cuda"):
            model(torch.ones(1, 2, device="cuda"))
    after = ignore_lazy(snapshot())
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert not changed
    assert not torch.cuda.is_available()
    assert sim_state.running() is None


def test_tensors_outlive_the_session_as_cpu_tensors() -> None:
    with simulate():
        x = torch.ones(2, device="cuda")
    assert x.device.type == "cpu"
    assert (x + torch.ones(2)).tolist() == [2.0, 2.0]


def test_exceptions_pass_through() -> None:
    with pytest.raises(KeyError), simulate():
        raise KeyError("x")
    assert not torch.cuda.is_available()


def test_nested_sessions_see_their_own_machine() -> None:
    with simulate(gpus=1, name="outer"):
        with simulate(gpus=2, name="inner") as inner:
            assert torch.cuda.device_count() == 2
            assert torch.cuda.get_device_name() == "inner"
            assert torch.ones(2, device="cuda:1").get_device() == 1
            assert inner.account().gpu_operators == 1
        assert torch.cuda.device_count() == 1
        assert torch.cuda.get_device_name() == "outer"
    assert not torch.cuda.is_available()


def test_decorator_and_repeated_use() -> None:
    @simulate(gpus=3)
    def count() -> int:
        return int(torch.cuda.device_count())

    assert count() == count() == 3
    once = simulate()
    for _ in range(2):
        with once as gpu:
            assert isinstance(gpu, Session)
            assert torch.ones(1, device="cuda").is_cuda


def test_default_device_does_not_leak() -> None:
    with simulate():
        torch.set_default_device("cuda")
        assert torch.zeros(1).is_cuda
    assert torch.zeros(1).device.type == "cpu"
    assert torch.get_default_device().type == "cpu"


def test_names_imported_before_are_found() -> None:
    namespace: dict[str, Any] = {}
    exec(
        "from torch import tensor, FloatTensor, zeros\nfrom torch.cuda import is_available",
        namespace,
    )
    import sys
    from types import ModuleType

    module = ModuleType("ferry_user_module")
    module.__dict__.update(namespace)
    sys.modules[module.__name__] = module
    try:
        original = module.tensor  # type: ignore[attr-defined]
        with simulate():
            assert module.tensor([1.0], device="cuda").is_cuda  # type: ignore[attr-defined]
            assert module.is_available()  # type: ignore[attr-defined]
            assert module.zeros(1, device="cuda").is_cuda  # type: ignore[attr-defined]
        assert module.tensor is original  # type: ignore[attr-defined]
    finally:
        del sys.modules[module.__name__]


def test_host_random_numbers_are_the_cpus() -> None:
    def draw(device: str) -> list[float]:
        torch.manual_seed(5)
        x = torch.rand(3, device=device) + torch.randn(3, device=device)
        return list(torch.nn.functional.dropout(x, 0.5).tolist())

    expected = draw("cpu")
    with simulate():
        assert draw("cuda") == expected


def test_device_random_numbers_leave_the_cpus_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3).tolist()
    with simulate(rng="device"):
        torch.manual_seed(5)
        first = torch.rand(3, device="cuda").tolist()
        assert torch.rand(3).tolist() == expected
        torch.cuda.manual_seed(5)
        assert torch.rand(3, device="cuda").tolist() == first
        state = torch.cuda.get_rng_state()
        second = torch.rand(3, device="cuda").tolist()
        torch.cuda.set_rng_state(state)
        assert torch.rand(3, device="cuda").tolist() == second


@pytest.mark.parametrize("bad", [{"gpus": 0}, {"memory": "lots"}, {"rng": "magic"}])
def test_bad_settings(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"gpus|memory|rng"), simulate(**bad):
        pass


def test_out_of_memory_on_a_small_card() -> None:
    with simulate(memory="1MB"):
        kept = torch.ones(200_000, device="cuda")
        with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate"):
            torch.ones(200_000, device="cuda")
        del kept
        assert torch.ones(200_000, device="cuda").is_cuda
        assert torch.cuda.memory_allocated() == 0


class Numbers(data.Dataset[Any]):
    """A data set on the host."""

    def __init__(self, on_gpu: bool = False) -> None:
        self.on_gpu = on_gpu

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        x = torch.full((2,), float(index))
        return x.cuda() if self.on_gpu else x


def test_dataloader_workers() -> None:
    with simulate():
        for batch in data.DataLoader(Numbers(), 2, num_workers=1, pin_memory=True):
            assert batch.is_pinned()
            assert batch.cuda(non_blocking=True).is_cuda


def test_gpu_in_a_forked_worker_is_refused() -> None:
    with simulate():
        torch.ones(1, device="cuda")
        loader = data.DataLoader(Numbers(on_gpu=True), 2, num_workers=1)
        with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
            list(loader)


def test_account_counts() -> None:
    with simulate() as gpu:
        x = torch.ones(256)
        y = x.cuda()
        z = (y * 2 + 1).sum()
        z.item()
        y.cpu()
    account = gpu.account()
    assert account.gpu_operators == 3
    assert account.gpu_bytes == 1024 + 1024 + 4
    assert account.host_operators == 1
    assert account.host_bytes == 0  # making a tensor is no computing
    assert (account.h2d_copies, account.h2d_bytes) == (1, 1024)
    assert (account.d2h_copies, account.d2h_bytes) == (1, 1024)
    assert account.host_waits == 2
    assert account.peak_memory == 3 * 1024  # y, y * 2 and y * 2 + 1 in blocks of 512


def test_views_and_moves_are_not_computing() -> None:
    with simulate() as gpu:
        x = torch.ones(4, 4, device="cuda")
        x.t().reshape(2, 8).unsqueeze(0).detach()[0, :1]
    # `reshape` of a transposed matrix copies; the rest are views.
    assert gpu.account().gpu_operators == 2


def test_threads_inside_a_session() -> None:
    seen: list[bool] = []

    def work() -> None:
        seen.append((torch.ones(2, device="cuda") + 1).is_cuda)

    with simulate():
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == [True] * 3


def test_memory_stays_flat() -> None:
    with simulate() as gpu:
        model = torch.nn.Linear(4, 4).cuda()
        optimizer = torch.optim.Adam(model.parameters())

        def step() -> None:
            optimizer.zero_grad()
            model(torch.ones(2, 4, device="cuda")).sum().backward()
            optimizer.step()

        for _ in range(5):
            step()
        used, places = torch.cuda.memory_allocated(), len(gpu.counter.operators)
        for _ in range(50):
            step()
        assert torch.cuda.memory_allocated() == used
        assert len(gpu.counter.operators) == places


@pytest.fixture
def saved() -> io.BytesIO:
    with simulate():
        file = io.BytesIO()
        torch.save({"w": torch.ones(2, device="cuda")}, file)
    file.seek(0)
    return file


def test_checkpoint_of_a_gpu_needs_map_location_without_one(saved: io.BytesIO) -> None:
    with pytest.raises(RuntimeError, match="map_location"):
        torch.load(saved)
    saved.seek(0)
    assert torch.load(saved, map_location="cpu")["w"].tolist() == [1.0, 1.0]
