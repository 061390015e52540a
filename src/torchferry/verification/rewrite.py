"""The migrated program that a verification runs: other contents for some files of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from torchferry.core.errors import UnreadableSource


@dataclass(frozen=True, slots=True)
class Rewrite:
    """New contents by absolute path, and the lines (from 1, of the new text) that differ."""

    files: Mapping[Path, bytes]
    edited_lines: Mapping[Path, tuple[int, ...]]

    @property
    def changed(self) -> bool:
        """Whether any line differs."""
        return any(self.edited_lines.values())

    @property
    def texts(self) -> dict[str, str]:
        """The new contents as text, for showing."""
        return {str(path): data.decode("utf-8", "replace") for path, data in self.files.items()}


def rewrite_of(files: Mapping[Path, bytes]) -> Rewrite:
    """A rewrite of files that exist. Raises UnreadableSource."""
    lines = {path: edited_lines(read_source(path), after) for path, after in files.items()}
    return Rewrite(
        {path: after for path, after in files.items() if read_source(path) != after}, lines
    )


def read_source(path: Path) -> bytes:
    """The bytes of a source file. Raises UnreadableSource."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableSource(str(path), error.strerror or "cannot be read") from None


def edited_lines(before: bytes, after: bytes) -> tuple[int, ...]:
    """The lines of `after` that `before` does not have, from 1.

    Where a migration only removed lines, the line that follows stands for them.
    """
    old, new = before.splitlines(), after.splitlines()
    found: set[int] = set()
    for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "delete" and new:
            found.add(min(start + 1, len(new)))
        elif tag != "equal":
            found.update(range(start + 1, end + 1))
    return tuple(sorted(found))
