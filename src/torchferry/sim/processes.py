"""Other processes of the program: spawned ones get the same machine, tensors travel to them.

A spawned process is a new interpreter that knows nothing of the simulator. Before anything else it
unpickles the preparation data of `multiprocessing`; an object among them starts the simulator.
Forked processes inherit everything, and the rule that a GPU cannot be used there (state.py).
"""

from __future__ import annotations

import multiprocessing.spawn
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing import reductions

from torchferry.sim import state
from torchferry.sim.patching import Patcher
from torchferry.sim.storage_methods import as_on_host
from torchferry.sim.tags import FLOATING, device_number

#: Key of the preparation data; whoever starts the simulator by other means removes it.
KEY = "torchferry_sim"
_LOADER = """
import sys
if 'torchferry' not in sys.modules:
    import importlib.util as util
    package = {package!r}
    spec = util.spec_from_file_location(
        'torchferry', package + '/__init__.py', submodule_search_locations=[package])
    module = sys.modules['torchferry'] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
from torchferry.sim.processes import start
start({settings!r})
"""


class _Starter:
    """Unpickles by running the loader above."""

    def __init__(self, settings: dict[str, Any]) -> None:
        package = Path(__file__).resolve().parents[1].as_posix()
        self.source = _LOADER.format(package=package, settings=settings)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (self.source,)


def start(settings: dict[str, Any]) -> None:
    """In a spawned process: a machine like the parent's, until the process ends."""
    from torchferry.sim.simulation import simulate

    if state.running() is None:
        simulate(**settings).__enter__()


def _reduce_tensor(tensor: torch.Tensor) -> Any:
    """How a tensor travels: those of a GPU share their memory, as CUDA's handles let them."""
    number = device_number(tensor)
    if number < 0 or tensor.layout is not torch.strided or tensor.is_nested:
        return _original(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        return _original(tensor)  # refuses
    with as_on_host():
        make, parts = reductions.reduce_storage(tensor.untyped_storage())
    how = (tensor.dtype, tensor.storage_offset(), tensor.size(), tensor.stride())
    return _rebuild, (type(tensor), tensor.requires_grad, number, how, make, parts)


def _rebuild(cls: Any, grad: bool, number: int, how: Any, make: Any, parts: Any) -> torch.Tensor:
    storage = make(*parts)
    dtype, offset, size, stride = how
    guard = torch._C._DisableTorchDispatch()
    try:
        out = torch.empty(0, dtype=dtype).set_(storage, offset, size, stride)
    finally:
        del guard
    session = state.running()
    if session is not None and device_number(out) in (-1, FLOATING):
        session.index_of(torch.device("cuda", number))  # may be refused here
        session.adopt(out, number)
    if issubclass(cls, torch.nn.Parameter):
        return cls(out, requires_grad=grad)
    return out.requires_grad_() if grad else out


_original: Any = reductions.reduce_tensor


def install(patcher: Patcher) -> None:
    """Have spawned processes start the simulator; send tensors with their device."""
    plain: Any = multiprocessing.spawn.get_preparation_data

    def with_simulator(name: str) -> dict[str, Any]:
        data: dict[str, Any] = plain(name)
        session = state.running()
        if session is not None:
            data[KEY] = _Starter(session.settings)
        return data

    patcher.set(multiprocessing.spawn, "get_preparation_data", with_simulator)
    patcher.set(reductions, "reduce_tensor", _reduce_tensor)
    reducers: dict[Any, Any] = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    changed = [kind for kind, reduce in reducers.items() if reduce is _original]
    reducers.update(dict.fromkeys(changed, _reduce_tensor))
    patcher.on_undo(lambda: reducers.update(dict.fromkeys(changed, _original)))
