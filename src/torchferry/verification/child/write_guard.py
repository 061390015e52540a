"""Keeps the user's files as they are while a program runs in a copy of its folder.

A write to a file of the user is refused: anything in the folder that was copied, reached by an
absolute path, and any existing file elsewhere outside caches and temporary folders. A file that was
too large to copy is a link in the copy; it is copied at the moment the program opens it to write.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: audit event -> which of its arguments are paths that it changes
_CHANGES: dict[str, tuple[int, ...]] = {
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.truncate": (0,),
    "shutil.rmtree": (0,),
    "sqlite3.connect": (0,),
}
_FREE = ("/dev", "/proc", "/sys")


#: what the refusal says: to tell it from the system's own
REFUSAL = "torchferry runs the program on a copy and keeps this file as it is"


class WriteGuard:
    """Installed once in a process; `on_refusal` hears of each refused path."""

    def __init__(self, protected: str, writable: str, on_refusal: Callable[[str], None]) -> None:
        self.protected, self.writable = protected, writable
        self.on_refusal = on_refusal
        self.home = os.path.realpath(os.path.expanduser("~"))
        self.free = tuple(os.path.realpath(path) for path in (*_FREE, *_scratch_folders()))

    def install(self) -> None:
        """Begin to watch Python's file operations."""
        sys.addaudithook(self._on_event)

    def allow(self, path: Any) -> None:
        """Make `path` fit to be written; PermissionError where it is the user's."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        name = os.path.abspath(os.fsdecode(path))
        real = os.path.realpath(name)
        if _inside(real, self.writable):
            return
        if _inside(name, self.writable) and os.path.islink(name) and os.path.isfile(real):
            _copy_in_place(name, real)
            return
        if _inside(real, self.protected) or (os.path.exists(real) and not self._is_free(real)):
            self.on_refusal(real)
            raise PermissionError(errno.EACCES, REFUSAL, real)

    def _is_free(self, real: str) -> bool:
        """Whether a file is a cache, temporary, or the state of an application ("~/.name/...")."""
        if any(_inside(real, folder) for folder in self.free) or not os.path.isfile(real):
            return True
        return real.startswith(os.path.join(self.home, "."))

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if isinstance(mode, str):
                writes = any(letter in mode for letter in "wax+")
            else:
                writes = bool((flags or 0) & _WRITES)
            if writes:
                self.allow(path)
        elif event in _CHANGES:
            for at in _CHANGES[event]:
                self._allow_entry(arguments[at])

    def _allow_entry(self, path: Any) -> None:
        """As `allow`, for what changes a folder's entry: a link may go, its target stays."""
        if isinstance(path, (str, bytes, os.PathLike)):
            name = os.path.abspath(os.fsdecode(path))
            folder = os.path.realpath(os.path.dirname(name))
            if _inside(folder, self.writable):
                return
        self.allow(path)

    def watch_torch(self) -> None:
        """Watch torch.save too, which opens its file in C++: no audit event tells that."""
        from torch import serialization

        writer = getattr(serialization, "_open_zipfile_writer_file", None)
        if writer is None:
            return
        plain = writer.__init__

        def guarded(self_: Any, name: Any, *args: Any, **kwargs: Any) -> None:
            self.allow(name)
            plain(self_, name, *args, **kwargs)

        writer.__init__ = guarded


def _inside(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip(os.sep) + os.sep))


def _copy_in_place(link: str, target: str) -> None:
    os.unlink(link)
    shutil.copy2(target, link)


def _scratch_folders() -> Iterator[str]:
    """Where programs and libraries keep caches and temporary files."""
    yield tempfile.gettempdir()
    for variable in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TORCH_HOME", "HF_HOME", "MPLCONFIGDIR"):
        if os.environ.get(variable):
            yield os.environ[variable]
