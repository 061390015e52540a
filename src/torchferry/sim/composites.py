"""Checks of functions whose C++ code looks at devices itself before any operator runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import _VF

from torchferry.sim import state
from torchferry.sim.context import device_assert
from torchferry.sim.errors import raise_device_error
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import CPU, FLOATING, device_named, device_number


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


def _quantile(*args: Any, **kwargs: Any) -> None:
    source: Any = args[0] if args else kwargs.get("input")
    q: Any = kwargs.get("q")
    q = args[1] if q is None and len(args) > 1 else q
    if _elsewhere(source, q):
        raise_device_error(
            "mixed-devices",
            "quantile() q tensor must be on the same device as the input tensor",
            "quantile",
            [("input", source), ("q", q)],
        )


def _elsewhere(tensor: Any, other: Any) -> bool:
    """True for two tensors on different devices."""
    if not isinstance(tensor, torch.Tensor) or not isinstance(other, torch.Tensor):
        return False
    home, there = device_number(tensor), device_number(other)
    return home != there and FLOATING not in (home, there)


def _with_check(original: Any, check: Callable[..., None]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return original(*args, **kwargs)

    return run


def _one_hot(original: Any) -> Callable[..., Any]:
    """The CPU looks at the classes first, CUDA leaves it to `scatter_`."""

    def one_hot(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except RuntimeError as error:
            source: Any = args[0] if args else kwargs.get("self")
            if "Class values must be" in str(error) and device_number(source) >= 0:
                device_assert(state.current(), "scatter_", [("self", source)], str(error))
            raise

    return one_hot


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


#: Function and method of these names, their check.
_CHECKED: tuple[tuple[str, Callable[..., None]], ...] = (
    ("tensor_split", _tensor_split),
    ("quantile", _quantile),
    ("nanquantile", _quantile),
)


def install(patcher: Patcher) -> None:
    """Put the checks before the functions."""
    functions: Any = torch._C._VariableFunctions
    patcher.set(_VF, "meshgrid", _with_check(functions.meshgrid, _meshgrid))
    for name, check in _CHECKED:
        function = _with_check(getattr(functions, name), check)
        patcher.set(torch, name, function, copies=True)
        method = _with_check(getattr(torch._C.TensorBase, name), check)
        patcher.set(torch.Tensor, name, method)
    one_hot = torch.nn.functional.one_hot
    patcher.set(torch.nn.functional, "one_hot", _one_hot(one_hot), copies=True)
    patcher.set(torch, "ctc_loss", _lenient(functions.ctc_loss), copies=True)
