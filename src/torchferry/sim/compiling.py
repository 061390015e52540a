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


class _AsItIs:
    """In place of the context that compiles: what it is given runs unchanged."""

    def __call__(self, function: Any) -> Any:
        return function


def compile(model: Any = None, **options: Any) -> Any:
    """Return a function itself, and a module in torch's wrapper of compiled modules.

    A decorator where it is called without one. Programs rely on the wrapper: on `_orig_mod`, and
    on the prefix that it gives to the keys of the state.
    """
    _tell()
    if model is None:
        return _uncompiled
    return _uncompiled(model)


def _uncompiled(model: Any) -> Any:
    """`compile` without a word."""
    if not isinstance(model, torch.nn.Module):
        return model
    from torch._dynamo.eval_frame import OptimizedModule

    return OptimizedModule(model, _AsItIs())  # type: ignore[arg-type]


def _module_compile(self: torch.nn.Module, *args: Any, **options: Any) -> None:
    _tell()


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    patcher.set(torch, "compile", compile, copies=True)
    patcher.set(torch.nn.Module, "compile", _module_compile)
    if hasattr(torch.compiler, "cudagraph_mark_step_begin"):  # there are no graphs to mark
        patcher.set(torch.compiler, "cudagraph_mark_step_begin", lambda: None)
