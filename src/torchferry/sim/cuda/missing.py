"""In a CPU build of torch, what torch.cuda's Python code asks of C code that is not there.

Such a name that has no stand-in (one of a newer torch, say) is missing, as it was. But the error
says what was called and why it cannot work, instead of "torch._C has no attribute".
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import torch

from torchferry.sim.patching import Patcher

_PREFIXES = ("_cuda", "_nccl", "_CUDA", "_Cuda", "_cudnn", "_gds", "_MemPool")


def _missing(name: str) -> NoReturn:
    if name.startswith(_PREFIXES):
        raise AttributeError(words_for(name), name=name, obj=torch._C)
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}", name=name, obj=torch._C)


def words_for(name: str) -> str:
    """The error of the function of torch that called the caller of this."""
    return f"{_asking(sys._getframe(2))}: a simulated GPU has no torch._C.{name}, which this needs"


def _asking(frame: Any) -> str:
    module = str(frame.f_globals.get("__name__", ""))
    function = frame.f_code.co_name
    return module if function == "<module>" else f"{module}.{function}"


def install(patcher: Patcher) -> None:
    """Word the error of torch._C."""
    patcher.set(torch._C, "__getattr__", _missing)
