"""Tracebacks as the user's program alone would have them."""

from __future__ import annotations

import os
import runpy
from types import TracebackType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_LAUNCHERS = frozenset({"<frozen runpy>", os.path.abspath(runpy.__file__)})
#: of torch: what hands a call to the simulator, when the simulator follows
_HANDERS = (
    os.path.join("torch", "overrides.py"),
    os.path.join("torch", "utils", "_python_dispatch.py"),
    os.path.join("torch", "_ops.py"),
)


def without_torchferry(error: BaseException) -> BaseException:
    """`error` with torchferry's frames cut out of its tracebacks, and of those it is chained to."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _cut(one.__traceback__)
        while one.__context__ is not None and _is_ours(one.__context__):
            one.__context__ = one.__context__.__context__
        pending += [one.__cause__, one.__context__]
    return error


def _is_ours(error: BaseException) -> bool:
    """Whether it was raised inside torchferry, for torchferry."""
    return type(error).__module__.partition(".")[0] == "torchferry"


def device_error_of(error: BaseException) -> object | None:
    """The simulator's report in `error` or in what it is chained to."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        report = getattr(one, "__torchferry__", None)
        if report is not None:
            return report
        one = one.__cause__ or one.__context__
    return None


def _cut(traceback: TracebackType | None) -> TracebackType | None:
    links = []
    while traceback is not None:
        links.append(traceback)
        traceback = traceback.tb_next
    kept: list[TracebackType] = []
    for link in links:
        filename = link.tb_frame.f_code.co_filename
        if filename.startswith(_PACKAGE):
            while kept and kept[-1].tb_frame.f_code.co_filename.endswith(_HANDERS):
                kept.pop()
        elif kept or filename not in _LAUNCHERS:
            kept.append(link)
    following: TracebackType | None = None
    for link in reversed(kept):
        link.tb_next = following
        following = link
    return following
