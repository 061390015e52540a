"""What the C++ parsers of torch's factories would see of devices on a machine with GPUs.

`torch.zeros(2, device=1)`: a number is a GPU. `torch.zeros(2, out=x, device="cuda")`: the device
must be of the kind of `x`. The parsers see no GPU, so stand-ins look before them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _device

from torchferry.sim import state
from torchferry.sim.errors import raise_device_error
from torchferry.sim.patching import Patcher
from torchferry.sim.state import number_of
from torchferry.sim.tags import device_number

_LIKE = "empty full ones rand randint randn zeros".split()
_NEW = "new_empty new_empty_strided new_full new_ones new_zeros".split()
_HOST = torch.device("cpu")
#: Have stand-ins of their own.
_ELSEWHERE = frozenset({"tensor", "as_tensor", "asarray", "nested_tensor"})


def _written_out(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs and kwargs["device"].__class__ is int:
            kwargs["device"] = torch.device("cuda", kwargs["device"])
        if isinstance(kwargs.get("out"), torch.Tensor):
            _into(original.__name__, kwargs)
        return original(*args, **kwargs)

    return make


def _into(name: str, kwargs: dict[str, Any]) -> None:
    """Check a factory's `device` against its `out`, whose device decides."""
    wish, out = kwargs.get("device"), kwargs["out"]
    if wish is None and name == "normal":
        return  # its parser has no device where it takes tensors
    if wish is not None:
        wish = torch.device(wish)
        if wish.type not in ("cpu", "cuda"):
            return
        kind = "cuda" if device_number(out) >= 0 else "cpu"
        if wish.type != kind:
            raise_device_error(
                "mixed-devices",
                f"device type {wish.type} does not match device type of out parameter ({kind})",
                name,
                [("out", out)],
            )
        number_of(state.current(), wish)
    kwargs["device"] = _HOST  # also keeps torch.set_default_device's choice away


def _functions() -> Iterator[tuple[Any, str]]:
    """Factories as (owner, name)."""
    # `set_default_device` keeps this set for good: it must hold torch's own functions.
    for function in _device._device_constructors():
        name = function.__name__
        if getattr(torch, name, None) is function and name not in _ELSEWHERE:
            yield torch, name
    yield torch, "normal"
    for name in _LIKE:
        yield torch, f"{name}_like"
    for name in _NEW:
        if hasattr(torch.Tensor, name):
            yield torch.Tensor, name


def _parse_to(*args: Any, **kwargs: Any) -> Any:
    """What `module.to(1)` asks to read its arguments."""
    if args and args[0].__class__ is int:
        args = (torch.device("cuda", args[0]), *args[1:])
    return _original_parse_to(*args, **kwargs)


_original_parse_to: Any = torch._C._nn._parse_to


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    make: Any = _written_out
    patcher.set(torch._C._nn, "_parse_to", make(_parse_to))
    for owner, name in list(_functions()):
        original = getattr(owner, name)
        patcher.set(owner, name, _written_out(original), copies=owner is torch)
