"""Which files to read: names and folders in, files and one error for each that cannot be had."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

from ..core.errors import SourceError, UnreadableSource

STDIN = "-"
NOTEBOOK = ".ipynb"
SUFFIXES = (".py", NOTEBOOK)

#: Folders that never hold the user's own source. Hidden ones and environments are left out too.
SKIPPED_FOLDERS = frozenset(
    [
        "__pycache__",
        "__pypackages__",
        "build",
        "dist",
        "env",
        "node_modules",
        "site-packages",
        "venv",
    ]
)


@dataclass(slots=True)
class Discovery:
    """The files, each once, in the order of the arguments and of names; and what went wrong."""

    files: list[str] = field(default_factory=list)
    errors: list[SourceError] = field(default_factory=list)


def discover(
    paths: Iterable[str], exclude: Sequence[str] = (), suffixes: Sequence[str] = SUFFIXES
) -> Discovery:
    """Find Python files. A file that is named is taken whatever its name; `-` is passed through.

    Folders are searched for names that end in one of `suffixes`. `exclude` holds shell patterns,
    matched against each name and each path below a named folder; what was named itself is kept.
    """
    found = Discovery()
    walk = _Walk(found, tuple(exclude), tuple(suffixes))
    for path in paths:
        if path == STDIN:
            walk.add(path, path)
        elif os.path.isdir(path):
            walk.folder(path)
        elif os.path.lexists(path):
            walk.file(path)
        else:
            found.errors.append(UnreadableSource(path, "no such file or folder"))
    return found


class _Walk:
    def __init__(
        self, found: Discovery, exclude: tuple[str, ...], suffixes: tuple[str, ...]
    ) -> None:
        self.found, self.exclude, self.suffixes = found, exclude, suffixes
        self.seen: set[str] = set()
        self.folders: set[str] = set()

    def add(self, path: str, identity: str) -> None:
        if identity not in self.seen:
            self.seen.add(identity)
            self.found.files.append(path)

    def fail(self, path: str, reason: str) -> None:
        self.found.errors.append(UnreadableSource(path, reason))

    def file(self, path: str) -> None:
        """A file or link that is no folder."""
        if os.path.islink(path) and not os.path.exists(path):
            self.fail(path, _broken(path))
        else:
            self.add(path, os.path.realpath(path))

    def folder(self, root: str) -> None:
        """All that is below a folder; without recursion, so that no depth is too deep."""
        pending = [(root, os.path.realpath(root))]
        while pending:
            path, real = pending.pop()
            if real in self.folders:
                continue
            self.folders.add(real)
            try:
                with os.scandir(path) as entries:
                    inside = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self.fail(path, f"folder cannot be read: {reason_of(error)}")
                continue
            below = list(self._entries(root, inside, real))
            pending += reversed(below)

    def _entries(
        self, root: str, entries: list[os.DirEntry[str]], real: str
    ) -> Iterator[tuple[str, str]]:
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            return  # a virtual environment, whatever its name
        for entry in entries:
            if entry.name.startswith(".") or self._excluded(root, entry):
                continue
            path = entry.path.removeprefix(os.curdir + os.sep)
            link = entry.is_symlink()
            target = os.path.realpath(entry.path) if link else os.path.join(real, entry.name)
            if _is_folder(entry):
                if link and _leads_back(target, real):
                    self.fail(path, "symbolic link to a folder that it is in")
                elif entry.name not in SKIPPED_FOLDERS and not entry.name.endswith(".egg-info"):
                    yield path, target
            elif entry.name.endswith(self.suffixes):
                if link and not os.path.exists(entry.path):
                    self.fail(path, _broken(path))
                elif link or entry.is_file():
                    self.add(path, target)
                else:
                    self.fail(path, "neither a file nor a folder")

    def _excluded(self, root: str, entry: os.DirEntry[str]) -> bool:
        if not self.exclude:
            return False
        return _matches(entry.name, os.path.relpath(entry.path, root), self.exclude)


def excluded(path: str, exclude: Sequence[str]) -> bool:
    """Whether a search from the current folder would have left a file out."""
    parts = os.path.normpath(path).split(os.sep)
    if not SKIPPED_FOLDERS.isdisjoint(parts):
        return True
    below = [os.sep.join(parts[: n + 1]) for n in range(len(parts))]
    return any(_matches(name, path, exclude) for name, path in zip(parts, below, strict=True))


def _matches(name: str, below: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) or fnmatch(below, pattern) for pattern in patterns)


def reason_of(error: OSError) -> str:
    """The system's own words for an error, without the number and the path."""
    return (error.strerror or str(error)).lower()


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _leads_back(target: str, real: str) -> bool:
    return (real + os.sep).startswith(target.rstrip(os.sep) + os.sep)


def _broken(path: str) -> str:
    try:
        os.stat(path)
    except OSError as error:
        return f"broken symbolic link: {reason_of(error)}"
    return "broken symbolic link"
