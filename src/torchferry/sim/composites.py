"""Checks of functions whose C++ code looks at devices itself before any operator runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import _VF

from torchferry.sim import state
from torchferry.sim.errors import raise_device_error
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import CPU, device_named, device_number


def _meshgrid(*args: Any, **kwargs: Any) -> None:
    tensors = args[0] if args and isinstance(args[0], (list, tuple)) else args
    tensors = [t for t in tensors if isinstance(t, torch.Tensor)]
    if len({device_number(t) for t in tensors}) > 1:
        raise_device_error(
            "mixed-devices",
            "meshgrid expects all tensors to have the same device",
            "meshgrid",
            [("tensors", t) for t in tensors],
        )


def _tensor_split(*args: Any, **kwargs: Any) -> None:
    where = args[1] if len(args) > 1 else kwargs.get("tensor_indices_or_sections")
    if isinstance(where, torch.Tensor) and device_number(where) > CPU:
        raise_device_error(
            "index-device",
            "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on "
            f"{device_named(device_number(where))}",
            "tensor_split",
            [("self", args[0]), ("tensor_indices_or_sections", where)],
        )


def _with_check(original: Any, check: Callable[..., None]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return original(*args, **kwargs)

    return run


def _lenient(original: Any) -> Callable[..., Any]:
    """Host values become tensors inside the C++ code, unseen: they may meet GPU tensors."""

    def run(*args: Any, **kwargs: Any) -> Any:
        session = state.current()
        session.lenient += 1
        try:
            return original(*args, **kwargs)
        finally:
            session.lenient -= 1

    return run


def install(patcher: Patcher) -> None:
    """Put the checks before the functions."""
    functions: Any = torch._C._VariableFunctions
    patcher.set(_VF, "meshgrid", _with_check(functions.meshgrid, _meshgrid))
    split = _with_check(functions.tensor_split, _tensor_split)
    patcher.set(torch, "tensor_split", split, copies=True)
    method = _with_check(torch._C.TensorBase.tensor_split, _tensor_split)
    patcher.set(torch.Tensor, "tensor_split", method)
    patcher.set(torch, "ctc_loss", _lenient(functions.ctc_loss), copies=True)
