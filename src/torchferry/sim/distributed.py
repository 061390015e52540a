"""torch.distributed between simulated GPUs: what NCCL would do, gloo does.

Underneath every tensor is on the host, so a group with the backend "nccl" gets a ProcessGroupGloo
for both devices. What NCCL refuses (tensors of the host) and what only NCCL computes (averages) is
settled before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from torchferry.sim.errors import raise_device_error
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import device_number

#: Functions that hand tensors to the backend of a group.
COLLECTIVES = tuple(
    """all_reduce all_gather all_gather_into_tensor all_gather_single all_to_all all_to_all_single
    broadcast gather reduce reduce_scatter reduce_scatter_tensor reduce_scatter_single scatter send
    recv isend irecv""".split()
)


class _Options:
    """`ProcessGroupNCCL.Options`: kept, not used."""

    def __init__(self, is_high_priority_stream: bool = False) -> None:
        self.is_high_priority_stream = is_high_priority_stream
        self.config: Any = None
        self._timeout: Any = None


class _Meta(type):
    """A group just made counts as one of NCCL's, as torch asserts; later it is gloo's again."""

    fresh: Any = None

    def __instancecheck__(cls, value: Any) -> bool:
        made, cls.fresh = cls.fresh, None
        return made is not None and made is value

    def __call__(cls, store: Any, rank: int, size: int, options: Any = None) -> Any:
        from torch.distributed import ProcessGroupGloo

        timeout = getattr(options, "_timeout", None) or timedelta(minutes=10)
        cls.fresh = ProcessGroupGloo(store, rank, size, timeout=timeout)
        return cls.fresh


class _Nccl(metaclass=_Meta):
    """Stand-in for ProcessGroupNCCL: a call makes a ProcessGroupGloo."""

    Options = _Options


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _checked(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        group = kwargs.get("group") or next(
            (a for a in args if isinstance(a, dist.ProcessGroup)), None
        )
        if dist.is_initialized() and _only_nccl(group):
            for tensor in _tensors((*args, *kwargs.values())):
                if device_number(tensor) < 0:
                    raise_device_error(
                        "host-tensor",
                        "No backend type associated with device type cpu",
                        name,
                        [("tensor", tensor)],
                    )
            if name.endswith(("_tensor", "_single")) and "all_to_all" not in name:
                args = tuple(map(_flat, args))
                kwargs = {key: _flat(value) for key, value in kwargs.items()}
            if any(map(_is_average, (*args, *kwargs.values()))):
                return _average(original, group, args, kwargs)
        return original(*args, **kwargs)

    return run


def _only_nccl(group: Any) -> bool:
    config = str(dist.distributed_c10d.get_backend_config(group))
    return "nccl" in config and "cpu:" not in config


def _flat(value: Any) -> Any:
    """NCCL looks at the number of elements only, gloo at the shape."""
    plain = isinstance(value, torch.Tensor) and value.is_contiguous()
    return value.detach().view(-1) if plain else value


def _is_average(value: Any) -> bool:
    kinds = (dist.ReduceOp, dist.ReduceOp.RedOpType)
    return isinstance(value, kinds) and value == dist.ReduceOp.AVG


def _average(
    original: Callable[..., Any], group: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Sum and divide: gloo knows no averages."""
    plus = dist.ReduceOp.SUM
    args = tuple(plus if _is_average(a) else a for a in args)
    lazy = kwargs.pop("async_op", False)
    kwargs = {k: plus if k == "op" else v for k, v in kwargs.items()}
    work = original(*args, **kwargs, async_op=True)
    if work is not None:
        work.wait()
        target = args[0] if args else next(iter(kwargs.values()))
        with torch.no_grad():
            target.div_(dist.get_world_size(group))
    return work if lazy else None


def _on_both(original: Any) -> Any:
    """Where the backend of the GPUs is registered, it serves what lies underneath, too."""

    def register(self: Any, device: Any, *args: Any) -> None:
        original(self, device, *args)
        if device.type == "cuda" and not _serves_host(self):
            original(self, torch.device("cpu"), *args)

    return register


def _serves_host(group: Any) -> bool:
    return torch.device("cpu") in _device_types(group)


def _shown_device_types(self: Any) -> list[torch.device]:
    """Devices of a group as torch asks for them: not what lies underneath."""
    found = _device_types(self)
    known = self in dist.distributed_c10d._world.pg_map
    if known and _only_nccl(self):
        return [device for device in found if device.type != "cpu"]
    return found


_device_types: Any = None


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch.distributed, where this torch has it."""
    if not dist.is_available() or not dist.is_gloo_available():
        return
    module: Any = dist.distributed_c10d
    if not dist.is_nccl_available():
        patcher.set(module, "_NCCL_AVAILABLE", True)
        patcher.set(module, "default_pg_nccl_timeout", timedelta(minutes=10))
        patcher.set(module, "ProcessGroupNCCL", _Nccl)
        patcher.set(dist, "ProcessGroupNCCL", _Nccl)
    else:
        patcher.set(module, "ProcessGroupNCCL", _Nccl, copies=True)
    group: Any = dist.ProcessGroup
    global _device_types
    _device_types = _device_types or group._device_types.__get__
    patcher.set(group, "_device_types", property(_shown_device_types))
    patcher.set(group, "_register_backend", _on_both(group._register_backend))
    for name in COLLECTIVES:
        if hasattr(module, name):
            checked = _checked(name, getattr(module, name))
            patcher.set(module, name, checked, copies=True)
            if hasattr(dist, name):
                patcher.set(dist, name, checked)
