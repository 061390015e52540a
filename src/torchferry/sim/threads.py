"""Dispatch modes belong to one thread: new threads of the program must enter it themselves."""

from __future__ import annotations

import threading
from typing import Any

from torchferry.sim import state
from torchferry.sim.patching import Patcher


def install(patcher: Patcher) -> None:
    """Make every new thread run inside the session's mode."""
    original: Any = threading.Thread.run

    def run(self: threading.Thread) -> None:
        session = state.running()
        if session is None or getattr(self, "_ferry_plain", False):
            original(self)
            return
        with session.mode:
            original(self)

    patcher.set(threading.Thread, "run", run)
