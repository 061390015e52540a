"""torch.compile: a simulated GPU has no kernels to compile, so compiled code runs as it is."""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

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


def _export(original: Any) -> Any:
    @functools.wraps(original)
    def export(mod: Any, args: Any = (), *rest: Any, **options: Any) -> Any:
        # its fake tensors take the device from C++, where a GPU of this build must stand behind
        held = [*mod.parameters(), *mod.buffers()] if isinstance(mod, torch.nn.Module) else []
        if any(isinstance(t, torch.Tensor) and t.is_cuda for t in (*held, *tree_leaves(args))):
            raise RuntimeError(
                "torch.export.export: a simulated GPU has no device for exported programs. Export "
                "the model on the CPU: move it and its example inputs there with `.cpu()`"
            )
        return original(mod, args, *rest, **options)

    return export


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    exporting = sys.modules.get("torch.export")
    if exporting is not None:
        patcher.set(exporting, "export", _export(vars(exporting)["export"]), copies=True)
    patcher.set(torch, "compile", compile, copies=True)
    patcher.set(torch.nn.Module, "compile", _module_compile)
    if hasattr(torch.compiler, "cudagraph_mark_step_begin"):  # there are no graphs to mark
        patcher.set(torch.compiler, "cudagraph_mark_step_begin", lambda: None)
