"""Stand-ins for the methods and attributes of torch.Tensor that know devices."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from torchferry.sim import context, state
from torchferry.sim.errors import raise_device_error
from torchferry.sim.legacy_types import type_of_tensor, wanted_type
from torchferry.sim.moves import land, move, refuse_meta
from torchferry.sim.patching import Patcher
from torchferry.sim.shortcut import VIEWS_PASS
from torchferry.sim.state import number_of
from torchferry.sim.subclasses import overridable
from torchferry.sim.tags import (
    CPU,
    FLOATING,
    NO_STORAGE,
    HostTag,
    device_named,
    device_number,
    origin_of,
    pin,
    set_tag,
    storage_of,
    tag_of,
    tag_without_storage,
)

Tensor = torch.Tensor
_Base: Any = torch._C.TensorBase
_device = _Base.device.__get__
_is_cuda = _Base.is_cuda.__get__
_is_cpu = _Base.is_cpu.__get__
_grad = _Base.grad
_originals: dict[str, Any] = {}


def device(self: Tensor) -> torch.device:
    try:
        tag = storage_of(self)._ferry
    except NO_STORAGE:
        tag = tag_without_storage(self)
    if tag is None or tag.device < 0:
        if tag is None or tag.device != FLOATING or tag.hint < 0:
            return _device(self)
        land(self, tag.hint)
        return device_named(tag.hint)
    return device_named(tag.device)


def settled_number(self: Tensor) -> int:
    """Device number of a tensor that the program looks at: floating ones land."""
    tag = tag_of(self)
    if tag is None:
        return int(_Base.get_device(self)) if _is_cuda(self) else CPU  # a wrapper says it itself
    if tag.device == FLOATING and tag.hint >= 0:
        land(self, tag.hint)
        return tag.hint
    return tag.device


def is_cuda(self: Tensor) -> bool:
    return settled_number(self) >= 0


def is_cpu(self: Tensor) -> bool:
    return bool(_is_cpu(self)) and settled_number(self) < 0


def get_device(self: Tensor) -> int:
    number = settled_number(self)
    return number if number >= 0 else _Base.get_device(self)


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    if len(args) == 1 and not kwargs:
        first = args[0]
        if isinstance(first, torch.dtype):
            return _Base.to(self, first)
        if isinstance(first, Tensor):
            target = max(device_number(first), CPU)
            return move(self, target, first.dtype)
    return _to_general(self, args, kwargs)


def _to_general(self: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    copy = bool(kwargs.pop("copy", False)) if kwargs else False
    other = args[0] if args else kwargs.pop("other", None)
    if isinstance(other, Tensor):
        wanted: Any = (device(other), other.dtype)
        args = (*wanted, *args[1:])
    where = args[0] if args else kwargs.get("device")
    if len(args) == 4 or (len(args) == 3 and isinstance(where, torch.dtype)):
        copy, args = bool(args[-1]), args[:-1]
    if isinstance(where, int) and not isinstance(where, bool):
        index = torch.device("cuda", where)
        args = (index, *args[1:]) if args else args
        kwargs = kwargs if args else {**kwargs, "device": index}
    target, dtype, non_blocking, layout = torch._C._nn._parse_to(*args, **kwargs)
    if target is None:
        target = device(self)
    if target.type not in ("cpu", "cuda") or _device(self).type == "meta":
        if target.type != "meta":
            refuse_meta(self)
        return _Base.to(self, target, dtype or self.dtype, non_blocking, copy)
    number = state.current().index_of(target)
    return move(self, number, dtype, bool(non_blocking), copy, layout or torch.preserve_format)


def cuda(
    self: Tensor,
    device: Any = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> Tensor:
    session = state.current()
    if device is None:
        number = session.index_of(torch.device("cuda"))
    else:
        number = number_of(session, device)
        if number < 0:
            raise RuntimeError(
                f"Invalid device, must be cuda device, but got {torch.device(device).type}"
            )
    return move(self, number, None, non_blocking, False, memory_format)


def cpu(self: Tensor, memory_format: torch.memory_format = torch.preserve_format) -> Tensor:
    if settled_number(self) < 0 and _device(self).type == "cpu":
        return _Base.cpu(self, memory_format=memory_format)
    return move(self, CPU, None, False, False, memory_format)


def tensor_type(
    self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any
) -> str | Tensor:
    if dtype is None:
        return type_of_tensor(self)
    wanted, number = wanted_type(dtype, self)
    return move(self, number, wanted, non_blocking)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    return move(self, max(device_number(other), CPU), other.dtype)


def numpy(self: Tensor, *, force: bool = False) -> Any:
    number = settled_number(self)
    if number >= 0:
        if not force:
            raise_device_error(
                "numpy-of-device-tensor",
                f"can't convert {device_named(number)} device type tensor to numpy. "
                "Use Tensor.cpu() to copy the tensor to host memory first.",
                "numpy",
                [("self", self)],
                TypeError,
            )
        self = cpu(self.detach())
    return _Base.numpy(self, force=force)


def tolist(self: Tensor) -> Any:
    if settled_number(self) >= 0:
        context.check(state.current())
        state.current().counter.wait("tolist")
    return _Base.tolist(self)


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    session = state.current()
    if device_number(self) >= 0 or self.layout is not torch.strided:
        kind = type_of_tensor(self)
        raise_device_error(
            "pin",
            f"cannot pin '{kind}' only dense CPU tensors can be pinned",
            "pin_memory",
            [("self", self)],
        )
    if is_pinned(self):
        return self
    out = self.clone(memory_format=torch.preserve_format)
    tag = tag_of(out)
    if tag is None or tag.device == FLOATING:
        session.birth(out, CPU, "pin_memory")
    pin(out)
    return out


def is_pinned(self: Tensor, device: Any = None) -> bool:
    tag = tag_of(self)
    return tag is not None and tag.pinned


def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    session = state.current()
    where = kwargs.pop("device", None)
    number = max(device_number(self), CPU) if where is None else number_of(session, where)
    out: Tensor = _Base.new(self, *args, **kwargs)
    _settle_new(out, number)
    return out


def _settle_new(out: Tensor, number: int) -> None:
    session = state.current()
    tag = tag_of(out)
    if tag is None or tag.device == FLOATING:
        session.birth(out, number, "new")
    elif tag.device != number and origin_of(tag).operator in ("lift_fresh", "empty"):
        session.adopt(out, number)


def new_tensor(self: Tensor, data: Any, **kwargs: Any) -> Tensor:
    session = state.current()
    where = kwargs.pop("device", None)
    number = max(device_number(self), CPU) if where is None else number_of(session, where)
    grad = kwargs.pop("requires_grad", False)
    out: Tensor = _Base.new_tensor(self, data, **kwargs, device=torch.device("cpu"))
    if number >= 0:
        out = session.transfer(out, number)
    return out.requires_grad_() if grad else out


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    return _Base.copy_(self, _alongside(self, src), non_blocking)


def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    if isinstance(value, Tensor) and value.requires_grad:
        value = _alongside(self, value)
    _Base.__setitem__(self, index, value)


def _alongside(self: Tensor, src: Any) -> Any:
    """`src` where `self` is, so that its gradient finds the way back."""
    if isinstance(src, Tensor) and src.requires_grad and torch.is_grad_enabled():
        home = device_number(self)
        if home != FLOATING and home != device_number(src):
            return move(src, home)
    return src


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    out: Tensor = _originals["__deepcopy__"](self, memo)
    number = device_number(self)
    if number >= 0 and device_number(out) != number:
        state.current().birth(out, number, "deepcopy")
    return out


def __init__(self: Tensor, *args: Any, **kwargs: Any) -> None:
    """`torch.Tensor(...)` makes a CPU tensor whatever it meets later."""
    tag = tag_of(self)
    if tag is not None and tag.device == FLOATING:
        session = state.running()
        legacy = CPU if session is None else session.legacy_device
        set_tag(self, HostTag(CPU, origin_of(tag)))
        if legacy >= 0 and session is not None:
            session.adopt(self, legacy)


def __repr__(self: Tensor, *, tensor_contents: Any = None) -> str:
    session = state.running()
    if session is None or device_number(self) < 0:
        return _originals["__repr__"](self, tensor_contents=tensor_contents)
    context.check(session)
    counter = session.counter
    counter.wait("print")
    counter.paused += 1
    try:
        return _originals["__repr__"](self, tensor_contents=tensor_contents)
    finally:
        counter.paused -= 1


def _reading(name: str) -> Any:
    """A method that reads a value for Python: the host waits where the tensor is on a GPU."""
    original = getattr(_Base, name)

    def read(self: Tensor) -> Any:
        if VIEWS_PASS:  # else the mode sees the read
            try:
                tag = storage_of(self)._ferry
            except NO_STORAGE:
                tag = None
            if tag is not None and tag.device >= 0:
                session = state.current()
                if session.broken:
                    context.check(session)
                session.counter.wait("item")
        return original(self)

    read.__name__ = name
    return read


READING = ("item", "__bool__", "__int__", "__float__", "__index__", "__complex__")


def set_grad(self: Tensor, grad: Tensor | None) -> None:
    if isinstance(grad, Tensor):
        home, here = device_number(self), device_number(grad)
        if home != here and here != FLOATING and home != FLOATING:
            raise_device_error(
                "mixed-devices",
                f"attempting to assign a gradient with device type '{device_named(here).type}' to "
                f"a tensor with device type '{device_named(home).type}'. Please ensure that the "
                "gradient and the tensor are on the same device",
                "grad",
                [("self", self), ("grad", grad)],
            )
    _grad.__set__(self, grad)


def deprecated_cuda(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`x.cuda(async=True)` cannot be written any more; kept for `**{"async": True}`."""
    if "async" in kwargs:
        warnings.warn("'async' is 'non_blocking' now", DeprecationWarning, stacklevel=2)
        kwargs["non_blocking"] = kwargs.pop("async")
    return cuda(self, *args, **kwargs)


