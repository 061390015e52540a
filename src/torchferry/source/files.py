"""Reading a file whole, and writing it so that no moment shows half of it."""

from __future__ import annotations

import os
import stat
import sys

from ..core.errors import UnreadableSource
from .discovery import NOTEBOOK, STDIN, reason_of
from .document import Document


def load(path: str) -> Document:
    """Read a file, or standard input for `-`; raises UnreadableSource with a clear reason."""
    if path.endswith(NOTEBOOK):
        from .notebook import NotebookDocument

        return NotebookDocument.from_bytes(read_bytes(path), path)
    return Document.from_bytes(read_bytes(path), "<stdin>" if path == STDIN else path)


def read_bytes(path: str) -> bytes:
    """All bytes of a file. Devices are refused: some have no end."""
    if path == STDIN:
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
                raise UnreadableSource(path, "not a regular file")
            return file.read()
    except IsADirectoryError:
        raise UnreadableSource(path, "a folder, not a file") from None
    except FileNotFoundError:
        broken = os.path.islink(path)
        reason = "broken symbolic link" if broken else "no such file"
        raise UnreadableSource(path, reason) from None
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise UnreadableSource(path, f"cannot be read: {reason}") from None


def write_bytes(path: str, data: bytes, expected: bytes | None = None) -> None:
    """Replace a file's content in one step; its mode and a symbolic link to it are kept.

    `expected` is what the file held when it was read: a file that changed since is not
    overwritten. Raises UnreadableSource when it cannot be written; the old content is then whole.
    """
    target = os.path.realpath(path)
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    except OSError as error:
        raise UnreadableSource(path, f"cannot be written: {reason_of(error)}") from None
    if old is not None and not os.access(target, os.W_OK):
        raise UnreadableSource(path, "cannot be written: the file is read-only")
    if expected is not None and (old is None or read_bytes(target) != expected):
        raise UnreadableSource(path, "not written: the file changed since it was read")
    try:
        _replace(target, data, old)
    except OSError as error:
        raise UnreadableSource(path, f"cannot be written: {reason_of(error)}") from None


def _replace(target: str, data: bytes, old: os.stat_result | None) -> None:
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{os.getpid()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
            _keep_owner(temporary, old)
        else:
            os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _keep_owner(path: str, old: os.stat_result) -> None:
    if not hasattr(os, "chown"):
        return
    new = os.stat(path)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(path, old.st_uid, old.st_gid)
        except OSError:
            return  # only a privileged user may give files away


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
