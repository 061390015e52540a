"""DLPack: what left torch as memory of a GPU comes back as that.

A capsule carries the memory underneath, which is the host's. So the storages that were exported are
remembered, and what is made over the memory of one of them gets its tag.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

import torch
import torch.utils.dlpack

from torchferry.sim.errors import raise_device_error
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import device_number, storage_or_none

#: Address of exported memory -> the storage that holds it.
_exported: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def _exporting(original: Any) -> Any:
    @functools.wraps(original)
    def export(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if device_number(tensor) >= 0:
            storage = storage_or_none(tensor)
            if storage is not None:
                _exported[storage.data_ptr() + _offset(tensor)] = storage
        return original(tensor, *args, **kwargs)

    return export


def _offset(tensor: torch.Tensor) -> int:
    return int(tensor.storage_offset()) * tensor.element_size()


def _asked(original: Any) -> Any:
    @functools.wraps(original)
    def __dlpack__(self: torch.Tensor, **kwargs: Any) -> Any:
        if device_number(self) >= 0 and not _speaks_of_gpus(kwargs):
            # numpy looks at the capsule's device, which would be the host's here
            raise_device_error(
                "numpy-of-device-tensor",
                "Unsupported device in DLTensor.",
                "__dlpack__",
                [("self", self)],
            )
        return original(self, **kwargs)

    return __dlpack__


def _speaks_of_gpus(kwargs: dict[str, Any]) -> bool:
    """A consumer that knows streams, or wants the data on the host."""
    device = kwargs.get("dl_device")
    return "stream" in kwargs or (device is not None and int(device[0]) == 1)


def _importing(original: Any) -> Any:
    @functools.wraps(original)
    def take(*args: Any, **kwargs: Any) -> Any:
        out = original(*args, **kwargs)
        source = _exported.get(out.data_ptr())
        if source is not None and source._ferry is not None:
            out.untyped_storage()._ferry = source._ferry
        return out

    return take


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    for name in ("_to_dlpack", "_to_dlpack_versioned"):
        if hasattr(torch._C, name):
            patcher.set(torch._C, name, _exporting(getattr(torch._C, name)))
    patcher.set(torch.utils.dlpack, "to_dlpack", torch._C._to_dlpack, copies=True)
    if hasattr(torch, "to_dlpack"):
        patcher.set(torch, "to_dlpack", torch._C._to_dlpack)
    patcher.set(torch.Tensor, "__dlpack__", _asked(torch.Tensor.__dlpack__))
    patcher.set(torch._C, "_from_dlpack", _importing(torch._C._from_dlpack))
    if "_from_dlpack" in vars(torch.utils.dlpack):  # a name of its own in older torch
        patcher.set(torch.utils.dlpack, "_from_dlpack", torch._C._from_dlpack)
