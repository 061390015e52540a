"""Statements put in, beside others and at the head of blocks, and taken out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from ...core.edit import Edit
from ..document import Document
from ..tokens import (
    has_comment,
    logical_line_end,
    logical_line_start,
    next_token,
    previous_token,
    region_at,
)

Edits = tuple[Edit, ...]
Block = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.stmt

_COMPOUND = re.compile(r"(?:if|for|while|with|def|class|try|async|match)\b|@")
_OWN_COMMENT = re.compile(
    r"#(?:!|\s*(?:%%|In\[|fmt:|region|endregion|type:|-{3,}|={3,}|#{3,}|\*{3,}))"
)


def insert_statement_before(doc: Document, statement: ast.stmt, text: str) -> Edits | None:
    """Put statements before one, above the comment lines that belong to it.

    None for an `elif`, which has no place before it.
    """
    if _is_elif(doc, statement):
        return None
    start = _first_start(doc, statement)
    kind = _standing(doc, start)
    if kind == "line":
        indent = doc.indent_of(doc.line_of(start))
        place = doc.line_start(_above_comments(doc, doc.line_of(start), indent))
        return (Edit(place, place, _lines(doc, text, indent) + doc.newline),)
    if kind == "header":
        return _open_suite(doc, start, text)
    if _is_simple(text):
        return (Edit(start, start, f"{text.strip()}; "),)
    return _break_line(doc, start, text)


def insert_statement_after(doc: Document, statement: ast.stmt, text: str) -> Edits | None:
    """Put statements after one, and after the comment at the end of its line.

    None for an `elif`, which has no place after it.
    """
    if _is_elif(doc, statement):
        return None
    start, end = _first_start(doc, statement), doc.span(statement).end
    if next_token(doc, end) == ";" and not _is_block(statement):
        following = _next_on_line(doc, end)
        if following is not None:
            if _is_simple(text):
                return (Edit(end, end, f"; {text.strip()}"),)
            return _break_line(doc, following, text)
    place = logical_line_end(doc, end)
    first = _suite_on_header(doc, start)
    if first is None:
        indent = doc.indent_of(logical_line_start(doc, start))
        return (Edit(place, place, doc.newline + _lines(doc, text, indent)),)
    opening = _open_suite(doc, first, "")
    indent = _inner_indent(doc, first)
    return (*opening, Edit(place, place, doc.newline + _lines(doc, text, indent)))


def insert_at_block_start(doc: Document, owner: Block, text: str) -> Edits | None:
    """Put statements first in the body of a block: after a docstring and `__future__` imports."""
    body: list[ast.stmt] = getattr(owner, "body", [])
    if not body:
        return None
    head = list(_preamble(owner, body))
    if head:
        return insert_statement_after(doc, head[-1], text)
    start = _first_start(doc, body[0])
    if isinstance(owner, ast.Module) or _standing(doc, start) != "line":
        return insert_statement_before(doc, body[0], text)
    place = doc.line_start(_line_after_header(doc, start))
    indent = doc.indent_of(doc.line_of(start))
    return (Edit(place, place, _lines(doc, text, indent) + doc.newline),)


def remove_statement(doc: Document, statement: ast.stmt) -> Edits | None:
    """Take a simple statement away, with its line when it is alone there.

    `pass` takes its place where the block would be empty. None for compound statements and when
    a comment would go with it.
    """
    if _is_block(statement):
        return None
    start, end = doc.span(statement)
    block = next(block for block in _blocks(doc.tree) if any(s is statement for s in block))
    if len(block) == 1 and not any(item is statement for item in doc.tree.body):
        return None if has_comment(doc, start, end) else (Edit(start, end, "pass"),)
    line_end = logical_line_end(doc, end)
    standing, following = _standing(doc, start), _next_on_line(doc, end)
    if following is not None:
        span = (start, following)
    elif standing == "line":
        span = (doc.line_start(doc.line_of(start)), doc.line_start(doc.line_of(line_end) + 1))
    else:
        span = (region_at(doc, start - 1).tokens[_separator(doc, start)].start, end)
    return None if has_comment(doc, *span) else (Edit(*span, ""),)


# ---- where a statement stands


def _first_start(doc: Document, statement: ast.stmt) -> int:
    """The start of a statement or of its first decorator's line."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    if not decorators:
        return doc.span(statement).start
    start = doc.span(decorators[0]).start
    return doc.text.rindex("@", 0, start)


