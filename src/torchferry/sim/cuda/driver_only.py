"""In a CUDA build of torch, the driver functions that the simulated GPU does not have.

Such a build brings all of `torch._C._cuda_*`. What no stand-in replaced would ask the real driver:
"Found no NVIDIA driver" on a machine without one, or a real card behind the simulated one. Each
raises one error that names it instead. A CPU build has none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import torch

from torchferry.sim.cuda.missing import words_for
from torchferry.sim.patching import Patcher

_PREFIXES = ("_cuda_", "_nccl_", "_cudart")


def install(patcher: Patcher) -> None:
    """Replace what is left; runs after every other stand-in is in place."""
    for name in dir(torch._C):
        if name.startswith(_PREFIXES):
            function = getattr(torch._C, name)
            if isinstance(function, BuiltinFunctionType):
                patcher.set(torch._C, name, _refusal(name))


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(words_for(name))

    refuse.__name__ = refuse.__qualname__ = name
    return refuse
