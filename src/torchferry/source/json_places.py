"""Where the values of a JSON text stand, so that one can be replaced and the rest kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]

from ..core.span import Span

_SPACE = re.compile(r"[ \t\r\n]*")
_ATOM = re.compile(r"-?\d[-+.\deE]*|true|false|null|NaN|-?Infinity")


class JsonError(ValueError):
    """A text that is no JSON."""


@dataclass(slots=True)
class Place:
    """One value: its span, and the places of what it holds."""

    span: Span
    children: dict[str | int, Place] = field(default_factory=dict)
    is_list: bool = False

    @property
    def items(self) -> list[Span] | None:
        """The spans of a list's items; None for any other value."""
        return [child.span for child in self.children.values()] if self.is_list else None

    def at(self, *path: str | int) -> Place | None:
        """The place of a value inside this one; None when there is none."""
        place: Place | None = self
        for key in path:
            place = place.children.get(key) if place is not None else None
        return place


def places(text: str) -> Place:
    """The places of all values of a JSON text; raises JsonError when it is none.

    Without recursion, so that no depth is too deep.
    """
    root = Place(Span(0, 0))
    stack: list[tuple[Place, int]] = []  # open lists and objects, with their starts
    key: str | int = ""
    position = _skip(text, 0)
    while True:
        char = text[position : position + 1]
        if char and char in "[{":
            place = Place(Span(position, position), is_list=char == "[")
            _hold(stack, root, key, place)
            stack.append((place, position))
            position = _skip(text, position + 1)
            if text[position : position + 1] not in ("]", "}"):
                key, position = _next_key(text, position, place)
                continue
        else:
            start, position = position, _scalar_end(text, position)
            _hold(stack, root, key, Place(Span(start, position)))
            position = _skip(text, position)
        while stack and text[position : position + 1] in ("]", "}"):
            place, start = stack.pop()
            place.span = Span(start, position + 1)
            position = _skip(text, position + 1)
        if not stack:
            if position != len(text):
                raise JsonError(f"unexpected text at offset {position}")
            return root.children[""]
        if text[position : position + 1] != ",":
            raise JsonError(f"a comma is missing at offset {position}")
        key, position = _next_key(text, _skip(text, position + 1), stack[-1][0])


def _hold(stack: list[tuple[Place, int]], root: Place, key: str | int, place: Place) -> None:
    (stack[-1][0] if stack else root).children[key if stack else ""] = place


def _next_key(text: str, position: int, owner: Place) -> tuple[str | int, int]:
    """The key of the next value, and where that value starts."""
    if owner.is_list:
        return len(owner.children), position
    if text[position : position + 1] != '"':
        raise JsonError(f"a key is missing at offset {position}")
    key, position = _string(text, position)
    position = _skip(text, position)
    if text[position : position + 1] != ":":
        raise JsonError(f"a colon is missing at offset {position}")
    return key, _skip(text, position + 1)


def _scalar_end(text: str, position: int) -> int:
    if text[position : position + 1] == '"':
        return _string(text, position)[1]
    found = _ATOM.match(text, position)
    if not found:
        raise JsonError(f"a value is missing at offset {position}")
    return found.end()


def _string(text: str, position: int) -> tuple[str, int]:
    try:
        value, end = scanstring(text, position + 1)
    except JSONDecodeError as error:
        raise JsonError(str(error)) from None
    return value, end


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position
