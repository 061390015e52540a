"""Bytes to text and back, without losing one: byte order marks, coding cookies (PEP 263)."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from ..core.errors import UnreadableSource

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_FOREIGN_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class Decoded(NamedTuple):
    """The text of a file without its byte order mark, and how it was written."""

    text: str
    encoding: str
    bom: bytes


def decode(data: bytes, path: str) -> Decoded:
    """Decode Python source as the interpreter does.

    Raises UnreadableSource for what is not text: null bytes, UTF-16, an unknown or wrong encoding.
    """
    for mark, name in _FOREIGN_MARKS:
        if data.startswith(mark):
            raise UnreadableSource(path, f"{name} text; Python reads UTF-8, so save it as UTF-8")
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    body = data[len(bom) :]
    if b"\0" in body:
        where = body.index(b"\0") + len(bom)
        raise UnreadableSource(path, f"not a text file (null byte at offset {where})")
    encoding = _encoding(body, bom, path)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableSource(path, *_undecodable(body, error, encoding)) from None
    except (LookupError, ValueError) as error:
        reason = f"cannot be decoded as {encoding}: {error}"
        raise UnreadableSource(path, reason) from None
    return Decoded(text, encoding, bom)


def _encoding(body: bytes, bom: bytes, path: str) -> str:
    """The name of the encoding that the first two lines ask for, else utf-8."""
    cookie, line = _cookie(body)
    if cookie is None:
        return "utf-8"
    name = cookie.decode("ascii", "replace")
    try:
        info = codecs.lookup(name)
    except LookupError:
        raise UnreadableSource(
            path, f"unknown encoding {name!r} in its coding cookie", line
        ) from None
    if not getattr(info, "_is_text_encoding", True):
        raise UnreadableSource(path, f"the coding cookie names {name!r}, no text encoding", line)
    if bom and info.name not in ("utf-8", "utf-8-sig"):
        reason = f"a UTF-8 byte order mark, but the coding cookie says {name!r}"
        raise UnreadableSource(path, reason, line)
    return "utf-8" if info.name == "utf-8-sig" else name


def _cookie(body: bytes) -> tuple[bytes | None, int]:
    start = 0
    for line in (1, 2):
        end = _LINE_END.search(body, start)
        text = body[start : end.start()] if end else body[start:]
        found = _COOKIE.match(text)
        if found:
            return found.group(1), line
        if end is None or not _BLANK.match(text):
            return None, 0
        start = end.end()
    return None, 0


def _undecodable(body: bytes, error: UnicodeDecodeError, encoding: str) -> tuple[str, int]:
    line = len(_LINE_END.findall(body, 0, error.start)) + 1
    byte = body[error.start]
    reason = f"byte 0x{byte:02x} is not {encoding}"
    if encoding == "utf-8":
        reason += ", and no coding cookie names another encoding"
    return reason, line
