"""C++'s own note that CUDA has started, taken back after a session.

The first tensor on a GPU calls `torch.cuda._lazy_init` from C++, which notes that it went well and
never calls it again. After a session the real `_lazy_init` must have its word: "Torch not compiled
with CUDA enabled", or the start of a real card. Python has no name for that note.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch

from torchferry.sim.patching import Patcher

#: `torch::utils::set_requires_device_init(c10::DeviceType, bool)`, as gcc and clang name it.
_SYMBOL = "_ZN5torch5utils24set_requires_device_initEN3c1010DeviceTypeEb"
_CUDA = 1  # c10::DeviceType::CUDA


def _forget() -> None:
    if torch.cuda.is_initialized():
        return  # a real card was in use before the session
    for library in Path(torch.__file__).parent.glob("lib/libtorch_python.*"):
        try:
            function = getattr(ctypes.CDLL(str(library)), _SYMBOL)
        except (OSError, AttributeError):  # another compiler's names: the note stays
            continue
        function.argtypes, function.restype = (ctypes.c_int8, ctypes.c_bool), None
        function(_CUDA, True)


def install(patcher: Patcher) -> None:
    """Take the note back when everything is restored."""
    patcher.on_undo(_forget)
