"""Stand-ins for the functions that make tensors from data, whose C++ code moves by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._device import DeviceContext

from torchferry.sim import state
from torchferry.sim.generators import install as install_generators
from torchferry.sim.moves import move
from torchferry.sim.patching import Patcher
from torchferry.sim.state import number_of
from torchferry.sim.tags import CPU, device_named, device_number

if TYPE_CHECKING:
    from torchferry.sim.session import Session

_tensor: Any = torch.tensor
_as_tensor: Any = torch.as_tensor
_asarray: Any = torch.asarray
_CPU = torch.device("cpu")


def default_device(session: Session) -> torch.device:
    """Device of a tensor made without one: the program may have set a default."""
    if session.legacy_device >= 0:
        return torch.device("cuda", session.legacy_device)
    # `torch.get_default_device()` makes a tensor to find out: it would come back here.
    for depth in range(torch._C._len_torch_function_stack() - 1, -1, -1):
        mode = torch._C._get_function_stack_at(depth)
        if isinstance(mode, DeviceContext):
            return mode.device
    return _CPU


def wish(session: Session, wanted: Any) -> Any:
    """The device that the call asks for; None for devices that are not simulated."""
    where = default_device(session) if wanted is None else wanted
    if isinstance(where, int) and not isinstance(where, bool):
        return torch.device("cuda", where)
    return where if isinstance(where, torch.device) else torch.device(where)


def tensor(data: Any, *, device: Any = None, pin_memory: bool = False, **kwargs: Any) -> Any:
    session = state.current()
    if device == "cpu" or (
        device is None
        and session.legacy_device < 0
        and not torch._C._len_torch_function_stack()
        and not pin_memory
    ):
        return _tensor(data, device=_CPU, pin_memory=pin_memory, **kwargs)
    where = wish(session, device)
    if where.type not in ("cpu", "cuda"):
        return _tensor(data, device=device, pin_memory=pin_memory, **kwargs)
    number = number_of(session, where)
    if number < 0:
        out = _tensor(data, device=_CPU, **kwargs)
        return out.pin_memory() if pin_memory else out
    grad = kwargs.pop("requires_grad", False)
    out = session.transfer(_tensor(data, device=_CPU, **kwargs), number)
    return out.requires_grad_() if grad else out


def as_tensor(data: Any, dtype: torch.dtype | None = None, device: Any = None) -> Any:
    session = state.current()
    if device is None and isinstance(data, torch.Tensor):
        return data if dtype is None else data.to(dtype)
    where = wish(session, device)
    if where.type not in ("cpu", "cuda"):
        return _as_tensor(data, dtype=dtype, device=device)
    number = number_of(session, where)
    if not isinstance(data, torch.Tensor):
        data = _as_tensor(data, dtype=dtype, device=_CPU)
    return move(data, number, dtype)


def asarray(
    obj: Any,
    *,
    dtype: torch.dtype | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    session = state.current()
    if device is None and isinstance(obj, torch.Tensor):
        number = max(device_number(obj), CPU)
    else:
        where = wish(session, device)
        if where.type not in ("cpu", "cuda"):
            return _asarray(obj, dtype=dtype, device=device, copy=copy, requires_grad=requires_grad)
        number = number_of(session, where)
    if copy is False and isinstance(obj, torch.Tensor):
        here = max(device_number(obj), CPU)
        if here != number:
            raise ValueError(
                f"can't alias tensor 'obj' from device '{device_named(here)}' to "
                f"'{device_named(number)}'."
            )
    if not isinstance(obj, torch.Tensor):
        obj = _asarray(obj, dtype=dtype, device=_CPU, copy=copy if number < 0 else None)
    elif copy:
        obj = obj.clone()
    out = move(obj if requires_grad else obj.detach(), number, dtype)
    if requires_grad and not out.requires_grad:
        out = out.detach().requires_grad_()
    return out


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    for function in (tensor, as_tensor, asarray):
        patcher.set(torch, function.__name__, function, copies=True)
    install_generators(patcher)
