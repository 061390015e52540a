"""Dispatch modes belong to one thread: new threads of the program must enter it themselves."""

from __future__ import annotations

import _thread
import functools
import threading
from collections.abc import Callable
from typing import Any

from torchferry.sim import state
from torchferry.sim.patching import Patcher


def _inside(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` inside the mode of the session that runs when it is called."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        session = state.running()
        if session is None:
            return function(*args, **kwargs)
        with session.mode:
            return function(*args, **kwargs)

    return run


def install(patcher: Patcher) -> None:
    """Make every new thread run inside the session's mode."""
    # Not `run`, which subclasses replace.
    inner: Any = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]
    patcher.set(threading.Thread, "_bootstrap_inner", _inside(inner))
    start = _thread.start_new_thread

    def start_new_thread(function: Callable[..., Any], *args: Any) -> int:
        return start(_inside(function), *args)

    patcher.set(_thread, "start_new_thread", start_new_thread)
