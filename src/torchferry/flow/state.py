"""Frames, and the trail that undoes and joins what branches changed."""

from __future__ import annotations

from typing import Any

MISSING: Any = object()  #: "the key was not there"


class Frame:
    """The names of one call, or of a module. `parent` is where free names are looked up."""

    __slots__ = (
        "cls", "comprehension", "ctx", "func", "outer", "parent", "returns", "unit", "vars",
        "yields",
    )  # fmt: skip

    def __init__(self, parent: Frame | None, unit: Any, func: Any, ctx: int) -> None:
        self.vars: dict[str, Any] = {}
        self.parent = parent
        self.unit = unit
        self.func = func
        self.ctx = ctx
        self.outer: dict[str, Frame] = {}  #: names declared global or nonlocal
        self.returns: list[Any] = []
        self.yields: list[Any] = []
        self.cls: Any = None
        self.comprehension = False


class Trail:
    """Records old values of dictionary slots, so that a branch can be undone and joined.

    All state that the analysis changes lives in dictionaries and is written through `set`.
    """

    __slots__ = ("log", "marks")

    def __init__(self) -> None:
        self.log: list[tuple[dict[Any, Any], Any, Any]] = []
        self.marks = 0

    def set(self, slots: dict[Any, Any], key: Any, value: Any) -> None:
        """slots[key] = value, undoable while a branch is open."""
        if self.marks:
            self.log.append((slots, key, slots.get(key, MISSING)))
        slots[key] = value

    def open(self) -> int:
        """Begin a branch; gives the mark for `close`."""
        self.marks += 1
        return len(self.log)

    def changes(self, mark: int) -> dict[tuple[int, Any], tuple[dict[Any, Any], Any]]:
        """What was changed since `mark`, as `close` gives it; nothing is undone."""
        return {
            (id(slots), key): (slots, slots.get(key, MISSING)) for slots, key, _ in self.log[mark:]
        }

    def close(self, mark: int) -> dict[tuple[int, Any], tuple[dict[Any, Any], Any]]:
        """Undo all changes since `mark`; gives what they were: (id, key) -> (slots, new value)."""
        changes: dict[tuple[int, Any], tuple[dict[Any, Any], Any]] = {}
        log = self.log
        for slots, key, old in reversed(log[mark:]):
            where = (id(slots), key)
            if where not in changes:
                changes[where] = (slots, slots.get(key, MISSING))
            if old is MISSING:
                slots.pop(key, None)
            else:
                slots[key] = old
        del log[mark:]
        self.marks -= 1
        return changes
