"""Profilers: the clocks of CUDA do not exist here, so only the host's times are measured.

Left alone, the C++ code would report at each operator that it cannot record an event of CUDA.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from torchferry.sim.patching import Patcher


def install(patcher: Patcher) -> None:
    """Have `torch.autograd.profiler.profile` measure the host only."""
    profile: Any = torch.autograd.profiler.profile
    original = profile.__init__

    @functools.wraps(original)
    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("use_device") == "cuda":
            kwargs["use_device"] = None
        if kwargs.get("use_cuda"):
            kwargs["use_cuda"] = False
        original(self, *args, **kwargs)

    patcher.set(profile, "__init__", start)
