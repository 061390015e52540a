"""`torch.cuda.FloatStorage(3)` and its kin: old typed storages, made from a tensor on the GPU."""

from __future__ import annotations

from typing import Any

import torch

from torchferry.sim.patching import Patcher

_TypedStorage: Any = torch.storage.TypedStorage


def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A typed storage of so many elements, or with the elements of a sequence."""
    if kwargs or len(args) > 1 or cls.__module__ != "torch.cuda":
        return _TypedStorage.__new__(cls, *args, **kwargs)
    dtype = cls._dtype
    if args and not isinstance(args[0], int):
        tensor = torch.tensor(args[0], dtype=dtype, device="cuda")
    else:
        tensor = torch.empty(*args or (0,), dtype=dtype, device="cuda")
    return _TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=dtype, _internal=True)


def install(patcher: Patcher) -> None:
    """Make torch.cuda's storage classes callable."""
    base = torch.cuda.FloatStorage.__mro__[1]  # torch deletes its name
    patcher.set(base, "__new__", new)
