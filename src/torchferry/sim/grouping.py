"""Optimizers group tensors by device in C++, which sees one device: divide the groups further."""

from __future__ import annotations

from typing import Any

import torch

from torchferry.sim.patching import Patcher
from torchferry.sim.tags import CPU, device_named, device_number

Lists = list[list[Any]]
Groups = dict[tuple[torch.device, torch.dtype | None], tuple[Lists, list[int]]]


def install(patcher: Patcher) -> None:
    """Put the stand-in into torch._C."""
    original: Any = torch._C._group_tensors_by_device_and_dtype

    def group(tensorlistlist: Lists, with_indices: bool = False) -> Groups:
        found: Groups = original(tensorlistlist, with_indices)
        divided: Groups = {}
        for (_, dtype), (lists, indices) in found.items():
            numbers = [max(device_number(t), CPU) if t is not None else CPU for t in lists[0]]
            if len(found) == 1 and numbers and numbers.count(numbers[0]) == len(numbers):
                return {(device_named(numbers[0]), dtype): (lists, indices)}
            for number in dict.fromkeys(numbers):
                key = (device_named(number), dtype)
                if numbers.count(number) == len(numbers):
                    divided[key] = (lists, indices)
                else:
                    divided[key] = _part(lists, indices, numbers, number)
        return divided

    patcher.set(torch._C, "_group_tensors_by_device_and_dtype", group)


def _part(
    lists: Lists, indices: list[int], numbers: list[int], number: int
) -> tuple[Lists, list[int]]:
    """The positions of the lists that are on one device."""
    chosen = [i for i, n in enumerate(numbers) if n == number]
    parts = [[row[i] for i in chosen] if row else row for row in lists]
    return parts, [indices[i] for i in chosen] if indices else indices
