"""Which line of the user's program is running: cheap to note, resolved only when read."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from types import CodeType, FrameType

import torch

import torchferry
from torchferry.trace import Place


def _folder(path: str | None) -> str:
    return os.path.join(os.path.abspath(path or os.devnull), "")


_OWN_FOLDER = _folder(os.path.dirname(torchferry.__file__))

#: Folders whose frames are never the user's.
_INTERNAL_FOLDERS = tuple(
    {
        _folder(os.path.dirname(torch.__file__)),
        _OWN_FOLDER,
        _folder(sysconfig.get_path("purelib")),
        _folder(sysconfig.get_path("platlib")),
        _folder(sysconfig.get_path("stdlib")),
        _folder(os.path.dirname(os.__file__)),
    }
)


class _InternalFiles(dict[str, bool]):
    """Finds out about a file when it is first asked for."""

    def __missing__(self, filename: str) -> bool:
        known = filename.startswith(("<frozen", "<__array_function__"))
        if filename != "<string>":
            known = known or os.path.abspath(filename).startswith(_INTERNAL_FOLDERS)
            known = known or "site-packages" in filename or "dist-packages" in filename
        self[filename] = known
        return known


#: File name of a code object -> True if it is not the user's.
internal_files = _InternalFiles()


def is_internal(filename: str) -> bool:
    """True for files of torch, torchferry, the standard library and installed packages."""
    return internal_files[filename]


def caller(depth: int) -> FrameType:
    """The frame so far below; the caller's own in a thread of C++, where nothing is below."""
    try:
        return sys._getframe(depth + 1)
    except ValueError:
        return sys._getframe(1)


def user_frame(depth: int = 1) -> FrameType | None:
    """Innermost frame of the user's program; the outermost frame if there is none."""
    frame: FrameType | None = caller(depth)
    last = frame
    while frame is not None:
        if not internal_files[frame.f_code.co_filename]:
            return frame
        last, frame = frame, frame.f_back
    return last


def called_directly(start: FrameType, code: CodeType | None) -> bool:
    """True where no other code than torchferry's runs between `start` and its caller in `code`."""
    frame: FrameType | None = start
    while frame is not None and frame.f_code is not code:
        if not frame.f_code.co_filename.startswith(_OWN_FOLDER):
            return False
        frame = frame.f_back
    return frame is not None


def user_stack(frame: FrameType | None, limit: int = 20) -> tuple[Place, ...]:
    """Places of the user's frames, innermost first."""
    places: list[Place] = []
    while frame is not None and len(places) < limit:
        if not is_internal(frame.f_code.co_filename):
            place = place_of(frame.f_code, frame.f_lasti)
            if place is not None:
                places.append(place)
        frame = frame.f_back
    return tuple(places)


def line_of(code: CodeType, lasti: int) -> int:
    """Line of the instruction at `lasti`; the first line of the code if unknown."""
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= lasti < end and number is not None:
            line = number
            break
    return line


def place_of(code: CodeType | None, lasti: int) -> Place | None:
    """Place of an instruction, with the text of its line."""
    if code is None:
        return None
    line = line_of(code, lasti)
    source = linecache.getline(code.co_filename, line).strip()
    return Place(code.co_filename, line, code.co_name, source)
