"""Threads, DataParallel, hooks, custom functions, TorchScript, devices by number, seeds, memory
after an error, profilers: what PyTorch documents of them on CUDA."""

from __future__ import annotations

import _thread
import importlib
import inspect
import io
import pkgutil
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from torchferry.sim import simulate  # noqa: E402

CUDA = torch.device("cuda", 0)
MIXED = "Expected all tensors to be on the same device"


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    with simulate(gpus=2):
        yield


def checked_work() -> bool:
    """True where this thread is inside the simulation: results on the GPU, devices checked."""
    out = torch.ones(2, device="cuda") + 1
    try:
        out + torch.ones(2)
    except RuntimeError as error:
        return out.is_cuda and MIXED in str(error)
    return False


class Overriding(threading.Thread):
    """Replaces `run`, as many programs do."""

    found: bool

    def run(self) -> None:
        self.found = checked_work()


def test_threads_of_every_kind() -> None:
    overriding = Overriding()
    overriding.start()
    overriding.join()
    assert overriding.found
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: checked_work(), range(3))) == [True] * 3
    answers: queue.Queue[Any] = queue.Queue()
    _thread.start_new_thread(lambda: answers.put(checked_work()), ())
    assert answers.get(timeout=10)
    threading.Timer(0, lambda: answers.put(checked_work())).start()
    assert answers.get(timeout=10)


