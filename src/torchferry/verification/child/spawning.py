"""Processes that the program spawns see the same device.

A spawned process is a new interpreter that knows nothing of the simulator. Before anything else it
unpickles the preparation data of `multiprocessing`; an object among them loads the simulator.
Forked processes inherit everything and need no help.
"""

from __future__ import annotations

import multiprocessing.spawn
from dataclasses import replace
from typing import Any

from ..request import Request, Where

_KEY = "torchferry"
_LOADER = """
import importlib.util as u, sys
s = u.spec_from_file_location('_torchferry_start', {start!r})
m = u.module_from_spec(s)
s.loader.exec_module(m)
if 'torchferry' not in sys.modules:
    m.load_package()
from torchferry.verification.child.spawning import prepare
prepare({request!r})
"""


class _Preparation:
    """Unpickles by running the loader above."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (self.source,)


def follow_spawned_processes(request: Request) -> None:
    """From now on spawned processes get the device of this one."""
    from . import start

    plain = multiprocessing.spawn.get_preparation_data
    source = _LOADER.format(start=start.__file__, request=replace(request, trace_file="").to_text())

    def with_device(name: str) -> dict[str, Any]:
        data = plain(name)
        data.pop("torchferry_sim", None)  # the simulator's own way, for programs that import it
        data[_KEY] = _Preparation(source)
        return data

    multiprocessing.spawn.get_preparation_data = with_device


def prepare(request_text: str) -> None:
    """In the spawned process: what the parent had before its program's first line."""
    request = Request.from_text(request_text)
    if request.seed is not None:
        from .seeding import seed_everything

        seed_everything(request.seed)
    from .devices import device_for

    if request.where is not Where.CPU:
        # never left: the process ends by os._exit, and its account is not asked for
        device_for(request).enter()
    follow_spawned_processes(request)
