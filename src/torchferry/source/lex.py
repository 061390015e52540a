"""A small scanner for Python source that is known to be valid: strings, comments, brackets.

Much quicker than `tokenize` because it can start at any statement and stop anywhere. Strings are
read by the rules of Python 3.12 (f-strings nest), which read every older string right too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\f]+)
   |(?P<newline>\r\n|\r|\n)
   |(?P<continuation>\\(?:\r\n|\r|\n))
   |(?P<comment>\#[^\r\n]*)
   |(?P<string>(?:[rRbBuUfFtT]{1,2})?(?:\"\"\"|'''|"|'))
   |(?P<name>[^\W\d]\w*)
   |(?P<number>0[xX][\da-fA-F_]+|0[bBoO][\d_]+
       |(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?)
   |(?P<open>[(\[{])
   |(?P<close>[)\]}])
   |(?P<op>\*\*=?|//=?|<<=?|>>=?|->|\.\.\.|[-+*/%@&|^=<>!:]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_TRIVIA = re.compile(r"(?:[ \t\f\r\n]+|\\(?:\r\n|\r|\n)|#[^\r\n]*)*")
_MARKS = re.compile(r"#|\"\"\"|'''|\"|'")
_PREFIX = re.compile(r"(?<!\w)[rRbBuUfFtT]{1,2}\Z")
_REST = {
    '"': re.compile(r'[^"\\\r\n]*(?:\\(?:\r\n|.)[^"\\\r\n]*)*"', re.DOTALL),
    "'": re.compile(r"[^'\\\r\n]*(?:\\(?:\r\n|.)[^'\\\r\n]*)*'", re.DOTALL),
    '"""': re.compile(r'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""', re.DOTALL),
    "'''": re.compile(r"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''", re.DOTALL),
}
_NAME = re.compile(r"[^\W\d]\w*")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


class Lexeme(NamedTuple):
    """A token: its kind is a group name of `_TOKEN` (never "space")."""

    kind: str
    start: int
    end: int


def lexemes(text: str, start: int, end: int) -> Iterator[Lexeme]:
    """The tokens of `text[start:end]`, spaces left out; `start` must lie outside of a string."""
    position, match = start, _TOKEN.match
    while position < end:
        found = match(text, position)
        assert found is not None
        assert found.lastgroup is not None
        kind, stop = found.lastgroup, found.end()
        if kind == "string":
            stop = _string_end(text, position, stop)
        if kind != "space":
            yield Lexeme(kind, position, stop)
        position = stop


def skip_trivia(text: str, position: int) -> int:
    """The next place that is no white space, comment, line end or continuation."""
    found = _TRIVIA.match(text, position)
    return found.end() if found else position


def is_trivia(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]`, which begins outside of strings, holds no token."""
    found = _TRIVIA.match(text, start, end)
    return found is not None and found.end() == end


def is_word(char: str) -> bool:
    """Whether a character (or "" at the end of a text) can be part of a name."""
    return char == "_" or char.isalnum()


def comments(text: str) -> Iterator[Lexeme]:
    """All comments of a text."""
    for kind, start, end in _marks(text):
        if kind == "comment":
            yield Lexeme(kind, start, end)


def code_names(text: str, name: str) -> Iterator[tuple[int, int, str]]:
    """Each use of `name` outside of strings and comments: start, end, and the name that follows."""
    last = 0
    for start, end in [*((mark[1], mark[2]) for mark in _marks(text)), (len(text), len(text))]:
        position = text.find(name, last, start)
        while position >= 0:
            found = _NAME.match(text, position, start)
            whole = found is not None and found.group() == name
            if whole and not is_word(text[position - 1 : position]):
                after = skip_trivia(text, position + len(name))
                following = _NAME.match(text, after)
                yield position, position + len(name), following.group() if following else ""
            position = text.find(name, position + len(name), start)
        last = end


def _marks(text: str) -> Iterator[tuple[str, int, int]]:
    """Comments and strings (prefix left out of the start), in order."""
    position = 0
    while True:
        found = _MARKS.search(text, position)
        if found is None:
            return
        start, mark = found.start(), found.group()
        if mark == "#":
            end = _line_end(text, start)
            yield "comment", start, end
        else:
            prefix = _PREFIX.search(text, max(0, start - 3), start)
            end = _string_end(text, prefix.start() if prefix else start, found.end())
            yield "string", start, end
        position = end


def _line_end(text: str, start: int) -> int:
    ends = [place for place in (text.find("\n", start), text.find("\r", start)) if place >= 0]
    return min(ends, default=len(text))


def _string_end(text: str, start: int, body: int) -> int:
    """The end of the string whose prefix and quotes are `text[start:body]`."""
    head = text[start:body]
    quote = head.lstrip("rRbBuUfFtT")
    prefix = head[: len(head) - len(quote)].lower()
    if "f" in prefix or "t" in prefix:
        end = _template_end(text, body, quote, raw="r" in prefix)
        if end is not None:
            return end
    found = _REST[quote].match(text, body)
    if found:
        return found.end()
    return _line_end(text, body) if len(quote) == 1 else len(text)


def _template_end(text: str, position: int, quote: str, raw: bool) -> int | None:
    """The end of an f-string whose literal part goes on at `position`; None when it has none."""
    size = len(text)
    while position < size:
        char = text[position]
        if char == "\\":
            position = _after_backslash(text, position, raw)
        elif text.startswith(quote, position):
            return position + len(quote)
        elif char == "{":
            if text.startswith("{{", position):
                position += 2
                continue
            after = _field_end(text, position + 1, quote, raw)
            if after is None:
                return None
            position = after
        elif char in "\r\n" and len(quote) == 1:
            return None
        else:
            position += 1
    return None


def _after_backslash(text: str, position: int, raw: bool) -> int:
    if not raw and text.startswith("N{", position + 1):
        end = text.find("}", position)
        return end + 1 if end >= 0 else position + 1
    if text.startswith("\r\n", position + 1):
        return position + 3
    return position + (1 if text[position + 1 : position + 2] in "{}" else 2)


def _field_end(text: str, position: int, quote: str, raw: bool) -> int | None:
    """The end of a replacement field `{expression!r:spec}` whose expression starts here."""
    closers: list[str] = []
    size = len(text)
    while position < size:
        char = text[position]
        if not closers and char == "}":
            return position + 1
        if not closers and char == ":":
            return _spec_end(text, position + 1, quote, raw)
        found = _TOKEN.match(text, position)
        assert found is not None
        if found.lastgroup == "string":
            position = _string_end(text, position, found.end())
            continue
        if found.lastgroup == "open":
            closers.append(_CLOSERS[char])
        elif found.lastgroup == "close" and (not closers or closers.pop() != char):
            return None
        position = found.end()
    return None


def _spec_end(text: str, position: int, quote: str, raw: bool) -> int | None:
    """The end of a format spec, past the brace that closes its field."""
    size = len(text)
    while position < size:
        char = text[position]
        if char == "}":
            return position + 1
        if char == "{":
            after = _field_end(text, position + 1, quote, raw)
            if after is None:
                return None
            position = after
        elif text.startswith(quote, position):
            return None
        elif char == "\\":
            position = _after_backslash(text, position, raw)
        else:
            position += 1
    return None
