"""Stand-ins for the makers of sparse tensors, whose C++ code moves their data by itself.

`torch.sparse_coo_tensor(indices, values, size, device="cuda")` and its compressed kin: indices and
values go to the device, the result is made of them there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim import state
from torchferry.sim.moves import move
from torchferry.sim.patching import Patcher
from torchferry.sim.state import number_of
from torchferry.sim.tags import CPU, device_number

if TYPE_CHECKING:
    from torchferry.sim.session import Session

_PLAIN = ("crow_indices", "col_indices", "values")
_COLUMNS = ("ccol_indices", "row_indices", "values")
#: Function -> names of the arguments that hold data, the values last.
_MAKERS = {
    "sparse_coo_tensor": ("indices", "values"),
    "sparse_csr_tensor": _PLAIN,
    "sparse_bsr_tensor": _PLAIN,
    "sparse_csc_tensor": _COLUMNS,
    "sparse_bsc_tensor": _COLUMNS,
    "sparse_compressed_tensor": ("compressed_indices", "plain_indices", "values"),
}


def _stand_in(original: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        session = state.current()
        device = kwargs.get("device")
        if device is not None and torch.device(device).type not in ("cpu", "cuda"):
            return original(*args, **kwargs)
        kwargs.pop("device", None)
        number = None if device is None else number_of(session, device)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if not all(name in given for name in names):  # of a size alone: empty
            out = original(*args, **kwargs)
            return _settled(session, out, CPU if number is None else number)
        data = {name: given[name] for name in names}
        home = _home(data[names[-1]]) if number is None else number
        data = {
            name: _placed(session, value, home, number is not None, name, kwargs.get("dtype"))
            for name, value in data.items()
        }
        rest = {name: value for name, value in kwargs.items() if name not in names}
        out = original(*data.values(), *args[len(names) :], **rest)
        return _settled(session, out, home)

    return make


def _home(values: Any) -> int:
    return max(device_number(values), CPU) if isinstance(values, torch.Tensor) else CPU


def _placed(
    session: Session, value: Any, home: int, moves: bool, name: str, dtype: torch.dtype | None
) -> Any:
    """Data on the GPU `home`; a tensor moves only where the call names a device."""
    if isinstance(value, torch.Tensor):
        return move(value, home) if moves else value
    if home == CPU:
        return value
    host = torch.as_tensor(value, dtype=dtype if name == "values" else torch.int64, device="cpu")
    return session.transfer(host, home)


def _settled(session: Session, out: torch.Tensor, number: int) -> torch.Tensor:
    if device_number(out) != number:
        session.adopt(out, number)
    return out


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    for name, data in _MAKERS.items():
        patcher.set(torch, name, _stand_in(getattr(torch, name), data), copies=True)
