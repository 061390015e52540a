"""torch.cuda.nvtx: ranges are counted, nobody reads them."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import torch

from torchferry.sim.patching import Patcher


class Ranges:
    """What `torch._C._nvtx` offers."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._handles = itertools.count(1)

    def rangePushA(self, message: str) -> int:
        """Depth of the range that starts, from 0."""
        depth = getattr(self._local, "depth", 0)
        self._local.depth = depth + 1
        return int(depth)

    def rangePop(self) -> int:
        """Depth of the range that ends; below 0 where none is open, as NVTX says."""
        depth = getattr(self._local, "depth", 0) - 1
        self._local.depth = max(depth, 0)
        return int(depth)

    def rangeStartA(self, message: str) -> int:
        """A handle for `rangeEnd`."""
        return next(self._handles)

    def rangeEnd(self, handle: int) -> None: ...

    def markA(self, message: str) -> None: ...

    def deviceRangeStart(self, message: str, stream: int) -> int:
        """A handle for `deviceRangeEnd`."""
        return next(self._handles)

    def deviceRangeEnd(self, handle: int, stream: int) -> None: ...


def install(patcher: Patcher) -> None:
    """Put the ranges under torch.cuda.nvtx."""
    module: Any = torch.cuda.nvtx
    patcher.set(module, "_nvtx", Ranges())
