"""Autocast by CUDA's rules: torch.amp's documentation, "Autocast Op Reference"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from torchferry.sim import simulate  # noqa: E402

HALF, FULL, BRAIN = torch.float16, torch.float32, torch.bfloat16


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    with simulate():
        yield


def on_gpu(*shape: int, dtype: torch.dtype = FULL) -> torch.Tensor:
    return torch.rand(*shape, device="cuda").to(dtype)


#: Operators that run in float16 whatever comes in, in float32, in the widest dtype.
TO_HALF: dict[str, Callable[[], torch.Tensor]] = {
    "matmul": lambda: on_gpu(2, 2) @ on_gpu(2, 2),
    "linear": lambda: F.linear(on_gpu(2, 2), on_gpu(2, 2)),
    "addmm": lambda: torch.addmm(on_gpu(2, 2), on_gpu(2, 2), on_gpu(2, 2)),
    "baddbmm": lambda: torch.baddbmm(on_gpu(1, 2, 2), on_gpu(1, 2, 2), on_gpu(1, 2, 2)),
    "mv": lambda: torch.mv(on_gpu(2, 2), on_gpu(2)),
    "conv2d": lambda: F.conv2d(on_gpu(1, 1, 4, 4), on_gpu(1, 1, 2, 2)),
    "conv_transpose2d": lambda: F.conv_transpose2d(on_gpu(1, 1, 4, 4), on_gpu(1, 1, 2, 2)),
    "prelu": lambda: F.prelu(on_gpu(2, 2), on_gpu(1)),
    "einsum": lambda: torch.einsum("ij,jk->ik", on_gpu(2, 2), on_gpu(2, 2)),
    "attention": lambda: F.scaled_dot_product_attention(*[on_gpu(1, 1, 2, 4)] * 3),
    "lstm": lambda: nn.LSTM(2, 3).cuda()(on_gpu(2, 1, 2))[0],
    "gru": lambda: nn.GRU(2, 3).cuda()(on_gpu(2, 1, 2))[0],
    "multi-head": lambda: nn.MultiheadAttention(4, 2).cuda()(*[on_gpu(2, 1, 4)] * 3)[0],
}
TO_FULL: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "exp": torch.exp,
    "log": torch.log,
    "pow": lambda x: x**2,
    "rsqrt": torch.rsqrt,
    "sum": torch.sum,
    "cumsum": lambda x: x.cumsum(0),
    "prod": torch.prod,
    "norm": lambda x: x.norm(),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "group_norm": lambda x: F.group_norm(x[None], 2),
    "mse_loss": lambda x: F.mse_loss(x, x),
    "l1_loss": lambda x: F.l1_loss(x, x),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.zeros(4, dtype=torch.long, device="cuda")),
    "bce_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x),
    "cdist": lambda x: torch.cdist(x, x),
    "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=2.0),
}
AS_IT_COMES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add": lambda x: x + x,
    "relu": torch.relu,
    "gelu": F.gelu,
    "mean": torch.mean,
    "max_pool": lambda x: F.max_pool1d(x[None], 2),
    "dropout": F.dropout,
    "cat": lambda x: torch.cat([x, x]),
    "batch_norm": lambda x: nn.BatchNorm1d(4).cuda()(x),
}


@pytest.mark.parametrize("dtype", [HALF, BRAIN], ids=str)
@pytest.mark.parametrize("name", TO_HALF)
def test_runs_in_the_autocast_dtype(name: str, dtype: torch.dtype) -> None:
    with torch.autocast("cuda", dtype=dtype):
        out = TO_HALF[name]()
    assert out.dtype is dtype
    assert out.is_cuda
    assert TO_HALF[name]().dtype is FULL


@pytest.mark.parametrize("name", TO_FULL)
def test_runs_in_float32(name: str) -> None:
    with torch.autocast("cuda"):
        assert TO_FULL[name](on_gpu(4, 4, dtype=HALF)).dtype is FULL


@pytest.mark.parametrize("name", AS_IT_COMES)
def test_runs_as_it_comes(name: str) -> None:
    with torch.autocast("cuda"):
        assert AS_IT_COMES[name](on_gpu(4, 4, dtype=HALF)).dtype is HALF
        assert AS_IT_COMES[name](on_gpu(4, 4)).dtype is FULL


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: torch.addcmul(a, b, b),
        lambda a, b: torch.dot(a, b),
        lambda a, b: torch.cross(a, b, dim=0),
        lambda a, b: a + b,
    ],
)
def test_widest_dtype(call: Callable[..., torch.Tensor]) -> None:
    with torch.autocast("cuda"):
        assert call(on_gpu(3, dtype=HALF), on_gpu(3)).dtype is FULL
        assert call(on_gpu(3, dtype=HALF), on_gpu(3, dtype=HALF)).dtype is HALF


def test_binary_cross_entropy_is_refused() -> None:
    x = on_gpu(2)
    with torch.autocast("cuda"), pytest.raises(RuntimeError, match="are unsafe to autocast"):
        F.binary_cross_entropy(x, x)
    F.binary_cross_entropy(x, x)


def test_each_device_has_its_own_autocast() -> None:
    host, gpu = torch.ones(2, 2), on_gpu(2, 2)
    with torch.autocast("cuda"):
        assert (host @ host).dtype is FULL
        assert torch.is_autocast_enabled("cuda")
        assert not torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu", dtype=BRAIN):
        assert (gpu @ gpu).dtype is FULL
        assert (host @ host).dtype is BRAIN
        assert torch.softmax(host.bfloat16(), -1).dtype is BRAIN
        with torch.autocast("cuda"):
            assert (gpu @ gpu).dtype is HALF
            assert (host @ host).dtype is BRAIN
        assert (gpu @ gpu).dtype is FULL


def test_double_is_left_alone() -> None:
    with torch.autocast("cuda"):
        x = on_gpu(2, 2, dtype=torch.float64)
        assert (x @ x).dtype is torch.float64
        assert x.sum().dtype is torch.float64


def test_nested_and_as_a_decorator() -> None:
    x = on_gpu(2, 2)

    @torch.autocast("cuda", dtype=BRAIN)
    def product() -> torch.Tensor:
        return x @ x

    with torch.autocast("cuda"):
        assert product().dtype is BRAIN
        with torch.autocast("cuda", enabled=False):
            assert (x @ x).dtype is FULL
        assert (x @ x).dtype is HALF
    assert product().dtype is BRAIN
    assert (x @ x).dtype is FULL


def test_gradients_come_in_the_weights_dtype_and_weights_are_cast_once() -> None:
    layer = nn.Linear(4, 4, bias=False).cuda()
    casts: list[Any] = []
    with torch.autocast("cuda"):
        first, second = layer(on_gpu(1, 4)), layer(on_gpu(1, 4))
        with torch.no_grad():
            assert not layer(on_gpu(1, 4)).requires_grad
    for out in (first, second):  # the node of the cast: `ToCopyBackward0` of the weight
        nodes, found = [out.grad_fn], []
        while nodes:
            node = nodes.pop()
            if node is not None:
                nodes += [parent for parent, _ in node.next_functions]
                if any(type(p).__name__ == "AccumulateGrad" for p, _ in node.next_functions):
                    found.append(node)
        casts += found
    assert casts[0] is casts[1]
    (first.float().sum() + second.float().sum()).backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype is FULL
    assert layer.weight.grad.is_cuda


def test_custom_functions() -> None:
    seen: list[Any] = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=FULL)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            seen.append((a.dtype, torch.is_autocast_enabled("cuda")))
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx: Any, grad: Any) -> Any:
            a, b = ctx.saved_tensors
            seen.append(torch.is_autocast_enabled("cuda"))
            return grad @ b.t(), a.t() @ grad

    x = on_gpu(2, 2).requires_grad_()
    with torch.autocast("cuda"):
        out = Product.apply(x.half(), x)
    out.sum().backward()
    assert seen == [(FULL, False), False]


def test_scaler_skips_steps_with_infinite_gradients() -> None:
    layer = nn.Linear(2, 2).cuda()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0, growth_interval=1)
    before = layer.weight.detach().clone()
    scaler.scale(layer(on_gpu(1, 2)).sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(before, layer.weight)
    assert scaler.get_scale() == 4.0
    optimizer.zero_grad()
    scaler.scale(layer(on_gpu(1, 2)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(before, layer.weight)
    assert scaler.get_scale() == 8.0
