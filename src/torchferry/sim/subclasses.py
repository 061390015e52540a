"""Subclasses of Tensor: `__torch_function__` sees the stand-ins, `__torch_dispatch__` the moves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

from torchferry.sim import state
from torchferry.sim.patching import Patcher
from torchferry.sim.shortcut import close_shortcut
from torchferry.sim.tags import LAZY, HostTag, device_named, set_tag

_Base: Any = torch._C.TensorBase
#: Place of the device among the arguments of `_make_wrapper_subclass`.
_DEVICE = 7
_plain: Any = torch._C._disabled_torch_dispatch_impl


def overridable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that a subclass (or a mode) may handle by `__torch_function__`, as torch's own."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if has_torch_function_unary(self):
            return handle_torch_function(method, (self,), self, *args, **kwargs)
        return function(self, *args, **kwargs)

    return method


def has_own_dispatch(tensor: Any) -> bool:
    """True for a wrapper: it holds other tensors, which its `__torch_dispatch__` moves."""
    kind = type(tensor)
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        return False
    return getattr(kind, "__torch_dispatch__", _plain) is not _plain


def _as_subclass(self: Any, cls: Any) -> Any:
    guard = torch._C._DisableTorchDispatch()  # an alias seen by a mode is a Python object already
    try:
        return _Base.as_subclass(self, cls)
    finally:
        del guard


def _wrapper_maker(original: Any) -> Any:
    """A wrapper is made on the host underneath: autograd's C++ code knows no other device."""

    def make(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        close_shortcut()
        if len(args) > _DEVICE:
            device = args[_DEVICE]
        session = state.running()
        where = None if device is None else torch.device(device)
        if session is None or where is None or where.type != "cuda":
            return _make(original, device, args, kwargs)
        number = session.index_of(where)
        out = _make(original, torch.device("cpu"), args, kwargs)
        set_tag(out, HostTag(number, session.counter.site("wrapper", number, None, 0)))
        return out

    return make


def _make(original: Any, device: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) > _DEVICE:
        return original(*args[:_DEVICE], device, *args[_DEVICE + 1 :], **kwargs)
    return original(*args, device=device, **kwargs)


def copy_wrapper(tensor: Any, number: int, dtype: torch.dtype | None, non_blocking: bool) -> Any:
    """A copy of a wrapper on a device: its dispatch copies what it holds, and wraps it again."""
    session = state.current()
    outer, session.moving_to = session.moving_to, number
    try:
        return torch.ops.aten._to_copy.default(
            tensor, dtype=dtype, device=device_named(number), non_blocking=non_blocking
        )
    finally:
        session.moving_to = outer


def _new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """What a mode has seen is a Tensor already: no object of a subclass can be made of it."""
    if cls is torch.Tensor:
        return _Base.__new__(cls, *args, **kwargs)
    guard = torch._C._DisableTorchDispatch()
    try:
        return _Base.__new__(cls, *args, **kwargs)
    finally:
        del guard


def install(patcher: Patcher) -> None:
    """Let lazy parameters move; runs after the stand-ins of the methods are in place."""
    patcher.set(torch.Tensor, "as_subclass", _as_subclass)
    patcher.set(torch.Tensor, "__new__", _new)
    make = _wrapper_maker(torch.Tensor._make_wrapper_subclass)
    patcher.set(torch.Tensor, "_make_wrapper_subclass", staticmethod(make))
    moves = [getattr(torch.Tensor, name) for name in ("to", "cuda", "cpu", "type", "get_device")]
    patcher.set(LAZY, "_allowed_methods", [*LAZY._allowed_methods, *moves])
