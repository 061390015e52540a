"""Unified diffs that `patch` and `git apply` take, exact about line ends."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

_NO_NEWLINE = "\\ No newline at end of file\n"


def unified_diff(before: str, after: str, path: str, new_path: str | None = None) -> str:
    """The diff of two texts; "" when they are equal. Lines end at \\n, as for `patch`."""
    lines = difflib.unified_diff(
        _lines(before), _lines(after), _label(path), _label(new_path or path), n=3
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


def _lines(text: str) -> list[str]:
    return list(_split(text))


def _split(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _label(path: str) -> str:
    return path.replace("\n", "\\n").replace("\r", "\\r")