deprecated_cuda.__name__, tensor_type.__name__ = "cuda", "type"


def install(patcher: Patcher) -> None:
    """Put the stand-ins on torch.Tensor."""
    for name in ("__deepcopy__", "__repr__"):
        _originals.setdefault(name, getattr(Tensor, name))
    for name, getter in (("device", device), ("is_cuda", is_cuda), ("is_cpu", is_cpu)):
        patcher.set(Tensor, name, property(getter))
    patcher.set(Tensor, "grad", property(_grad.__get__, set_grad, _grad.__delete__))
    for name in READING:
        patcher.set(Tensor, name, _reading(name))
    methods = {
        "get_device": get_device,
        "to": to,
        "cuda": deprecated_cuda,
        "cpu": cpu,
        "type": tensor_type,
        "type_as": type_as,
        "numpy": numpy,
        "tolist": tolist,
        "pin_memory": pin_memory,
        "is_pinned": is_pinned,
        "new": new,
        "new_tensor": new_tensor,
        "copy_": copy_,
        "__setitem__": __setitem__,
        "__deepcopy__": __deepcopy__,
        "__init__": __init__,
        "__repr__": __repr__,
    }
    function: Any
    for name, function in methods.items():
        own = name in ("__deepcopy__", "__init__", "__repr__")
        patcher.set(Tensor, name, function if own else overridable(function))


__all__ = ["HostTag", "install"]
