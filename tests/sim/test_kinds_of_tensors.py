"""Sparse, nested, quantized, complex and lazy tensors, subclasses, memory formats, meta tensors.

Each test says what holds for CUDA tensors by PyTorch's documentation; most run the same lines on
the CPU, where only the device differs.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils._pytree import tree_map  # noqa: E402

from torchferry.sim import simulate  # noqa: E402

CUDA = torch.device("cuda", 0)
MIXED = "Expected all tensors to be on the same device"


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    with simulate():
        yield


def sparse(layout: str) -> torch.Tensor:
    values = torch.tensor([1.0, 2.0])
    if layout == "coo":
        return torch.sparse_coo_tensor([[0, 1], [1, 0]], values, (2, 2), device="cuda")
    make = getattr(torch, f"sparse_{layout}_tensor")
    return make(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), values, (2, 2), device="cuda")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_sparse(layout: str) -> None:
    matrix = sparse(layout)
    assert matrix.device == CUDA
    assert matrix.is_cuda
    assert "device='cuda:0'" in repr(matrix)
    dense = matrix.to_dense()
    assert dense.device == CUDA
    assert dense.tolist() == ([[0, 2], [1, 0]] if layout == "csc" else [[0, 1], [2, 0]])
    host = matrix.cpu()
    assert host.device.type == "cpu"
    assert host.cuda().to_dense().device == CUDA
    assert (matrix @ torch.ones(2, 2, device="cuda")).device == CUDA
    for change in (torch.clone, lambda m: m.detach(), lambda m: m.double()):
        assert change(matrix).device == CUDA
    if layout == "coo":  # torch has no deepcopy of the others
        assert copy.deepcopy(matrix).device == CUDA
    file = io.BytesIO()
    torch.save(matrix, file)
    file.seek(0)
    assert torch.load(file, weights_only=False).device == CUDA
    with pytest.raises(RuntimeError, match=MIXED):
        matrix @ torch.ones(2, 2)


def test_sparse_gradients() -> None:
    layer = nn.Embedding(5, 3, sparse=True).cuda()
    layer(torch.tensor([1, 2], device="cuda")).sum().backward()
    grad = layer.weight.grad
    assert grad is not None
    assert grad.is_sparse
    assert grad.device == CUDA
    assert grad._values().device == CUDA
    optimizer = torch.optim.SparseAdam(layer.parameters())
    optimizer.step()
    assert optimizer.state[layer.weight]["exp_avg"].device == CUDA


def test_compressed_parts_are_where_the_tensor_is() -> None:
    matrix = torch.eye(3, device="cuda").to_sparse_csr()
    assert {t.device for t in (matrix.crow_indices(), matrix.col_indices(), matrix.values())} == {
        CUDA
    }
    assert matrix.device == CUDA


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
def test_nested(layout: Any) -> None:
    parts = [torch.ones(2, 3), torch.ones(1, 3)]
    made = torch.nested.nested_tensor(parts, layout=layout, device="cuda")
    moved = torch.nested.nested_tensor(parts, layout=layout).cuda()
    layer = nn.Linear(3, 2).cuda()
    for nested in (made, moved):
        assert nested.is_nested
        assert nested.device == CUDA
        assert (nested * 2).is_cuda
        assert layer(nested).device == CUDA
        assert [t.device for t in nested.unbind()] == [CUDA, CUDA]
        assert torch.nested.to_padded_tensor(nested, 0.0).shape == (2, 2, 3)
        assert nested.cpu().device.type == "cpu"
    with pytest.raises(RuntimeError, match=MIXED):
        layer(torch.nested.nested_tensor(parts, layout=layout))


@pytest.mark.filterwarnings("ignore")
def test_gradients_of_jagged_tensors() -> None:
    values = torch.ones(3, 2, device="cuda", requires_grad=True)
    offsets = torch.tensor([0, 1, 3], device="cuda")
    jagged = torch.nested.nested_tensor_from_jagged(values, offsets)
    (jagged * 2).values().sum().backward()
    assert values.grad is not None
    assert values.grad.device == CUDA


@pytest.mark.filterwarnings("ignore")
def test_quantized() -> None:
    x = torch.rand(3, 2, device="cuda")
    quantized = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
    assert quantized.device == CUDA
    assert quantized.dequantize().device == CUDA
    assert quantized.int_repr().device == CUDA
    assert quantized.cpu().device.type == "cpu"
    assert torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255).device == CUDA


def test_complex() -> None:
    x = torch.ones(3, dtype=torch.complex64).conj().cuda().requires_grad_()
    for part in (x.real, x.imag, x.conj(), torch.view_as_real(x), torch.fft.fft(x), x.abs()):
        assert part.device == CUDA
    x.abs().sum().backward()
    assert x.grad is not None
    assert x.grad.device == CUDA
    assert x.type() == "torch.cuda.ComplexFloatTensor"


@pytest.mark.parametrize("move", [lambda x: x.cuda(), lambda x: x.to("cuda")], ids=["cuda", "to"])
def test_moves_keep_the_memory_format(move: Any) -> None:
    last = torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last)
    assert last.stride() == (48, 1, 12, 3)
    assert move(last).stride() == last.stride()
    assert move(last).cpu().stride() == last.stride()
    transposed = torch.rand(3, 4).t()
    assert move(transposed).stride() == transposed.stride()
    assert move(torch.rand(10)[::2]).stride() == (1,)


def test_moves_to_a_memory_format() -> None:
    plain = torch.rand(2, 3, 4, 4)
    for x in (plain.to("cuda", memory_format=torch.channels_last), plain.cuda()):
        x = x.to(memory_format=torch.channels_last)
        assert x.is_contiguous(memory_format=torch.channels_last)
        assert x.to(memory_format=torch.channels_last) is x
        assert x.device == CUDA
    layer = nn.Conv2d(3, 4, 3).to("cuda", memory_format=torch.channels_last)
    assert layer.weight.is_contiguous(memory_format=torch.channels_last)


class Recorded(torch.Tensor):
    """Notes the functions that are called with it."""

    seen: list[str]

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        cls.seen.append(getattr(function, "__name__", "?"))
        return super().__torch_function__(function, types, args, kwargs or {})


def test_subclass_by_function() -> None:
    Recorded.seen = []
    x = torch.ones(2).as_subclass(Recorded)
    for name in ("cuda", "cpu", "type_as", "to"):
        Recorded.seen.clear()
        arguments = {"type_as": (torch.ones(1, device="cuda"),), "to": ("cuda",)}.get(name, ())
        moved = getattr(x, name)(*arguments)
        assert type(moved) is Recorded
        assert Recorded.seen[0] == name
        assert moved.is_cuda == (name != "cpu")
    assert type(x.cuda() + 1) is Recorded
    assert "device='cuda:0'" in repr(x.cuda())


def test_subclass_made_from_data() -> None:
    class Plain(torch.Tensor):
        pass

    assert type(Plain([1.0, 2.0])) is Plain
    assert type(Plain([1.0]).cuda()) is Plain
    assert Plain([1.0]).cuda().is_cuda
    assert type(torch.Tensor([1.0])) is torch.Tensor
    assert type(torch.ones(1, device="cuda").as_subclass(Plain) * 2) is Plain


class Wrapper(torch.Tensor):
    """Holds another tensor: `__torch_dispatch__` sees each operator."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls: Any, held: torch.Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(
            cls, held.shape, dtype=held.dtype, device=held.device, requires_grad=held.requires_grad
        )

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def held(value: Any) -> Any:
            return value.held if isinstance(value, Wrapper) else value

        out = op(*tree_map(held, args), **tree_map(held, kwargs or {}))
        return tree_map(lambda t: Wrapper(t) if isinstance(t, torch.Tensor) else t, out)


