"""`torch.zeros(2, device=1)`: a number is a GPU for torch's factories, where torch sees one.

The parser of arguments in C++ sees none, so a stand-in writes the device out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _device

from torchferry.sim.patching import Patcher

_LIKE = "empty full ones rand randint randn zeros".split()
_NEW = "new_empty new_empty_strided new_full new_ones new_zeros".split()
#: Have stand-ins of their own.
_ELSEWHERE = frozenset({"tensor", "as_tensor", "asarray", "nested_tensor"})


def _written_out(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs and kwargs["device"].__class__ is int:
            kwargs["device"] = torch.device("cuda", kwargs["device"])
        return original(*args, **kwargs)

    return make


def _functions() -> Iterator[tuple[Any, str]]:
    """Factories as (owner, name)."""
    # `set_default_device` keeps this set for good: it must hold torch's own functions.
    for function in _device._device_constructors():
        name = function.__name__
        if getattr(torch, name, None) is function and name not in _ELSEWHERE:
            yield torch, name
    for name in _LIKE:
        yield torch, f"{name}_like"
    for name in _NEW:
        if hasattr(torch.Tensor, name):
            yield torch.Tensor, name


def _parse_to(*args: Any, **kwargs: Any) -> Any:
    """What `module.to(1)` asks to read its arguments."""
    if args and args[0].__class__ is int:
        args = (torch.device("cuda", args[0]), *args[1:])
    return _original_parse_to(*args, **kwargs)


_original_parse_to: Any = torch._C._nn._parse_to


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    make: Any = _written_out
    patcher.set(torch._C._nn, "_parse_to", make(_parse_to))
    for owner, name in list(_functions()):
        original = getattr(owner, name)
        patcher.set(owner, name, _written_out(original), copies=owner is torch)
