"""torch._dynamo loads with torch's own names in place.

The first optimizer of a program imports it. While it loads it fills tables by the identity of
functions and of class attributes, which would hold stand-ins for the life of the process (torch
2.6 even fails on them).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from torchferry.sim import state
from torchferry.sim.patching import Patcher

_NAME = "torch._dynamo"


class _Finder(MetaPathFinder):
    def __init__(self, patcher: Patcher) -> None:
        self.patcher = patcher

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _NAME:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.patcher)
        return spec


class _Loader(Loader):
    """Runs the real loader, with every stand-in taken back meanwhile."""

    def __init__(self, loader: Loader, patcher: Patcher) -> None:
        self.loader = loader
        self.patcher = patcher

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        session = state.running()
        if session is not None:
            session.mode.rest()
        try:
            with self.patcher.suspended():
                self.loader.exec_module(module)
        finally:
            if session is not None:
                session.mode.resume()


def install(patcher: Patcher) -> None:
    """Watch for the import, where it has not happened yet."""
    if _NAME in sys.modules:
        return
    finder = _Finder(patcher)
    sys.meta_path.insert(0, finder)
    patcher.on_undo(lambda: sys.meta_path.remove(finder))
