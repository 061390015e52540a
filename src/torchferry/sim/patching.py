"""Puts stand-ins in place of names and takes every one of them back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

_MISSING: Any = object()


class Patcher:
    """Sets attributes and restores them in reverse order. Names that were not there are deleted."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._callbacks: list[Callable[[], None]] = []

    def set(self, owner: Any, name: str, value: Any, *, copies: bool = False) -> None:
        """Set `owner.name` to `value`.

        With `copies`, names in other modules that hold the same object (`from torch import tensor`)
        are replaced too, by `replace_copies`.
        """
        own = vars(owner).get(name, _MISSING)
        if copies:
            original = getattr(owner, name)
            self._copies[id(original)] = (original, value)
        self._undo.append((owner, name, own))
        self._name_for_scripts(own, value)
        _keep_attributes(own, value)
        setattr(owner, name, value)

    def _name_for_scripts(self, original: Any, value: Any) -> None:
        """TorchScript knows functions by identity: a stand-in compiles to the same operator."""
        table = _script_table()
        operator = table.get(id(original))
        if operator is not None and id(value) not in table:
            table[id(value)] = operator
            self._callbacks.append(lambda: table.pop(id(value), None))

    def on_undo(self, callback: Callable[[], None]) -> None:
        """Call `callback` when everything is restored."""
        self._callbacks.append(callback)

    def replace_copies(self) -> None:
        """Replace what user modules imported by `from torch import ...` before."""
        pairs = self._copies
        for module in _user_modules():
            names = vars(module)
            for name, value in list(names.items()):
                pair = pairs.get(id(value))
                if pair is not None and pair[0] is value:
                    names[name] = pair[1]

    def _restore_copies(self) -> None:
        back = {id(new): (new, old) for old, new in self._copies.values()}
        for module in _user_modules():
            names = vars(module)
            for name, value in list(names.items()):
                pair = back.get(id(value))
                if pair is not None and pair[0] is value:
                    names[name] = pair[1]

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Have every original name back for a while."""
        held = [(owner, name, vars(owner)[name]) for owner, name, _ in self._undo]
        for owner, name, own in reversed(self._undo):
            _restore(owner, name, own)
        try:
            yield
        finally:
            for owner, name, value in held:
                setattr(owner, name, value)

    def undo(self) -> None:
        """Restore every name, last set first."""
        self._restore_copies()
        while self._undo:
            _restore(*self._undo.pop())
        self._copies.clear()
        while self._callbacks:
            self._callbacks.pop()()


def _restore(owner: Any, name: str, own: Any) -> None:
    if own is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, own)


def _keep_attributes(original: Any, value: Any) -> None:
    """What torch hangs on a function, and reads there (`__wrapped__`), is on the stand-in too."""
    if isinstance(original, FunctionType) and isinstance(value, FunctionType):
        for name, kept in vars(original).items():
            vars(value).setdefault(name, kept)


def _script_table() -> dict[int, Any]:
    """TorchScript's table of builtin functions; empty where this torch keeps none."""
    try:
        from torch.jit._builtins import _get_builtin_table
    except ImportError:
        return {}
    table: dict[int, Any] = _get_builtin_table()
    return table


def _user_modules() -> list[ModuleType]:
    """Loaded modules that may hold copies: not the standard library's, not torch's inner ones."""
    skip = sys.stdlib_module_names
    return [
        module
        for name, module in list(sys.modules.items())
        if (
            isinstance(module, ModuleType)
            and name.split(".", 1)[0] not in skip
            and not name.startswith(
                ("torchferry.", "torch._C", "numpy", "torch.ops", "sympy", "matplotlib")
            )
        )
        or (name == "__main__" and isinstance(module, ModuleType))
    ]
