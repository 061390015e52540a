"""Proving a migration by running it: `verify`, and the child process that runs a program.

Importing this package imports no torch; only the child process does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import verify
    from .options import VerifyOptions
    from .tolerance import Tolerance
    from .verdict import Outcome, Verdict

__all__ = ["Outcome", "Tolerance", "Verdict", "VerifyOptions", "verify"]

_HOMES = {
    "Outcome": "verdict",
    "Tolerance": "tolerance",
    "Verdict": "verdict",
    "VerifyOptions": "options",
    "verify": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
