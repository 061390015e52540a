"""A cache of findings by file, so that a second run only looks at what changed.

One file for each project and set of options in `.torchferry_cache`; an entry holds as long as the
file's size and time of change are the same, and the code of torchferry is.
"""

from __future__ import annotations

import os
import pickle
import zlib
from typing import TYPE_CHECKING

from torchferry._version import __version__

if TYPE_CHECKING:
    from torchferry.core.finding import Finding

    from ._settings import Settings

_FOLDER = ".torchferry_cache"
_PARTS = ("core", "source", "torchapi", "flow", "rules")
_Entry = tuple[int, int, "list[Finding]"]


class Cache:
    """The cache of one run; nothing goes wrong when it cannot be read or written."""

    def __init__(self, settings: Settings) -> None:
        name = f"{zlib.crc32(f'{_code_stamp()}{settings.options!r}'.encode()):08x}"
        self.folder = os.path.join(settings.root, _FOLDER)
        self.file = os.path.join(self.folder, f"{name}.pickle")
        self.changed = False
        self.entries: dict[str, _Entry] = self._read()

    def _read(self) -> dict[str, _Entry]:
        try:
            with open(self.file, "rb") as file:
                entries = pickle.load(file)
        except Exception:  # missing, damaged, of another Python: then it is made anew
            return {}
        return entries if isinstance(entries, dict) else {}

    def get(self, path: str) -> list[Finding] | None:
        """The findings of a file that did not change; None when it must be checked."""
        entry = self.entries.get(path)
        if entry is None:
            return None
        try:
            now = os.stat(path)
        except OSError:
            return None
        return entry[2] if entry[:2] == (now.st_mtime_ns, now.st_size) else None

    def put(self, path: str, findings: list[Finding]) -> None:
        """Remember the findings of a file."""
        try:
            now = os.stat(path)
        except OSError:
            return
        self.entries[path] = (now.st_mtime_ns, now.st_size, findings)
        self.changed = True

    def save(self) -> None:
        """Write the cache, whole or not at all."""
        if not self.changed or len(self.entries) < 2:
            return
        try:
            os.makedirs(self.folder, exist_ok=True)
            ignore = os.path.join(self.folder, ".gitignore")
            if not os.path.exists(ignore):
                with open(ignore, "w", encoding="utf-8") as file:
                    file.write("*\n")
            other = f"{self.file}.{os.getpid()}"
            with open(other, "wb") as out:
                pickle.dump(self.entries, out, protocol=5)
            os.replace(other, self.file)
        except OSError:
            return


def _code_stamp() -> str:
    """Changes whenever the code of the checker changes."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    newest = number = 0
    for part in _PARTS:
        for folder, _, names in os.walk(os.path.join(root, part)):
            for name in names:
                if name.endswith(".py"):
                    number += 1
                    newest = max(newest, os.stat(os.path.join(folder, name)).st_mtime_ns)
    return f"{__version__}-{number}-{newest}"
