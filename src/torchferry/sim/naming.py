"""Finds the name by which the user's program holds a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from torchferry.sim.places import is_internal
from torchferry.sim.tags import storage_of

_MAX_ITEMS = 200


def expression_of(tensor: torch.Tensor, frame: FrameType | None) -> str | None:
    """Expression (`h0`, `self.mask`, `batch['x']`) that holds `tensor` in the nearest user frame.

    The object itself is looked for in every user frame first, then a tensor that shares its storage.
    """
    frames = list(_user_frames(frame))
    for same in (_is_same, _shares_storage):
        for each in frames:
            name = _in_frame(tensor, each, same)
            if name is not None:
                return name
    return None


def _user_frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if not is_internal(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def _is_same(a: Any, b: Any) -> bool:
    return a is b


def _shares_storage(a: Any, b: Any) -> bool:
    try:
        return storage_of(a) is storage_of(b)
    except (NotImplementedError, RuntimeError):
        return False


def _in_frame(tensor: torch.Tensor, frame: FrameType, same: Any) -> str | None:
    names: dict[str, Any] = dict(frame.f_locals)
    if frame.f_locals is not frame.f_globals:
        used = set(frame.f_code.co_names)
        names.update({k: v for k, v in frame.f_globals.items() if k in used and k not in names})
    for name, value in names.items():
        if isinstance(value, torch.Tensor) and same(value, tensor):
            return name
    for name, value in names.items():
        found = _inside(tensor, name, value, same)
        if found is not None:
            return found
    return None


def _inside(tensor: torch.Tensor, name: str, value: Any, same: Any) -> str | None:
    if isinstance(value, torch.nn.Module):
        return _inside_module(tensor, name, value, same)
    if isinstance(value, dict):
        for key, item in list(value.items())[:_MAX_ITEMS]:
            if isinstance(item, torch.Tensor) and same(item, tensor):
                return f"{name}[{key!r}]"
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value[:_MAX_ITEMS]):
            if isinstance(item, torch.Tensor) and same(item, tensor):
                return f"{name}[{index}]"
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        for key, item in list(vars(value).items())[:_MAX_ITEMS]:
            if isinstance(item, torch.Tensor) and same(item, tensor):
                return f"{name}.{key}"
    return None


def _inside_module(
    tensor: torch.Tensor, name: str, module: torch.nn.Module, same: Any
) -> str | None:
    for path, part in module.named_modules():
        prefix = f"{name}.{path}" if path else name
        held = (part._parameters, part._buffers, vars(part))
        for names in held:
            for key, item in list(names.items()):
                if isinstance(item, torch.Tensor) and same(item, tensor):
                    return f"{prefix}.{key}"
                if isinstance(item, (list, tuple, dict)) and not key.startswith("_"):
                    found = _inside(tensor, f"{prefix}.{key}", item, same)
                    if found is not None:
                        return found
    return None


def holder_of(name: str, frame: FrameType | None) -> Any:
    """The object before the last dot of `name` in the user's frames: its module, for a suggestion."""
    if "." not in name:
        return None
    path = name.split(".")[:-1]
    for each in _user_frames(frame):
        scope = {**each.f_globals, **each.f_locals}
        if path[0] not in scope:
            continue
        value = scope[path[0]]
        for part in path[1:]:
            value = getattr(value, part, None)
        return value
    return None