def _standing(doc: Document, start: int) -> Literal["line", "header", "semicolon"]:
    """Whether a statement begins its line, follows its block's header on it, or a semicolon."""
    before = previous_token(doc, start)
    if before == ":":
        return "header"
    return "semicolon" if before == ";" else "line"


def _separator(doc: Document, start: int) -> int:
    """Index, in the region before a statement, of the `;` or `:` that it follows."""
    region = region_at(doc, start - 1)
    index = region.before(start)
    while region.tokens[index].kind != "op":
        index -= 1
    return index


def _suite_on_header(doc: Document, start: int) -> int | None:
    """The first statement of the suite, if this statement's suite is on its header's line."""
    anchors = doc.statement_starts
    while True:
        kind = _standing(doc, start)
        if kind != "semicolon":
            return start if kind == "header" else None
        start = anchors[anchors.index(start) - 1]


def _next_on_line(doc: Document, end: int) -> int | None:
    """The start of the statement that follows on the same logical line."""
    line_end = logical_line_end(doc, end)
    return next((start for start in doc.statement_starts if end < start < line_end), None)


def _line_after_header(doc: Document, start: int) -> int:
    """The line after the header of the block whose first statement begins its line at `start`."""
    region = region_at(doc, start - 1)
    colon = region.before(start)
    while region.tokens[colon].kind in ("newline", "comment", "continuation"):
        colon -= 1
    newline = next(token for token in region.tokens[colon + 1 :] if token.kind == "newline")
    return doc.line_of(newline.end)


def _above_comments(doc: Document, line: int, indent: str) -> int:
    """The first of the comment lines directly above that belong to the statement at `line`."""
    first = line
    while first > 1:
        text = doc.line_text(first - 1)
        if not text.startswith(indent + "#") or _OWN_COMMENT.match(text.strip()):
            return line if first == 2 and text.startswith("#") else first
        first -= 1
    return line  # the comments that open a file belong to the file


# ---- writing


def _is_block(statement: ast.stmt) -> bool:
    return hasattr(statement, "body") or hasattr(statement, "cases")


def _is_elif(doc: Document, statement: ast.stmt) -> bool:
    start = doc.span(statement).start
    return isinstance(statement, ast.If) and doc.text.startswith("elif", start)


def _is_simple(text: str) -> bool:
    """Whether statements can share a line with others."""
    return "\n" not in text.strip() and not _COMPOUND.match(text.strip())


def _lines(doc: Document, text: str, indent: str) -> str:
    lines = text.strip("\n").split("\n")
    return doc.newline.join(indent + line if line.strip() else line for line in lines)


def _inner_indent(doc: Document, start: int) -> str:
    return doc.indent_of(logical_line_start(doc, start)) + doc.indent_unit


def _open_suite(doc: Document, start: int, text: str) -> Edits:
    """Move the suite that starts at `start` from its header's line to lines of its own."""
    indent = _inner_indent(doc, start)
    new = doc.newline + _lines(doc, text, indent) if text else ""
    colon = region_at(doc, start - 1).tokens[_separator(doc, start)].end
    return (Edit(colon, start, f"{new}{doc.newline}{indent}"),)


def _break_line(doc: Document, start: int, text: str) -> Edits | None:
    """Put statements between the two halves of `a; b`, where `b` starts at `start`."""
    if _suite_on_header(doc, start) is not None:
        return None
    indent = doc.indent_of(logical_line_start(doc, start))
    semicolon = region_at(doc, start - 1).tokens[_separator(doc, start)].start
    new = f"{doc.newline}{_lines(doc, text, indent)}{doc.newline}{indent}"
    return (Edit(semicolon, start, new),)


# ---- blocks


def _preamble(owner: Block, body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """A docstring and `__future__` imports, which must stay first."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    rest = body
    if isinstance(owner, documented) and is_docstring(body[0]):
        yield body[0]
        rest = body[1:]
    for statement in rest if isinstance(owner, ast.Module) else ():
        if not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            return
        yield statement


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement is nothing but a string."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block
