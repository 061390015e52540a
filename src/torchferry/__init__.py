"""torchferry moves PyTorch code from the CPU to the GPU."""

from __future__ import annotations

from ._version import __version__

__all__ = ["__version__"]