def test_subclass_by_dispatch() -> None:
    x = Wrapper(torch.ones(2, device="cuda"))
    assert x.device == CUDA
    assert x.is_cuda
    y = x + 1
    assert y.device == CUDA
    assert y.held.device == CUDA
    with pytest.raises(RuntimeError, match=MIXED):
        x + torch.ones(2)
    host = Wrapper(torch.ones(2))
    for moved in (host.cuda(), host.to("cuda"), nn.Parameter(host).cuda()):
        assert moved.device == CUDA
    assert host.cuda().held.device == CUDA
    assert x.to("cuda") is x
    assert x.cpu().device.type == "cpu"
    assert x.cpu().held.device.type == "cpu"


def test_lazy_modules_and_parameters() -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()).cuda()
    assert model[0].weight.device == CUDA
    assert isinstance(model[0].weight, nn.UninitializedParameter)
    model(torch.ones(2, 5, device="cuda"))
    assert model[0].weight.shape == (3, 5)
    assert {t.device for t in (*model.parameters(), *model.buffers())} == {CUDA}
    parameter = nn.UninitializedParameter(device="cuda")
    parameter.materialize((2, 2))
    assert parameter.device == CUDA


def test_meta_tensors_have_nothing_to_copy() -> None:
    layer = nn.Linear(2, 2, device="meta")
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        layer.weight.cuda()
    with pytest.raises(NotImplementedError, match=r"Please use torch\.nn\.Module\.to_empty\(\)"):
        layer.to("cuda")
    assert layer.to_empty(device="cuda").weight.device == CUDA
    assert torch.ones(2, device="cuda").to("meta").device.type == "meta"


def test_pickles_hold_nothing_of_the_simulator() -> None:
    x = torch.ones(2, requires_grad=True)
    (torch.ones(2, device="cuda") * x.sum()).sum().backward()  # the sum is a 0-dim host tensor
    for tensor in (x, sparse("coo"), torch.ones(1, device="cuda")):
        assert b"torchferry" not in pickle.dumps(tensor)
        assert b"_ferry" not in pickle.dumps(tensor)


def test_functional_of_nested_calls() -> None:
    x = torch.ones(3, 2)
    assert torch.func.vmap(lambda row: row.cuda() * 2)(x).device == CUDA
    assert torch.func.vmap(lambda row: row.cpu() * 2)(x.cuda()).device.type == "cpu"
    assert torch.func.grad(lambda t: t.cuda().sum())(x).device.type == "cpu"
    with pytest.raises(RuntimeError, match=MIXED):
        torch.func.vmap(lambda row: row + torch.ones(2))(x.cuda())
    seen: list[torch.device] = []
    torch.func.jacrev(lambda t: seen.append(t.device) or F.relu(t))(x.cuda())
    assert seen == [CUDA]
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x).cuda()
        parts = torch.autograd.forward_ad.unpack_dual(dual)
        assert parts.primal.device == CUDA
        assert parts.tangent is not None
        assert parts.tangent.device == CUDA
