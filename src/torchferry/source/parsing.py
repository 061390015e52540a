"""Text to tree, with the identifiers that Python 3.7 made keywords, and errors for people."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from typing import NamedTuple

from ..core.errors import UnparsableSource
from ..core.span import Span
from .lex import code_names

_MASK = "asynk"  # as long as "async", so that every offset stays


class Parsed(NamedTuple):
    """A tree; `masked` are the places of `async` used as an identifier, as before Python 3.7."""

    tree: ast.Module
    masked: tuple[Span, ...]


def parse(text: str, path: str) -> Parsed:
    """Parse Python 3 source; `async` as a name (`.cuda(async=True)`) is understood.

    Raises UnparsableSource with the line and the reason.
    """
    try:
        return Parsed(_parse(text, path), ())
    except SyntaxError as error:
        if "async" in text:
            masked = _legacy_async(text)
            if masked:
                try:
                    tree = _parse(_mask(text, masked), path)
                except SyntaxError as second:
                    raise _explained(second, text, path) from None
                _unmask(tree)
                return Parsed(tree, masked)
        raise _explained(error, text, path) from None


def compile_text(text: str, path: str) -> None:
    """Raise UnparsableSource unless the text compiles (top-level await is allowed, as in cells)."""
    masked = _legacy_async(text) if "async" in text else ()
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        _guarded_compile(text, path, flags)
    except SyntaxError as error:
        if not masked:
            raise _explained(error, text, path) from None
        try:
            _guarded_compile(_mask(text, masked), path, flags)
        except SyntaxError as second:
            raise _explained(second, text, path) from None


def _parse(text: str, path: str) -> ast.Module:
    tree = _guarded_compile(text, path, ast.PyCF_ONLY_AST)
    assert isinstance(tree, ast.Module)
    return tree


def _guarded_compile(text: str, path: str, flags: int) -> object:
    """`compile` that is silent, and whose only other outcome is SyntaxError or UnparsableSource."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile(text, "<source>", "exec", flags, dont_inherit=True)
        except SyntaxError:
            raise
        except (RecursionError, MemoryError):
            raise UnparsableSource(path, "nested too deeply for Python's own parser") from None
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            raise UnparsableSource(path, "a lone surrogate, which no file can hold", line) from None
        except (ValueError, OverflowError) as error:
            raise UnparsableSource(path, str(error)) from None


def _legacy_async(text: str) -> tuple[Span, ...]:
    """The places where `async` is a name, not the keyword before `def`, `for` or `with`."""
    found = []
    for start, end, following in code_names(text, "async"):
        if following not in ("def", "for", "with"):
            found.append(Span(start, end))
    return tuple(found)


def _mask(text: str, spans: tuple[Span, ...]) -> str:
    parts, last = [], 0
    for span in spans:
        parts += [text[last : span.start], _MASK]
        last = span.end
    return "".join([*parts, text[last:]])


def _unmask(tree: ast.Module) -> None:
    """Give the masked identifiers their own name back, so that nobody else meets the mask."""
    for node in ast.walk(tree):
        for field in node._fields:
            if getattr(node, field, None) == _MASK:
                setattr(node, field, "async")


# Lines that only Python 2 can read, tried where the parser stopped and then anywhere.
_PYTHON_2 = (
    (
        re.compile(r"^[ \t]*print[ \t]+(?![=(,.\[)]|(?:if|else|for|in|is|and|or)\b)\S"),
        "print statement",
    ),
    (re.compile(r"^[ \t]*print[ \t]*>>"), "print statement"),
    (re.compile(r"^[ \t]*exec[ \t]+[\w\"']"), "exec statement"),
    (re.compile(r"^[ \t]*except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:"), "except clause with a comma"),
    (
        re.compile(r"^[ \t]*except[ \t]*\([^)]*\)[ \t]*,[ \t]*\w+[ \t]*:"),
        "except clause with a comma",
    ),
    (re.compile(r"^[ \t]*raise[ \t]+[\w.]+[ \t]*,"), "raise statement with a comma"),
    (re.compile(r"`[^`]+`"), "backticks"),
    (re.compile(r"\w[ \t]*<>[ \t]*\w"), "`<>` operator"),
    (re.compile(r"(?<![\w.])0[0-7]+(?![\w.])"), "octal literal without 0o"),
    (re.compile(r"(?<![\w.])(?:\d+|0[xX][\da-fA-F]+)[lL]\b"), "long integer literal"),
    (re.compile(r"(?<!\w)[uU][rR][\"']"), "ur string"),
    (re.compile(r"^[ \t]*def[ \t]+\w+[ \t]*\([^)]*\([^)]*\)[^)]*\)[ \t]*:"), "tuple parameter"),
)
_PYTHON_2_MESSAGES = ("Missing parentheses in call to", "multiple exception types must be")


def _explained(error: SyntaxError, text: str, path: str) -> UnparsableSource:
    line = error.lineno or 0
    column = error.offset or 0
    lines = re.split(r"\r\n|\r|\n", text)
    here = lines[line - 1] if 0 < line <= len(lines) else ""
    sign = _python_2_sign(here) if here else None
    if sign is None and str(error.msg).startswith(_PYTHON_2_MESSAGES):
        sign = "syntax of Python 2"
    if sign is None and isinstance(error, TabError):
        sign = "tabs and spaces mixed in the indentation"
    if sign:
        reason = f"Python 2 source ({sign}); bring it to Python 3 first, for example with 2to3"
        return UnparsableSource(path, reason, line, column)
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    reason = f"syntax error: {error.msg} (read as Python {running})"
    return UnparsableSource(path, reason, line, column)


def _python_2_sign(line: str) -> str | None:
    code = line.split("#", 1)[0]
    for pattern, name in _PYTHON_2:
        if pattern.search(code):
            return name
    return None
