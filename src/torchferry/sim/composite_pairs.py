"""Checks of two tensors that composite operators make in C++ before any operator runs.

`checkDevice` and `checkDeviceType` of ATen in inner and take_along_dim, `checkSameDevice` in
matrix_rank.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from torchferry.sim.composites import _with_check
from torchferry.sim.errors import raise_device_error
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import CPU, device_named, device_number


def _inner(*args: Any, **kwargs: Any) -> None:
    first, second = _pair("other", args, kwargs)
    if first is None:
        return
    here, there = device_number(first), device_number(second)
    if (here > CPU) != (there > CPU):
        kinds = ["cuda" if number > CPU else "cpu" for number in (here, there)]
        _refuse_pair("inner", f"{kinds[0]} DeviceType", f"{kinds[1]} DeviceType", first, second)


def _take_along_dim(*args: Any, **kwargs: Any) -> None:
    first, indices = _pair("indices", args, kwargs)
    if first is None:
        return
    here, there = device_number(first), device_number(indices)
    if here != there:
        _refuse_pair(
            "take_along_dim",
            f"{device_named(here)} Device",
            f"{device_named(there)} Device",
            first,
            indices,
        )


def _matrix_rank(*args: Any, **kwargs: Any) -> None:
    source = args[0] if args else kwargs.get("A")
    if not isinstance(source, torch.Tensor):
        return
    home = device_number(source)
    for name in ("atol", "rtol"):
        other = kwargs.get(name)
        if isinstance(other, torch.Tensor) and device_number(other) != home:
            raise_device_error(
                "mixed-devices",
                f"torch.linalg.matrix_rank: Expected {name} and input tensors to be on the same "
                f"device, but got {name} on {device_named(device_number(other))} and input on "
                f"{device_named(home)}",
                "linalg_matrix_rank",
                [("input", source), (name, other)],
            )


def _pair(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The first argument and the second, named `name`; (None, None) unless both are tensors."""
    given = [*args[:2], *(kwargs[n] for n in ("input", "self", name) if n in kwargs)]
    tensors = [value for value in given if isinstance(value, torch.Tensor)]
    return (tensors[0], tensors[1]) if len(tensors) == 2 else (None, None)


def _refuse_pair(operator: str, wanted: str, got: str, first: Any, second: Any) -> NoReturn:
    """Raise what `checkDevice` and `checkDeviceType` of ATen raise."""
    where = {"inner": "inner()", "take_along_dim": "torch.take_along_dim():"}[operator]
    raise_device_error(
        "mixed-devices",
        f"Expected tensor to have {wanted}, but got tensor with {got} "
        f"(while checking arguments for {where})",
        operator,
        [("self", first), ("other", second)],
    )


def install(patcher: Patcher) -> None:
    """Put the checks before the functions and methods."""
    rank = _with_check(torch.linalg.matrix_rank, _matrix_rank)
    patcher.set(torch.linalg, "matrix_rank", rank, copies=True)
    functions: Any = torch._C._VariableFunctions
    for name, check in (("inner", _inner), ("take_along_dim", _take_along_dim)):
        patcher.set(torch, name, _with_check(getattr(functions, name), check), copies=True)
        method = getattr(torch._C.TensorBase, name)
        patcher.set(torch.Tensor, name, _with_check(method, check))
