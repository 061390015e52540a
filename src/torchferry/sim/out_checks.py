"""`out=` of functions that are made of others in C++ and look at the device of `out` themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import _VF

from torchferry.sim.errors import raise_device_error
from torchferry.sim.messages import found_two_devices
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import FLOATING, device_named, device_number

Words = Callable[[int, int], str]


def _same(name: str) -> Words:
    """Words of `checkSameDevice`."""

    def words(home: int, out: int) -> str:
        return (
            f"{name}: Expected result and input tensors to be on the same device, but got result "
            f"on {device_named(out)} and input on {device_named(home)}"
        )

    return words


def _same_swapped(name: str) -> Words:
    """The norms hand their tensors to `checkSameDevice` the wrong way round."""
    return lambda home, out: _same(name)(out, home)


def _tensordot(home: int, out: int) -> str:
    return (
        "tensordot: Expected the output and input tensors to be on the same device, but got the "
        f"output tensor on {device_named(out)}, input tensor a on {device_named(home)}, and input "
        f"tensor b on {device_named(home)}"
    )


def _inner(home: int, out: int) -> str:
    return (
        f"inner(): Expected tensor to have {device_named(home).type} DeviceType, but got tensor "
        f"with {device_named(out).type} DeviceType"
    )


def _quantile(home: int, out: int) -> str:
    return "quantile() out tensor must be on the same device as the input tensor"


def _diff(home: int, out: int) -> str:
    return (
        f"Expected out tensor to have device {device_named(home)}, but got {device_named(out)} "
        "instead"
    )


#: (module, function, words)
_ROWS: tuple[tuple[Any, str, Words], ...] = (
    (torch, "diff", _diff),
    (torch, "inner", _inner),
    (torch, "matrix_power", _same("matrix_power")),
    (torch, "nanquantile", _quantile),
    (torch, "quantile", _quantile),
    (torch.linalg, "cond", _same("linalg.cond")),
    (torch.linalg, "matrix_norm", _same_swapped("linalg.matrix_norm")),
    (torch.linalg, "matrix_power", _same("matrix_power")),
    (torch.linalg, "matrix_rank", _same("torch.linalg.matrix_rank")),
    (torch.linalg, "norm", _same_swapped("linalg.norm")),
    (torch.linalg, "pinv", _same("linalg.pinv")),
    (torch.linalg, "tensorinv", _same("tensorinv")),
    (torch.linalg, "tensorsolve", _same("tensorsolve")),
    (torch.special, "ndtr", found_two_devices),
    (_VF, "nuclear_norm", _same_swapped("linalg.matrix_norm")),
    (_VF, "tensordot", _tensordot),
)


def _checked(original: Callable[..., Any], name: str, words: Words) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if isinstance(out, torch.Tensor):
            source = args[0] if args else next(iter(kwargs.values()))
            if isinstance(source, torch.Tensor):
                _check(name, words, source, out)
        return original(*args, **kwargs)

    return run


def _check(name: str, words: Words, source: torch.Tensor, out: torch.Tensor) -> None:
    home, there = device_number(source), device_number(out)
    if home != there and FLOATING not in (home, there):
        named = [("input", source), ("out", out)]
        raise_device_error("mixed-devices", words(home, there), name, named)


def _into(original: Callable[..., Any]) -> Callable[..., Any]:
    """C++ code that forgets `out` where a dispatch mode is on."""

    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        made = original(*args, **kwargs)
        return made if out is None else copied_into(out, made)

    return run


def copied_into(out: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """`out`, of the size and with the values of what was made."""
    if out.shape != made.shape:
        out.resize_(made.shape)
    return out.copy_(made)


def install(patcher: Patcher) -> None:
    """Put the checks before the functions."""
    for owner, name, words in _ROWS:
        original = getattr(owner, name)
        run = _into(original) if name == "matrix_rank" else original
        patcher.set(owner, name, _checked(run, name, words), copies=owner is not _VF)
