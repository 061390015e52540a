"""Copies of the user's working folder: each run starts from the same files, and none is the user's.

The folder that is copied (the root) is the project around the script and the current folder. All
runs of a verification use one and the same path, so that a path printed by the program is the same.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from torchferry.core.errors import UsageError

#: larger files are linked, and copied only when the program opens them to write
LINKED_FROM = 64 << 20
MOST_BYTES = 4 << 30
MOST_FILES = 20_000

# fmt: off
_SKIPPED = frozenset((
    ".git", ".hg", ".svn", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache",
    "__pycache__", "node_modules", ".ipynb_checkpoints",
))
# fmt: on
_MARKERS = (".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True, slots=True)
class Survey:
    """How much a copy of a folder would take."""

    files: int
    nbytes: int

    @property
    def too_much(self) -> bool:
        """Whether it is more than a verification copies."""
        return self.files > MOST_FILES or self.nbytes > MOST_BYTES


def survey(root: Path) -> Survey:
    """Count what a copy of `root` would hold, until it is too much."""
    files = nbytes = 0
    for path in _walk(root):
        status = os.lstat(path)
        files += 1
        if stat.S_ISREG(status.st_mode) and status.st_size < LINKED_FROM:
            nbytes += status.st_size
        if files > MOST_FILES or nbytes > MOST_BYTES:
            break
    return Survey(files, nbytes)


def choose_root(script: Path, cwd: Path, wanted: Path | None = None) -> Path:
    """The folder to copy: `wanted`, or the project that holds script and cwd, or only those two.

    All paths are absolute. Raises UsageError where what would have to be copied is too much.
    """
    if wanted is not None:
        if not script.is_relative_to(wanted):
            raise UsageError(f"{script} is not in the folder {wanted}")
        return wanted
    both = Path(os.path.commonpath([script.parent, cwd]))
    candidates = [root for root in (_project(both), both) if root is not None]
    if script.parent not in candidates:
        candidates.append(script.parent)
    for root in candidates:
        if root != Path(root.anchor) and root != Path.home() and not survey(root).too_much:
            return root
    raise UsageError(
        f"{candidates[-1]} holds more than {MOST_FILES:,} files or {MOST_BYTES >> 30} GiB, too "
        "much to run the program on copies of it: name a smaller folder that holds all it needs "
        "by --root"
    )


def _project(folder: Path) -> Path | None:
    for above in (folder, *folder.parents):
        if above in (Path.home(), Path(above.anchor)):
            return None
        if any((above / marker).exists() for marker in _MARKERS):
            return above
    return None


class Scratch:
    """A folder with room for one copy of `root`; removed by `close` unless it is kept."""

    def __init__(self, root: Path, cwd: Path) -> None:
        self.root = root
        self.base = Path(os.path.commonpath([root, cwd]))
        self.cwd = cwd
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="torchferry-")))
        self.work = self.folder / "work"
        self.temporary = self.folder / "tmp"
        self._changed: frozenset[Path] = frozenset()

    def fresh_copy(self, changed: Mapping[Path, str | bytes]) -> None:
        """Copy the root anew; `changed` gives other contents for some of its files."""
        self._changed = frozenset(changed)
        for folder in (self.work, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        self.inner(self.cwd).mkdir(parents=True, exist_ok=True)
        target = self.inner(self.root)
        target.mkdir(parents=True, exist_ok=True)
        for path in _walk(self.root, self.folder):
            _copy(path, target / path.relative_to(self.root), self)
        for path, content in changed.items():
            data = content.encode("utf-8") if isinstance(content, str) else content
            inner = self.inner(path)
            inner.unlink(missing_ok=True)
            inner.write_bytes(data)

    def inner(self, path: Path) -> Path:
        """Where a file of the user stands in the copy."""
        return self.work / path.relative_to(self.base)

    def outer_text(self, text: str) -> str:
        """`text` with paths of the copy turned into the user's."""
        return text.replace(str(self.work), str(self.base).rstrip(os.sep))

    def inner_path_list(self, value: str) -> str:
        """A search path (PYTHONPATH) with entries in the root turned into those of the copy."""
        entries = []
        for entry in value.split(os.pathsep):
            path = Path(os.path.abspath(entry)) if entry and os.path.isabs(entry) else None
            entries.append(
                str(self.inner(path)) if path and path.is_relative_to(self.root) else entry
            )
        return os.pathsep.join(entries)

    def new_files(self) -> tuple[str, ...]:
        """Files that the run made or changed, as paths in the root."""
        top = self.inner(self.root)
        found = []
        for path in _walk(top):
            within = path.relative_to(top)
            if self.root / within in self._changed:
                continue
            status, before = os.lstat(path), _status(self.root / within)
            if stat.S_ISDIR(status.st_mode):
                continue
            if before is None or (
                not stat.S_ISLNK(status.st_mode)
                and (before.st_size, before.st_mtime_ns) != (status.st_size, status.st_mtime_ns)
            ):
                found.append(str(within))
        return tuple(sorted(found))

    def keep_copy(self, name: str) -> None:
        """Move the copy aside, under `name`."""
        shutil.move(str(self.work), str(self.folder / name / "work"))

    def results(self, name: str) -> Path:
        """A new folder for the outputs of the run `name`."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _walk(root: Path, left_out: Path | None = None) -> Iterator[Path]:
    """Files and links below `root`, what is no part of a program left out."""
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED
            and name not in links
            and here / name != left_out
            and not (here / name / "pyvenv.cfg").exists()
        )
        yield from (here / name for name in sorted(files + links))
        if not files and not links and not folders and here != root:
            yield here


def _copy(path: Path, target: Path, scratch: Scratch) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            _copy_link(path, target, scratch)
        elif stat.S_ISDIR(status.st_mode):
            target.mkdir(exist_ok=True)
        elif stat.S_ISREG(status.st_mode):
            if status.st_size >= LINKED_FROM:
                _link(path, target)
            else:
                shutil.copy2(path, target)
    except PermissionError:
        pass  # what cannot be read is no input of the program


def _copy_link(path: Path, target: Path, scratch: Scratch) -> None:
    """A link inside the root leads into the copy, any other to where it led."""
    aim = Path(os.path.abspath(path.parent / os.readlink(path)))
    _link(scratch.inner(aim) if aim.is_relative_to(scratch.root) else aim, target)


def _link(aim: Path, target: Path) -> None:
    try:
        target.symlink_to(aim)
    except OSError:  # a system that lets only administrators link
        if aim.is_file():
            shutil.copy2(aim, target)


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
