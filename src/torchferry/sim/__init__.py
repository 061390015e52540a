"""The simulated GPU: ordinary CPU tensors that know which device they would be on.

Importing this package does not import torch; using its names does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchferry.sim.session import Session
    from torchferry.sim.simulation import simulate

__all__ = ["Session", "simulate"]


def __getattr__(name: str) -> Any:
    if name == "simulate":
        from torchferry.sim.simulation import simulate

        return simulate
    if name == "Session":
        from torchferry.sim.session import Session

        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
