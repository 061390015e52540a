"""The running session, for the stand-ins that need it. Set and cleared by session.py alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim.tags import CPU

if TYPE_CHECKING:
    from torchferry.sim.session import Session

_sessions: list[Session] = []


def current() -> Session:
    """The innermost running session. Raises RuntimeError where there is none."""
    if not _sessions:
        raise RuntimeError("no simulated GPU is active: use torchferry.simulate()")
    return _sessions[-1]


def running() -> Session | None:
    """The innermost running session, None where there is none."""
    return _sessions[-1] if _sessions else None


def _in_child() -> None:
    for session in _sessions:
        session.in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def push(session: Session) -> None:
    """Make `session` the running one."""
    _sessions.append(session)


def pop() -> None:
    """Back to the session outside."""
    _sessions.pop()


def depth() -> int:
    """Number of nested sessions."""
    return len(_sessions)


def number_of(session: Session, device: Any) -> int:
    """Device number of what a user may write as a device: a string, an index, a torch.device."""
    if device is None:
        return CPU
    if isinstance(device, int) and not isinstance(device, bool):
        return session.index_of(torch.device("cuda", device))
    if not isinstance(device, torch.device):
        device = torch.device(device)
    return session.index_of(device)
