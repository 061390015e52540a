"""`torch.device(1)`: a number alone names a GPU, where torch sees one. The C++ code sees none.

The class itself cannot be changed, so a stand-in takes its place. Its instances are torch's own.
"""

from __future__ import annotations

from typing import Any

import torch

from torchferry.sim.patching import Patcher

_Device: Any = torch.device


class _Meta(type):
    """`isinstance`, `==` and attributes as of the real class."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and args[0].__class__ is int and args[0] >= 0:
            return _Device("cuda", args[0])
        return _Device(*args, **kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        return value.__class__ is _Device

    def __subclasscheck__(cls, other: type) -> bool:
        return other is cls or issubclass(other, _Device)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is _Device

    def __hash__(cls) -> int:
        return hash(_Device)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_Device, name)


class device(metaclass=_Meta):
    __doc__ = _Device.__doc__
    __module__ = "torch"


device.__qualname__ = "device"


def install(patcher: Patcher) -> None:
    """Put the stand-in into torch."""
    patcher.set(torch, "device", device, copies=True)