def test_each_thread_has_its_current_device() -> None:
    """cudaSetDevice is of a thread; a new thread starts with device 0."""
    torch.cuda.set_device(1)
    answers: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        before = torch.cuda.current_device()
        torch.cuda.set_device(0)
        answers.put((before, torch.ones(1, device="cuda").get_device()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert answers.get() == (0, 0)
    assert torch.cuda.current_device() == 1


class Halves(nn.Module):
    """Notes the devices that its parts and inputs meet on."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.register_buffer("offset", torch.ones(3))
        self.seen: list[tuple[Any, ...]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append((x.device, self.linear.weight.device, self.offset.device))
        return self.linear(x) + self.offset


def test_data_parallel_gives_the_numbers_of_one_gpu() -> None:
    model = Halves().cuda()
    x = torch.randn(6, 4)
    expected = model(x.cuda())
    expected.square().sum().backward()
    gradient = model.linear.weight.grad.clone()
    model.zero_grad()
    model.seen.clear()
    out = nn.DataParallel(model)(x)  # scatters from the host, too
    out.square().sum().backward()
    assert out.device == CUDA
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(model.linear.weight.grad, gradient)
    assert sorted(str(seen[0]) for seen in model.seen) == ["cuda:0", "cuda:1"]
    assert all(len(set(seen)) == 1 for seen in model.seen)
    assert nn.DataParallel(model, output_device=1)(x).get_device() == 1
    with pytest.raises(RuntimeError, match=r"on device cuda:0 \(device_ids\[0\]\) but found one"):
        nn.DataParallel(Halves(), device_ids=[0, 1])(x)


def test_numbers_are_devices() -> None:
    assert torch.device(1) == torch.device("cuda:1")
    assert isinstance(torch.device("cpu"), torch.device)
    assert type(torch.device("cpu")) == torch.device  # noqa: E721
    for x in (
        torch.zeros(1, device=1),
        torch.zeros(1).to(1),
        torch.zeros(1).cuda(1),
        torch.zeros_like(torch.ones(1), device=1),
        torch.ones(1).new_zeros(2, device=1),
        nn.Linear(1, 1, device=1).weight,
        nn.Linear(1, 1).to(1).weight,
    ):
        assert x.get_device() == 1
    with torch.device(1):
        assert torch.zeros(1).get_device() == 1


def test_nodes_of_moves_are_named_as_on_cuda() -> None:
    x = torch.ones(2, requires_grad=True).cuda()
    assert repr(x) == "tensor([1., 1.], device='cuda:0', grad_fn=<ToCopyBackward0>)"
    assert [type(node).__name__ for node, _ in x.grad_fn.next_functions] == ["AccumulateGrad"]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        assert x.device == grad.device == CUDA
        return 2 * x * grad


class ToHost(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.cpu()


def test_custom_functions() -> None:
    x = torch.ones(2, requires_grad=True)
    Square.apply(x.cuda()).sum().backward()
    assert x.grad is not None
    assert x.grad.device.type == "cpu"
    with pytest.raises(
        RuntimeError,
        match="Function ToHostBackward returned an invalid gradient at index 0 - expected device "
        "cuda:0 but got cpu",
    ):
        ToHost.apply(torch.ones(2, device="cuda", requires_grad=True)).sum().backward()


def test_hooks_see_the_gpu() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)).cuda()
    seen: list[Any] = []
    model[0].register_forward_pre_hook(lambda m, inputs: seen.append(inputs[0].device))
    model[0].register_forward_hook(lambda m, inputs, out: seen.append(out.device))
    model[0].register_full_backward_hook(lambda m, gi, go: seen.append(go[0].device))
    model[2].register_full_backward_pre_hook(lambda m, go: seen.append(go[0].device))
    model[0].weight.register_hook(lambda grad: seen.append(grad.device))
    model[0].weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.device))
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        out = model(torch.ones(2, 2, device="cuda", requires_grad=True))
    out.register_hook(lambda grad: seen.append(grad.device))
    out.sum().backward()
    assert seen == [CUDA] * 7
    assert model[0].weight.grad.device == CUDA


@pytest.mark.filterwarnings("ignore")
def test_torchscript() -> None:
    model = torch.jit.script(nn.Linear(2, 2).cuda())
    x = torch.ones(1, 2, device="cuda")
    assert model(x).device == CUDA
    assert torch.jit.freeze(model.eval())(x).device == CUDA
    file = io.BytesIO()
    torch.jit.save(model, file)
    for location, kind in ((None, "cuda"), ("cuda:0", "cuda"), ("cpu", "cpu"), (CUDA, "cuda")):
        file.seek(0)
        loaded = torch.jit.load(file, map_location=location)
        assert {p.device.type for p in loaded.parameters()} == {kind}
        assert loaded(x.to(kind)).device.type == kind


@pytest.mark.parametrize("rng", ["host", "device"])
def test_seeds_and_states(rng: str) -> None:
    def draw() -> list[float]:
        return list(torch.rand(3, device="cuda").tolist())

    with simulate(rng=rng):
        torch.manual_seed(1)
        first = draw()
        torch.manual_seed(1)
        assert draw() == first
        torch.cuda.manual_seed_all(7)
        seventh = draw()
        assert draw() != seventh
        torch.cuda.manual_seed_all(7)
        assert draw() == seventh
        state = torch.cuda.get_rng_state()
        assert state.device.type == "cpu"
        after = draw()
        torch.cuda.set_rng_state(state)
        assert draw() == after
        torch.cuda.set_rng_state(state)
        with torch.random.fork_rng(devices=[0]):
            draw()
        assert draw() == after


def test_seeding_both_draws_what_the_cpu_draws() -> None:
    torch.manual_seed(3)
    expected = (torch.rand(2).tolist(), torch.rand(2).tolist())
    torch.manual_seed(3)
    torch.cuda.manual_seed_all(3)
    found = torch.rand(2).tolist()
    torch.cuda.manual_seed(4)
    assert (found, torch.rand(2, device="cuda").tolist()) == expected


def test_memory_comes_back_after_an_error() -> None:
    """The usual loop that halves the batch: the failed try holds nothing once it is handled."""
    with simulate(memory="8MB"):
        model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4)).cuda()
        size, failed = 16384, 0
        while True:
            try:
                model(torch.randn(size, 64, device="cuda")).sum().backward()
                break
            except torch.OutOfMemoryError:
                size, failed = size // 2, failed + 1
        assert failed
        # input, two activations and their gradients: 4 bytes * (64 + 4 * 256) a row
        assert size * 4 * (64 + 4 * 256) * 2 > 8 << 20


def test_profilers_measure_the_host(capfd: pytest.CaptureFixture[str]) -> None:
    x = torch.ones(2, 2, device="cuda")
    with torch.autograd.profiler.profile(use_device="cuda") as profile:
        x @ x
    assert "aten::" in profile.key_averages().table()
    assert "Failed to record CUDA event" not in capfd.readouterr().err


def callables() -> list[tuple[str, Any]]:
    """Public functions of torch.cuda's submodules that can be called without arguments."""
    found = []
    for info in pkgutil.iter_modules(torch.cuda.__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"torch.cuda.{info.name}")
        for name in getattr(module, "__all__", ()):
            if callable(getattr(module, name)) and not needed(getattr(module, name)):
                found.append((f"{module.__name__}.{name}", (module, name)))
    return found


def needed(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.default is p.empty and p.kind in (0, 1) for p in parameters)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "where"), callables(), ids=[name for name, _ in callables()])
def test_submodules_work_or_say_why_not(name: str, where: Any) -> None:
    """Also for names of a newer torch: the error of what is missing names what was called."""
    module, short = where
    try:
        getattr(module, short)()
    except (RuntimeError, AttributeError) as error:
        text = str(error)
    else:
        return
    assert text.startswith("torch.cuda.")
    assert "a simulated GPU" in text


@pytest.mark.filterwarnings("ignore")
def test_compiled_models_run_and_steps_can_be_marked() -> None:
    model = torch.compile(nn.Linear(2, 2).cuda(), mode="reduce-overhead")
    torch.compiler.cudagraph_mark_step_begin()
    assert model(torch.ones(1, 2, device="cuda")).device == CUDA
    assert list(model.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]


def test_dlpack() -> None:
    """kDLCUDA is 2, kDLCPU is 1; what comes back shares the memory."""
    x = torch.ones(2, device="cuda")
    assert tuple(map(int, x.__dlpack_device__())) == (2, 0)
    assert tuple(map(int, torch.ones(2).__dlpack_device__())) == (1, 0)
    for back in (
        torch.from_dlpack(x),
        torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)),
    ):
        assert back.device == CUDA
        assert back.data_ptr() == x.data_ptr()
        assert (back + x).device == CUDA
    assert torch.from_dlpack(torch.ones(2)).device.type == "cpu"
    numpy = pytest.importorskip("numpy")
    with pytest.raises((RuntimeError, BufferError, ValueError, TypeError)):
        numpy.from_dlpack(x)
    assert torch.from_dlpack(numpy.ones(2)).device.type == "cpu"
