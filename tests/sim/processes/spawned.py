"""A DataLoader whose worker is a spawned process that uses the GPU. Run as a script.

CUDA's rules (torch.multiprocessing, "Sharing CUDA tensors"): a spawned process may use CUDA, gets
CUDA tensors as CUDA tensors, and shares their memory.
"""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset

from torchferry.sim import simulate


class Numbers(Dataset[torch.Tensor]):
    """Its items are computed on the GPU: allowed in spawned workers only."""

    def __init__(self) -> None:
        self.scale = torch.full((2,), 2.0, device="cuda:1")
        self.weight = torch.nn.Parameter(torch.ones(1, device="cuda"))

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        assert torch.cuda.device_count() == 2
        assert torch.cuda.get_device_name() == "Parent's"
        assert self.scale.get_device() == 1
        assert self.weight.is_cuda
        assert isinstance(self.weight, torch.nn.Parameter)
        refusal = ""
        try:
            self.scale + torch.ones(2)
        except RuntimeError as error:
            refusal = str(error)
        assert "Expected all tensors to be on the same device" in refusal
        out = torch.full((2,), float(index), device="cuda:1") * self.scale
        if index == 3:
            self.scale.fill_(7.0)
        return out.cpu()


def main() -> None:
    numbers = Numbers()
    loader = DataLoader(
        numbers, batch_size=2, num_workers=1, multiprocessing_context="spawn", pin_memory=True
    )
    batches = list(loader)
    assert [b.tolist() for b in batches] == [[[0, 0], [2, 2]], [[4, 4], [6, 6]]]
    assert all(b.is_pinned() and not b.is_cuda for b in batches)
    assert numbers.scale.tolist() == [7.0, 7.0]  # the memory is shared
    assert numbers.scale.get_device() == 1


if __name__ == "__main__":
    with simulate(gpus=2, name="Parent's"):
        main()
