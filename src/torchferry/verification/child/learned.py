"""Final values of a program's modules and learned tensors.

Modules are registered when they are made. One that dies before the end (a local of `main()`) leaves
its last values behind; those alive at the end are read then. Names come from the variables of the
main module where they lead there, else from the function that made the module.
"""

from __future__ import annotations

import gc
import math
import os
import sys
import weakref
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

from ..values import SAMPLE_LIMIT, TensorValue

_DEPTH = 4  # of containers and objects between a global name and what it holds


class _Entry:
    """A module and what it holds, without keeping the module itself alive."""

    __slots__ = (
        "__weakref__",
        "buffers",
        "children",
        "covered",
        "kind",
        "maker",
        "ordinal",
        "parameters",
        "passing",
        "place",
        "reference",
    )

    def __init__(self, module: nn.Module, maker: str, place: int, ordinal: int) -> None:
        self.kind = type(module).__name__
        self.maker, self.place, self.ordinal = maker, place, ordinal
        self.parameters: dict[str, Any] = module.__dict__["_parameters"]
        self.buffers: dict[str, Any] = module.__dict__["_buffers"]
        self.passing: set[str] = module.__dict__.get("_non_persistent_buffers_set", set())
        self.children: dict[str, _Entry] = {}
        self.covered = False
        self.reference: weakref.ref[nn.Module] | None = None

    @property
    def title(self) -> str:
        return f"{self.kind} made in {self.maker}" if self.maker else self.kind

    def tensors(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Names and tensors of the module and those below it."""
        for holder in (self.parameters, self.buffers):
            for name, tensor in holder.items():
                if isinstance(tensor, Tensor) and name not in self.passing:
                    yield prefix + name, tensor
        for name, child in self.children.items():
            yield from child.tensors(f"{prefix}{name}.")

    def cover(self) -> None:
        """Note that the values of this module and of those below are written."""
        self.covered = True
        for child in self.children.values():
            if not child.covered:
                child.cover()


class LearnedValues:
    """Registers modules from `start` on; `collect` gives the values at the end."""

    def __init__(self, user_folder: str) -> None:
        self._user_folder = user_folder
        self._process = os.getpid()
        self._entries: dict[int, _Entry] = {}
        self._over = False
        self._made: dict[tuple[str, str], int] = {}
        self._last_dead: dict[str, tuple[int, list[TensorValue]]] = {}

    def start(self) -> None:
        """Hook the making of modules."""
        plain = nn.Module.__init__

        def registering(module: nn.Module, *args: Any, **kwargs: Any) -> None:
            plain(module, *args, **kwargs)
            self._register(module)

        registering.__doc__ = plain.__doc__
        registering.__wrapped__ = plain  # type: ignore[attr-defined]
        nn.Module.__init__ = registering  # type: ignore[method-assign,assignment]
        nn.modules.module.register_module_module_registration_hook(self._adopt)

    def stop(self) -> None:
        """Remember nothing more: at the end modules die in an interpreter that is half gone."""
        self._over = True

    def _register(self, module: nn.Module) -> None:
        if "_parameters" not in module.__dict__ or isinstance(module, torch.jit.ScriptModule):
            return
        maker, place = self._maker(module)
        key = (type(module).__name__, maker)
        self._made[key] = self._made.get(key, 0) + 1
        entry = _Entry(module, maker, place, self._made[key])
        number = id(module)

        def on_death(_: object) -> None:
            if self._entries.get(number) is entry:
                del self._entries[number]
            self._remember(entry)

        entry.reference = weakref.ref(module, on_death)
        self._entries[number] = entry

    def _maker(self, module: nn.Module) -> tuple[str, int]:
        """The function of the user that makes `module`, and its line."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(self._user_folder) and not _initialises(frame, module):
                name = getattr(code, "co_qualname", code.co_name)
                return ("" if name == "<module>" else f"{name}()"), frame.f_lineno
            frame = frame.f_back
        return "", 0

    def _adopt(self, parent: nn.Module, name: str, child: nn.Module | None) -> None:
        above = self._entries.get(id(parent))
        below = self._entries.get(id(child)) if child is not None else None
        if above is not None and below is not None:
            above.children[name] = below

    def _remember(self, entry: _Entry) -> None:
        """Keep the values of a dying module; of those made at one place, the youngest's."""
        if entry.covered or self._over or os.getpid() != self._process:
            return
        entry.cover()
        ordinal, _ = self._last_dead.get(entry.title, (0, []))
        if ordinal <= entry.ordinal:
            owner = f"the last {entry.title}"
            values = _values(_owned(entry.tensors(), owner), entry.place)
            if values:
                self._last_dead[entry.title] = entry.ordinal, values
        entry.children.clear()

    def collect(self, names: Mapping[str, Any]) -> list[TensorValue]:
        """All values at the end of the program whose main module holds `names`."""
        gc.collect()
        self.stop()
        values: dict[str, TensorValue] = {}
        found = list(_reachable(names))
        named: set[int] = set()  # modules, and the tensors in them
        for name, module in found:
            if isinstance(module, nn.Module) and id(module) not in named:
                entry = self._entries.get(id(module))
                own = [(f"{name}.{path}", tensor) for path, tensor in _state(module)]
                _add(values, _values(own, entry.place if entry else 0))
                named.update(id(part) for part in module.modules())
                named.update(id(tensor) for _, tensor in own)
        leaves = [
            (name, leaf)
            for name, leaf in found
            if isinstance(leaf, Tensor) and id(leaf) not in named
        ]
        _add(values, _values(leaves, 0))
        self._collect_unnamed(values, named)
        for _, dead in self._last_dead.values():
            _add(values, dead)
        return list(values.values())

    def _collect_unnamed(self, values: dict[str, TensorValue], named: set[int]) -> None:
        """Modules that are alive though no name of the main module leads to them."""
        alive = [e for e in self._entries.values() if e.reference and e.reference() is not None]
        modules = [(entry, entry.reference()) for entry in alive if entry.reference]
        below = {
            id(child) for _, module in modules if module for child in list(module.modules())[1:]
        }
        for entry, module in modules:
            if module is not None and id(module) not in named and id(module) not in below:
                own = _owned(_state(module), f"{entry.title}, number {entry.ordinal}")
                _add(values, _values(own, entry.place))


def _initialises(frame: FrameType, module: nn.Module) -> bool:
    """Whether the frame is a method of `module` itself: its own `__init__`."""
    names = frame.f_code.co_varnames[:1]
    return bool(names) and frame.f_locals.get(names[0]) is module


def _add(values: dict[str, TensorValue], more: list[TensorValue]) -> None:
    for value in more:
        values.setdefault(value.name, value)


def _owned(tensors: Iterable[tuple[str, Tensor]], owner: str) -> Iterator[tuple[str, Tensor]]:
    return ((f"{path} of {owner}", tensor) for path, tensor in tensors)


def _state(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """What the module's state dict holds, without its hooks."""
    for path, part in module.named_modules(remove_duplicate=False):
        stem = f"{path}." if path else ""
        for name, tensor in part.named_parameters(recurse=False):
            yield stem + name, tensor
        passing = getattr(part, "_non_persistent_buffers_set", ())
        for name, tensor in part.named_buffers(recurse=False):
            if name not in passing:
                yield stem + name, tensor


def _reachable(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Modules and learned leaves that the names lead to, each with the shortest name."""
    seen: set[int] = set()
    level = [(name, value) for name, value in names.items() if not name.startswith("__")]
    for _ in range(_DEPTH):
        deeper: list[tuple[str, Any]] = []
        for name, value in level:
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, nn.Module):
                yield name, value
            elif isinstance(value, Tensor):
                if value.requires_grad and value.is_leaf:
                    yield name, value
            else:
                deeper += _inside(name, value)
        level = deeper


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        yield from ((f"{name}[{at}]", item) for at, item in enumerate(value[:1000]))
    elif isinstance(value, dict):
        yield from ((f"{name}[{key!r}]", item) for key, item in list(value.items())[:1000])
    elif type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        yield from ((f"{name}.{key}", item) for key, item in vars(value).items())


def _values(tensors: Iterable[tuple[str, Tensor]], place: int) -> list[TensorValue]:
    """The values of `tensors`, by name; those left out that cannot be read."""
    values = []
    with ExitStack() as stack:
        stack.enter_context(torch._C.DisableTorchFunction())
        stack.enter_context(torch.utils._python_dispatch._disable_current_modes())
        stack.enter_context(torch.no_grad())
        for name, tensor in tensors:
            try:
                values.append(_value(name, tensor, place))
            except (RuntimeError, NotImplementedError, TypeError, ValueError):
                continue  # no values: lazy, on "meta", or of a layout that does not unfold
    return values


def _value(name: str, tensor: Tensor, place: int) -> TensorValue:
    plain = tensor.detach().cpu()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    if plain.is_quantized:
        plain = plain.dequantize()
    if plain.is_complex():
        plain = torch.view_as_real(plain)
    flat = plain.double().reshape(-1)
    step = max(1, math.ceil(flat.numel() / SAMPLE_LIMIT))
    return TensorValue(
        name,
        tuple(tensor.shape),
        str(tensor.dtype),
        array("d", flat[::step].tolist()),
        step,
        float(flat.sum()),
        float(flat.abs().sum()),
        place,
    )
