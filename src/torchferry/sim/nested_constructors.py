"""Makers of nested tensors, whose C++ code moves what it is given by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from torchferry.sim import state
from torchferry.sim.constructors import wish
from torchferry.sim.patching import Patcher


def _nested(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(tensor_list: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        where = None if device is None else wish(state.current(), device)
        jagged = kwargs.get("layout") is torch.jagged
        if where is None or where.type != "cuda" or jagged:
            return original(tensor_list, *args, device=device, **kwargs)
        parts = [torch.as_tensor(part, device=where) for part in tensor_list]
        return original(parts, *args, **kwargs)

    return make


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    for name in ("nested_tensor", "as_nested_tensor"):
        patcher.set(torch.nested, name, _nested(getattr(torch.nested, name)), copies=True)
