"""Finds the name by which the user's program holds a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torchferry.sim.places import is_internal
from torchferry.sim.tags import NO_STORAGE, storage_of

_MAX_ITEMS = 200
_MAX_DEPTH = 3

Same = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Holder:
    """Where a tensor is held: `expression` in the user's words, `module` if a module holds it.

    `registered`: it is a parameter or buffer of that module. `hidden`: on the way there the module
    sits in a plain list or dict, which `module.to()` does not see.
    """

    expression: str
    module: torch.nn.Module | None = None
    attribute: str = ""
    registered: bool = False
    hidden: bool = False


def holder_of(tensor: torch.Tensor, frame: FrameType | None) -> Holder | None:
    """Holder of `tensor` in the nearest user frame that has one.

    The object itself is looked for in every user frame first, then one that shares its storage.
    """
    frames = list(_user_frames(frame))
    for same in (_is_same, _shares_storage):
        for each in frames:
            found = _in_frame(tensor, each, same)
            if found is not None:
                return found
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
    except NO_STORAGE:
        return False


def _in_frame(tensor: torch.Tensor, frame: FrameType, same: Same) -> Holder | None:
    names: dict[str, Any] = dict(frame.f_locals)
    if frame.f_locals is not frame.f_globals:
        used = set(frame.f_code.co_names)
        names.update({k: v for k, v in frame.f_globals.items() if k in used and k not in names})
    for name, value in names.items():
        if isinstance(value, torch.Tensor) and same(value, tensor):
            return Holder(name)
    for name, value in names.items():
        found = _inside(tensor, name, value, same, _MAX_DEPTH)
        if found is not None:
            return found
    return None


def _inside(
    tensor: torch.Tensor, name: str, value: Any, same: Same, depth: int, hidden: bool = False
) -> Holder | None:
    """Look into modules, containers and plain objects."""
    if isinstance(value, torch.nn.Module):
        return _inside_module(tensor, name, value, same, depth, hidden)
    if depth == 0:
        return None
    for expression, item in _items(name, value):
        if isinstance(item, torch.Tensor):
            if same(item, tensor):
                return Holder(expression)
        else:
            found = _inside(tensor, expression, item, same, depth - 1, True)
            if found is not None:
                return found
    return None


def _items(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", item) for key, item in list(value.items())[:_MAX_ITEMS]]
    if isinstance(value, (list, tuple)):
        return [(f"{name}[{index}]", item) for index, item in enumerate(value[:_MAX_ITEMS])]
    if isinstance(value, type) or type(value).__module__ in ("builtins", "numpy", "torch"):
        return []
    try:
        held = vars(value)
    except TypeError:
        return []
    return [(f"{name}.{key}", item) for key, item in list(held.items())[:_MAX_ITEMS]]


def _inside_module(
    tensor: torch.Tensor, name: str, module: torch.nn.Module, same: Same, depth: int, hidden: bool
) -> Holder | None:
    for path, part in module.named_modules():
        prefix = f"{name}.{path}" if path else name
        for held, registered in (
            (part._parameters, True),
            (part._buffers, True),
            (vars(part), False),
        ):
            for key, item in list(held.items()):
                if isinstance(item, torch.Tensor):
                    if same(item, tensor):
                        return Holder(f"{prefix}.{key}", part, key, registered, hidden)
                elif depth and not key.startswith("_") and isinstance(item, (list, tuple, dict)):
                    found = _inside(tensor, f"{prefix}.{key}", item, same, depth - 1, True)
                    if found is not None:
                        return found if found.module else Holder(found.expression, part, key)
    return None
