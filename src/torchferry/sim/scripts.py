"""TorchScript files: the C++ loader knows no simulated GPU, so it loads on the host, then moves."""

from __future__ import annotations

import functools
from typing import Any

import torch

from torchferry.sim import state
from torchferry.sim.constructors import wish
from torchferry.sim.patching import Patcher

#: Beside the file's own parts: the device that its first parameter or buffer was on.
_EXTRA = "torchferry_device"


def _loader(original: Any) -> Any:
    @functools.wraps(original)
    def load(f: Any, map_location: Any = None, _extra_files: Any = None, **kwargs: Any) -> Any:
        extra = {} if _extra_files is None else _extra_files
        asked = {**extra, _EXTRA: ""}
        where = None if map_location is None else wish(state.current(), map_location)
        on_host = where is None or where.type in ("cpu", "cuda")
        module = original(f, "cpu" if on_host else map_location, asked, **kwargs)
        saved = asked.pop(_EXTRA)
        extra.update(asked)
        saved = saved.decode() if isinstance(saved, bytes) else saved
        if where is None and saved:
            where = torch.device(saved)
        return module.to(where) if where is not None and where.type == "cuda" else module

    return load


def _saver(original: Any) -> Any:
    @functools.wraps(original)
    def save(m: Any, f: Any, _extra_files: Any = None) -> None:
        tensors = [*m.parameters(), *m.buffers()] if isinstance(m, torch.nn.Module) else []
        extra = dict(_extra_files or {})
        if tensors and tensors[0].is_cuda:
            extra[_EXTRA] = str(tensors[0].device)
        original(m, f, extra)

    return save


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch.jit."""
    patcher.set(torch.jit, "load", _loader(torch.jit.load), copies=True)
    patcher.set(torch.jit, "save", _saver(torch.jit.save), copies=True)
