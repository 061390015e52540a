"""torchferry moves PyTorch code from the CPU to the GPU.

    torchferry.migrate(source)   rewrites CPU-only source
    torchferry.check(source)     finds device mistakes
    torchferry.verify(script)    proves a migration by running it
    torchferry.simulate()        a simulated GPU, as a context manager

Importing this package imports neither torch nor anything slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .api import check, migrate, simulate, verify

__all__ = ["__version__", "check", "migrate", "simulate", "verify"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
