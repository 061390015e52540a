"""Stand-ins that raise one clear error, for what needs a real card (tables/refused_names.py)."""

from __future__ import annotations

import sys
from typing import Any

import torch

from torchferry.sim.patching import Patcher
from torchferry.sim.tables.refused_names import KERNELS, REFUSED


def stand_in(name: str, original: Any) -> Any:
    """A class or function in place of `original` that raises RuntimeError naming `name`."""
    message = f"{name}: {REFUSED[name]}"
    short = name.rpartition(".")[2]

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(message)

    if isinstance(original, type):
        return type(short, (), {"__new__": refuse, "__doc__": message, "__module__": __name__})
    refuse.__name__ = refuse.__qualname__ = short
    refuse.__doc__ = message
    return refuse


def _launch(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(f"torch.cuda.jiterator: {KERNELS}")


def install(patcher: Patcher) -> None:
    """Replace each name, in the module that defines it too, where this torch has it."""
    patcher.set(torch._C, "_cuda_jiterator_compile_and_launch_kernel", _launch)
    for name in REFUSED:
        owner_name, _, short = name.rpartition(".")
        owner = _module(owner_name)
        original = getattr(owner, short, None)
        if original is None:
            continue
        new = stand_in(name, original)
        patcher.set(owner, short, new, copies=True)
        home = sys.modules.get(getattr(original, "__module__", ""))
        if home is not None and home is not owner and vars(home).get(short) is original:
            patcher.set(home, short, new)


def _module(name: str) -> Any:
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found
