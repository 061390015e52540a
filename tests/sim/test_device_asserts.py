"""What CUDA finds in a kernel: a device-side assert, after which nothing works on the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402

from torchferry.sim import simulate  # noqa: E402

D = "cuda"
ERROR = getattr(torch, "AcceleratorError", RuntimeError)
#: x: (4, 3) on the GPU, i: [7] on the GPU.
ASSERTS: dict[str, Callable[..., object]] = {
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "scatter_": lambda x, i: x.scatter_(0, i[:, None], 1.0),
    "scatter": lambda x, i: x.scatter(0, i[:, None], x),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None], x),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i[:, None], x, "sum"),
    "index_select": lambda x, i: x.index_select(0, i),
    "embedding": lambda x, i: F.embedding(i, x),
    "embedding with max_norm": lambda x, i: F.embedding(i, x, max_norm=1.0),
    "embedding_bag": lambda x, i: F.embedding_bag(i, x, torch.tensor([0], device=D)),
    "index_add": lambda x, i: x.index_add(0, i, x[:1]),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:1]),
    "index_fill": lambda x, i: x.index_fill(0, i, 0.0),
    "index_reduce": lambda x, i: x.index_reduce(0, i, x[:1], "prod"),
    "take": lambda x, i: x.take(i * 10),
    "put": lambda x, i: x.put(i * 10, x[0, :1]),
    "nll_loss": lambda x, i: F.nll_loss(x[:1], i),
    "nll_loss of images": lambda x, i: F.nll_loss(x[:1].view(1, 3, 1, 1), i.view(1, 1, 1)),
    "cross_entropy": lambda x, i: F.cross_entropy(x[:1], i),
    "multi_margin_loss": lambda x, i: F.multi_margin_loss(x[:1], i),
    "one_hot": lambda x, i: F.one_hot(i, 3),
    "one_hot of -1": lambda x, i: F.one_hot(-i, 3),
    "index": lambda x, i: x[i],
    "index of columns": lambda x, i: x[:, i],
    "index below": lambda x, i: x[-i],
    "setitem": lambda x, i: x.__setitem__(i, 1.0),
    "index_put_": lambda x, i: x.index_put_((i,), torch.tensor(1.0, device=D), accumulate=True),
    "max_unpool2d": lambda x, i: F.max_unpool2d(x[None, None], (i * 99).expand(1, 1, 4, 3), 2),
    "binary_cross_entropy": lambda x, i: F.binary_cross_entropy(x + 2, x),
    "bernoulli": lambda x, i: torch.bernoulli(x + 2),
    "poisson": lambda x, i: torch.poisson(-x - 1),
    "multinomial": lambda x, i: torch.multinomial(-x - 1, 1),
}


@pytest.fixture
def gpu() -> Iterator[None]:
    with simulate(trace=False):
        yield


@pytest.mark.parametrize("name", ASSERTS)
def test_device_assert(name: str, gpu: None) -> None:
    x, i = torch.rand(4, 3, device=D), torch.tensor([7], device=D)
    with pytest.raises(ERROR, match="device-side assert triggered"):
        ASSERTS[name](x, i)
    with pytest.raises(ERROR, match="device-side assert triggered"):
        torch.ones(1, device=D)


AFTER: dict[str, Callable[..., object]] = {
    "compute": lambda x, host: x + 1,
    "in place": lambda x, host: x.add_(1),
    "make": lambda x, host: torch.zeros(2, device=D),
    "tensor": lambda x, host: torch.tensor([1.0], device=D),
    "draw": lambda x, host: torch.randn(2, device=D),
    "to the host": lambda x, host: x.cpu(),
    "to the GPU": lambda x, host: host.cuda(),
    "copy_": lambda x, host: host.copy_(x),
    "item": lambda x, host: x[0, 0].item(),
    "tolist": lambda x, host: x.tolist(),
    "repr": lambda x, host: repr(x),
    "if": lambda x, host: bool(x[0, 0] > 0),
    "synchronize": lambda x, host: torch.cuda.synchronize(),
    "stream": lambda x, host: torch.cuda.current_stream().synchronize(),
    "module": lambda x, host: torch.nn.Linear(1, 1).cuda(),
}


def test_the_context_stays_broken(gpu: None) -> None:
    x, host = torch.rand(4, 3, device=D), torch.rand(4, 3)
    with pytest.raises(ERROR, match="device-side assert"):
        x[torch.tensor([4], device=D)]
    for name, use in AFTER.items():
        try:
            use(x, host)
        except ERROR as error:
            assert "device-side assert" in str(error)  # noqa: PT017
        else:
            pytest.fail(f"{name} runs")
    assert (host + 1).shape == x.view(4, 3).shape  # the host goes on, views call no kernel
    assert torch.cuda.memory_allocated() > 0


def test_a_new_session_works(gpu: None) -> None:
    with simulate(), pytest.raises(ERROR, match="device-side assert"):
        torch.rand(2, device=D)[torch.tensor([2], device=D)]
    assert (torch.ones(2, device=D) + 1).sum() == 4


def test_the_host_speaks_as_before(gpu: None) -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        torch.rand(2)[torch.tensor([2])]
    with pytest.raises(IndexError, match="out of bounds"):
        torch.rand(2, device=D)[2]  # Python's own index is checked on the host
    with pytest.raises(RuntimeError, match="Class values must be smaller"):
        F.one_hot(torch.tensor([7]), 3)
    assert torch.ones(1, device=D).is_cuda


#: Dtypes that no device computes, CUDA's words.
NO_KERNEL: dict[str, tuple[Callable[..., object], str]] = {
    "softmax": (lambda x: x.softmax(0), "\"host_softmax\" not implemented for 'Long'"),
    "log_softmax": (lambda x: F.log_softmax(x, 0), "\"host_softmax\" not implemented for 'Long'"),
    "mm of bool": (lambda x: x.bool() @ x.bool(), "\"addmm_cuda\" not implemented for 'Bool'"),
    "elu": (lambda x: F.elu(x), "\"elu_cuda\" not implemented for 'Long'"),
    "cdist": (lambda x: torch.cdist(x.half(), x.half()), '"cdist_cuda" not implemented'),
    "avg_pool2d": (lambda x: F.avg_pool2d(x[None], 1), '"avg_pool2d_out_cuda_frame" not impl'),
}


@pytest.mark.parametrize("name", NO_KERNEL)
def test_kernels_have_their_names_of_cuda(name: str, gpu: None) -> None:
    call, words = NO_KERNEL[name]
    with pytest.raises(RuntimeError, match=words):
        call(torch.ones(2, 2, dtype=torch.int64, device=D))
    torch.ones(1, device=D) + 1  # the context is whole
