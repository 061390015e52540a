"""torch.compile: a simulated GPU has no kernels to compile, so compiled code runs as it is."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from torchferry.sim.patching import Patcher

_told: set[str] = set()


def _tell() -> None:
    if "compile" not in _told:
        _told.add("compile")
        warnings.warn(
            "torch.compile does nothing on the simulated GPU: the code runs uncompiled",
            stacklevel=3,
        )


def compile(model: Any = None, **options: Any) -> Any:
    """Return the model or function itself; a decorator where it is called without one."""
    _tell()
    if model is None:
        return lambda function: function
    return model


def _module_compile(self: torch.nn.Module, *args: Any, **options: Any) -> None:
    _tell()


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    patcher.set(torch, "compile", compile, copies=True)
    patcher.set(torch.nn.Module, "compile", _module_compile)
