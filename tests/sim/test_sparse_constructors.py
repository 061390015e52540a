"""Sparse tensors made on the simulated GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchferry import simulate  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

INDICES, VALUES = [[0, 1], [1, 0]], [1.0, 2.0]
ROWS, COLUMNS = [0, 1, 2], [1, 0]
Make = Callable[[], Any]
ON_GPU: dict[str, Make] = {
    "lists": lambda: torch.sparse_coo_tensor(INDICES, VALUES, (2, 2), device="cuda"),
    "tensors of the host": lambda: torch.sparse_coo_tensor(
        torch.tensor(INDICES), torch.tensor(VALUES), (2, 2), device=torch.device("cuda")
    ),
    "tensors of the GPU": lambda: torch.sparse_coo_tensor(
        torch.tensor(INDICES, device="cuda"), torch.tensor(VALUES, device="cuda"), (2, 2)
    ),
    "list of indices beside values of the GPU": lambda: torch.sparse_coo_tensor(
        INDICES, torch.tensor(VALUES, device="cuda"), (2, 2)
    ),
    "without a size": lambda: torch.sparse_coo_tensor(INDICES, VALUES, device="cuda"),
    "compressed rows": lambda: torch.sparse_csr_tensor(
        ROWS, COLUMNS, VALUES, (2, 2), device="cuda"
    ),
    "compressed rows by name": lambda: torch.sparse_csr_tensor(
        crow_indices=torch.tensor(ROWS),
        col_indices=torch.tensor(COLUMNS),
        values=torch.tensor(VALUES),
        size=(2, 2),
        device="cuda",
    ),
    "compressed columns": lambda: torch.sparse_csc_tensor(
        ROWS, COLUMNS, VALUES, (2, 2), device="cuda"
    ),
    "any layout": lambda: torch.sparse_compressed_tensor(
        ROWS, COLUMNS, VALUES, (2, 2), layout=torch.sparse_csr, device="cuda"
    ),
}


@pytest.mark.parametrize("name", ON_GPU)
def test_on_the_gpu(name: str) -> None:
    with simulate():
        made = ON_GPU[name]()
        assert made.device == torch.device("cuda:0")
        assert made.to_dense().is_cuda
        assert sorted(made.to_dense().flatten().tolist()) == [0.0, 0.0, 1.0, 2.0]
        assert (made @ torch.ones(2, 1, device="cuda")).is_cuda
        with pytest.raises(RuntimeError, match="same device"):
            made @ torch.ones(2, 1)


def test_of_a_size_alone() -> None:
    with simulate():
        made = torch.sparse_coo_tensor((2, 3), device="cuda")
        assert made.is_cuda
        assert made.shape == (2, 3)


def test_gradients_come_home() -> None:
    with simulate():
        values = torch.tensor(VALUES, requires_grad=True)
        made = torch.sparse_coo_tensor(INDICES, values, (2, 2), device="cuda")
        made.to_dense().sum().backward()
        assert values.grad is not None
        assert values.grad.device.type == "cpu"


def test_indices_and_values_must_be_together() -> None:
    with simulate(), pytest.raises(RuntimeError, match="device"):
        torch.sparse_coo_tensor(torch.tensor(INDICES), torch.tensor(VALUES, device="cuda"), (2, 2))


def test_on_the_host() -> None:
    with simulate():
        assert torch.sparse_coo_tensor(INDICES, VALUES, (2, 2)).device.type == "cpu"
        assert torch.sparse_csr_tensor(ROWS, COLUMNS, VALUES, device="cpu").device.type == "cpu"


def test_gradients_of_a_sparse_embedding() -> None:
    with simulate():
        table = torch.nn.Embedding(5, 3, sparse=True, device="cuda")
        optimizer = torch.optim.SparseAdam(table.parameters())
        table(torch.tensor([1, 2], device="cuda")).sum().backward()
        grad = table.weight.grad
        assert grad is not None
        assert (grad.is_cuda, grad._values().is_cuda, grad._indices().is_cuda) == (True,) * 3
        optimizer.step()
        assert table.weight.is_cuda


def test_new_of_a_sparse_tensor() -> None:
    with simulate():
        made = torch.sparse_coo_tensor(INDICES, VALUES, (2, 2), device="cuda")
        again = made.new(made._indices(), made._values() * 2, made.size())
        assert (again + made).is_cuda
