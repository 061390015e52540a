"""A few lines of source with a place underlined."""

from __future__ import annotations

from torchferry.core.span import Location
from torchferry.source.document import Document

_TAB = "    "


def code_frame(doc: Document, location: Location, margin: int = 0) -> str:
    """The line of a place, underlined, with `margin` lines around it.

    A place of several lines is underlined on its first one. Tabs are widened and control
    characters hidden, so that the marks stand below what they mean.
    """
    last = len(doc.line_starts)
    lines = range(max(1, location.line - margin), min(last, location.line + margin) + 1)
    width = len(str(lines[-1]))
    frame = []
    for line in lines:
        text = doc.line_text(line)
        frame.append(f"{line:>{width}} | {_shown(text)}".rstrip())
        if line == location.line:
            end = location.end_column if location.end_line == line else len(text) + 1
            before = _shown(text[: location.column - 1])
            marked = _shown(text[location.column - 1 : end - 1])
            frame.append(f"{'':>{width}} | {' ' * _width(before)}{'^' * max(1, _width(marked))}")
    return "\n".join(frame)


def _shown(text: str) -> str:
    text = text.replace("\t", _TAB)
    return "".join(char if char.isprintable() or char == " " else "\ufffd" for char in text)


def _width(text: str) -> int:
    """Columns of a terminal: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
