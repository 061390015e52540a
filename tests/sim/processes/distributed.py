"""Two ranks of a torch.distributed program, each with a simulated GPU of its own.

Run as a script: `distributed.py FOLDER`. The ranks are forked before CUDA is used, which
CUDA allows, so that torch is imported once. Each assertion says what NCCL or gloo do on cards.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from torchferry.sim import simulate

try:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Shard, distribute_tensor
except ImportError:  # older torch
    fully_shard = None  # type: ignore[assignment]


class Model(nn.Module):
    """Different on each rank until DDP sends rank 0's parameters around."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        torch.manual_seed(rank)
        self.linear = nn.Linear(3, 2)
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.linear(x))


def gathered(tensor: torch.Tensor) -> list[torch.Tensor]:
    found = [torch.zeros_like(tensor) for _ in range(2)]
    dist.all_gather(found, tensor)
    assert all(t.device == tensor.device for t in found)
    return found


def collectives(rank: int, backend: str) -> None:
    x = torch.full((2,), rank + 1.0, device=rank)
    dist.all_reduce(x)
    assert x.tolist() == [3.0, 3.0]
    assert x.get_device() == rank
    y = torch.full((2,), float(rank), device=rank)
    dist.broadcast(y, src=1)
    assert y.tolist() == [1.0, 1.0]
    both = torch.zeros(2, device=rank)
    dist.all_gather_into_tensor(both, torch.full((1,), float(rank), device=rank))
    assert both.tolist() == [0.0, 1.0]
    objects = [None, None]
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": 0}, {"rank": 1}]
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    assert x.tolist() == [6.0, 6.0]
    dist.barrier()
    assert dist.get_backend() == backend
    if backend == "gloo":
        dist.all_reduce(torch.ones(1))
        return
    dist.all_reduce(y.add_(rank), op=dist.ReduceOp.AVG)
    assert y.tolist() == [1.5, 1.5]
    refusal = ""
    try:
        dist.all_reduce(torch.ones(1))
    except RuntimeError as error:
        refusal = str(error)
    assert "No backend type associated with device type cpu" in refusal


def training(rank: int) -> None:
    model = Model(rank).to(rank)
    parallel = DistributedDataParallel(model, device_ids=[rank])
    first, second = gathered(model.linear.weight.detach())
    assert torch.equal(first, second)
    # The gradient of a sum over a linear layer is the sum of its inputs: averaged over the ranks.
    linear = nn.Linear(3, 1).to(rank)
    inputs = torch.arange(6.0).view(2, 3).to(rank) * (rank + 1)
    averaging = DistributedDataParallel(linear, device_ids=[rank])
    averaging(inputs).sum().backward()
    assert linear.weight.grad is not None
    assert linear.weight.grad.get_device() == rank
    assert linear.weight.grad.tolist() == [[4.5, 7.5, 10.5]]
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = parallel(torch.randn(4, 3, device=rank)).float().square().sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    first, second = gathered(model.linear.weight.detach())
    assert torch.equal(first, second)
    synchronized(rank)


def synchronized(rank: int) -> None:
    """SyncBatchNorm over two halves of a batch equals BatchNorm over the whole."""
    torch.manual_seed(3)
    whole = torch.randn(6, 2) * 3 + 1
    plain, halves = nn.BatchNorm1d(2).to(rank), nn.BatchNorm1d(2).to(rank)
    halves = DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(halves), [rank])
    x = whole.to(rank).requires_grad_()
    part = whole[rank * 3 : rank * 3 + 3].to(rank).requires_grad_()
    expected, found = plain(x), halves(part)
    expected.square().sum().backward()
    found.square().sum().backward()
    mine = slice(rank * 3, rank * 3 + 3)
    torch.testing.assert_close(found, expected[mine])
    assert x.grad is not None
    torch.testing.assert_close(part.grad, x.grad[mine], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(halves.module.running_var, plain.running_var)


def sharded(rank: int) -> None:
    mesh = init_device_mesh("cuda", (2,))
    tensor = distribute_tensor(torch.arange(8.0).view(4, 2).cuda(), mesh, [Shard(0)])
    assert tensor.to_local().shape == (2, 2)
    assert tensor.full_tensor().sum().item() == 28
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).to(rank)
    fully_shard(model)
    model(torch.randn(2, 4, device=rank)).sum().backward()
    torch.optim.Adam(model.parameters(), lr=0.1).step()


def rank_main(rank: int, folder: str) -> None:
    with simulate(gpus=2):
        assert dist.is_nccl_available()
        torch.cuda.set_device(rank)
        for backend in ("gloo", "nccl"):
            method = f"file://{folder}/{backend}"
            dist.init_process_group(backend, init_method=method, rank=rank, world_size=2)
            collectives(rank, backend)
            if backend == "nccl":
                training(rank)
                if fully_shard is not None:
                    sharded(rank)
            dist.destroy_process_group()


def main(folder: str) -> int:
    warnings.simplefilter("ignore")
    children = []
    for rank in range(2):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                rank_main(rank, folder)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
