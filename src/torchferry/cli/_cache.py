"""A cache of results by file, so that a second run only looks at what changed.

One file for each project and set of options in `.torchferry_cache`. An entry holds as long as the
file, all files that it led to and the code of torchferry are the same, and as its imports would
still be found where they were.
"""

from __future__ import annotations

import os
import pickle
import zlib
from typing import TYPE_CHECKING

from torchferry._version import __version__
from torchferry.source.project import Store, find_path, stamp_of

if TYPE_CHECKING:
    from torchferry.source.project import Stamp

    from ._merging import FileResult
    from ._settings import Settings

_FOLDER = ".torchferry_cache"
_PARTS = ("core", "source", "torchapi", "flow", "rules")


class Cache:
    """The cache of one run; nothing goes wrong when it cannot be read or written."""

    def __init__(self, settings: Settings) -> None:
        what = f"{_code_stamp()}{settings.options!r}{os.getcwd()}"
        name = f"{zlib.crc32(what.encode('utf-8', 'replace')):08x}"
        self.folder = os.path.join(settings.root, _FOLDER)
        self.file = os.path.join(self.folder, f"{name}.pickle")
        self.changed = False
        self.entries: dict[str, FileResult] = self._read()
        self._store = Store()
        self._stamps: dict[str, Stamp] = {}
        self._found: dict[tuple[str, str, tuple[str, ...]], str | None] = {}

    def _read(self) -> dict[str, FileResult]:
        try:
            with open(self.file, "rb") as file:
                entries = pickle.load(file)
        except Exception:  # missing, damaged, of another Python: then it is made anew
            return {}
        return entries if isinstance(entries, dict) else {}

    def get(self, path: str) -> FileResult | None:
        """The result of a file when nothing that it is made of changed; None otherwise."""
        entry = self.entries.get(path)
        if entry is None or entry.stamp != self._stamp(path):
            return None
        for other, stamp in entry.stamps.items():
            if stamp != self._stamp(other):
                return None
        for (module, folder), found in entry.asked.items():
            if self._find(module, folder, entry.folders) != found:
                return None
        return entry

    def _stamp(self, path: str) -> Stamp:
        found = self._stamps.get(path)
        if found is None:
            found = self._stamps[path] = stamp_of(path)
        return found

    def _find(self, module: str, folder: str, folders: tuple[str, ...]) -> str | None:
        key = module, folder, folders
        if key not in self._found:
            self._found[key] = find_path(self._store, *key)
        return self._found[key]

    def put(self, result: FileResult) -> None:
        """Remember the result of a file that could be read."""
        if result.error is None and result.stamp[0]:
            self.entries[result.path] = result
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
