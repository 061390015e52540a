"""Stand-ins for what storages know of devices: serialization and deepcopy go through them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from torchferry.sim import state
from torchferry.sim.memory import OutOfMemory
from torchferry.sim.patching import Patcher
from torchferry.sim.state import number_of
from torchferry.sim.tags import (
    ATTRIBUTE,
    CPU,
    FLOATING,
    History,
    HostTag,
    Tag,
    device_named,
    origin_of,
    tag_storage,
)

Storage: Any = torch.UntypedStorage
_Base: Any = torch._C.StorageBase
_device = _Base.device.__get__


_local = threading.local()


@contextmanager
def as_on_host() -> Iterator[None]:
    """In this thread storages are what they are underneath: on the host."""
    _local.on_host = True
    try:
        yield
    finally:
        _local.on_host = False


def _number(storage: Any) -> int:
    tag = storage._ferry
    if getattr(_local, "on_host", False):
        return CPU
    return CPU if tag is None or tag.device == FLOATING else int(tag.device)


def device(self: Any) -> torch.device:
    number = _number(self)
    return _device(self) if number < 0 else device_named(number)


def is_cuda(self: Any) -> bool:
    return _number(self) >= 0


def _copy(storage: Any, number: int) -> Any:
    """A copy of a storage on a device."""
    out = Storage(storage.nbytes()).copy_(storage)
    _tag(out, number, storage._ferry)
    return out


def _tag(storage: Any, number: int, origin: Tag | None) -> None:
    session = state.current()
    site = session.counter.site_here("storage", number, 1)
    made = site if origin is None else origin_of(origin)
    try:
        nbytes = tag_storage(storage, site, made, ((number, None, 0),))
    except OutOfMemory as full:
        session.out_of_memory(full, "storage")
    site.more += 1
    site.nbytes += nbytes


def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
    session = state.current()
    wanted = device if isinstance(device, torch.device) else torch.device(device)
    if wanted.type not in ("cpu", "cuda"):
        return _originals["to"](self, device=device, non_blocking=non_blocking)
    number = number_of(session, wanted)
    here = _number(self)
    if number == here:
        return self
    pinned = self._ferry is not None and self._ferry.pinned
    origin = None if self._ferry is None else origin_of(self._ferry)
    session.counter.move(here, number, self.nbytes(), pinned, non_blocking, origin)
    return _copy(self, number)


def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
    where = torch.device("cuda", device) if isinstance(device, int) else device or "cuda"
    return to(self, device=where, non_blocking=non_blocking)


def cpu(self: Any) -> Any:
    return to(self, device="cpu")


def clone(self: Any) -> Any:
    return _copy(self, _number(self))


def tolist(self: Any) -> Any:
    return list(self)


def is_pinned(self: Any, device: Any = None) -> bool:
    return self._ferry is not None and self._ferry.pinned


def pin_memory(self: Any, device: Any = None) -> Any:
    if _number(self) >= 0:
        raise TypeError(f"cannot pin '{torch.typename(self)}' only CPU memory can be pinned")
    out = _copy(self, CPU)
    out._ferry = HostTag(CPU, origin_of(out._ferry), History(out._ferry.moves, True))
    return out


def share_memory_(self: Any, *args: Any, **kwargs: Any) -> Any:
    if _number(self) >= 0:
        return self
    return _originals["share_memory_"](self, *args, **kwargs)


def is_shared(self: Any) -> bool:
    return True if _number(self) >= 0 else _Base.is_shared(self)


def _state_of(original: Any) -> Any:
    """Attributes that go into a pickle: not the simulator's own."""

    def state_of(obj: Any) -> Any:
        found = original(obj)
        if isinstance(found, dict) and any(str(key).startswith(ATTRIBUTE) for key in found):
            return {k: v for k, v in found.items() if not str(k).startswith(ATTRIBUTE)}
        return found

    return state_of


_originals: dict[str, Any] = {}


def install(patcher: Patcher) -> None:
    """Put the stand-ins on torch.UntypedStorage."""
    for name in ("to", "share_memory_"):
        _originals.setdefault(name, getattr(Storage, name))
    patcher.set(Storage, "_ferry", None)
    utils: Any = torch._utils
    patcher.set(utils, "_get_obj_state", _state_of(utils._get_obj_state))
    patcher.set(Storage, "device", property(device))
    patcher.set(Storage, "is_cuda", property(is_cuda))
    functions = (to, cuda, cpu, clone, is_pinned, pin_memory, share_memory_, is_shared)
    for function in functions:
        patcher.set(Storage, function.__name__, function)
