"""Shapes of files: line breaks, encodings, indentation, what stands before the edited columns."""

from __future__ import annotations

import ast
import re

from .shape import Source, shape, simple


@shape()
def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


@shape()
def carriage_returns(text: str) -> bytes:
    return text.replace("\n", "\r").encode()


@shape()
def byte_order_mark(text: str) -> bytes:
    return b"\xef\xbb\xbf" + text.encode()


@shape()
def latin_1(text: str) -> bytes | None:
    if not text.isascii():
        return None
    return ("# -*- coding: latin-1 -*-\n# caf\xe9\n" + text).encode("latin-1")


@shape()
def tabs(text: str) -> str | None:
    new = re.sub(r"^( {4})+", lambda m: "\t" * (len(m[0]) // 4), text, flags=re.M)
    return new if new != text else None


@shape()
def two_spaces(text: str) -> str | None:
    new = re.sub(r"^( {4})+", lambda m: "  " * (len(m[0]) // 4), text, flags=re.M)
    return new if new != text else None


@shape()
def no_final_newline(text: str) -> str:
    return text.rstrip("\n")


@shape()
def many_final_newlines(text: str) -> str:
    return text + "\n \n\n"


@shape()
def form_feeds(text: str) -> str:
    head, rest = Source(text).parted()
    return head + "\f\n" + rest + "\f\n"


@shape()
def wide_characters(text: str) -> str | None:
    """Characters of two to four bytes stand before the statement on its line."""
    source = Source(text)
    for block in source.blocks():
        for index, stmt in enumerate(block):
            imports = isinstance(stmt, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal)
            docstring = index == 0 and isinstance(stmt, ast.Expr)
            if simple(stmt) and not imports and not docstring:
                source.insert(source.span(stmt)[0], '"\u00e4\u2192\U0001d11e"; ')
    return source.done()


@shape()
def comments(text: str) -> str | None:
    """Each simple statement has a comment behind it."""
    source = Source(text)
    for block in source.blocks():
        for stmt in block:
            end = source.span(stmt)[1]
            if simple(stmt) and source.text[end : end + 1] == "\n":
                source.insert(end, f"  # line {stmt.lineno}: device?")
    return source.done()


@shape()
def comment_lines(text: str) -> str:
    """A comment, with quotes and brackets, before each statement at the left margin."""
    source = Source(text)
    for stmt in source.tree.body:
        decorators = [d.lineno for d in getattr(stmt, "decorator_list", [])]
        line = min([stmt.lineno, *decorators])
        source.insert(source.offset(line, 0), "# don't (move\n")
    return source.done() or text


@shape()
def future_import(text: str) -> str | None:
    if "__future__" in text:
        return None
    source = Source(text)
    first = source.tree.body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    line = (first.end_lineno or 0) if docstring else 0
    lines = source.lines
    return "".join([*lines[:line], "from __future__ import annotations\n", *lines[line:]])


@shape()
def shebang_and_docstring(text: str) -> str | None:
    if text.startswith('"""'):
        return None
    return '#!/usr/bin/env python\n"""About\n\nimport torch\n"""\n\n' + text
