"""Statements put after the imports that open a file."""

from __future__ import annotations

import ast

from ...core.edit import Edit
from ..document import Document
from .statements import insert_at_block_start, insert_statement_after

Edits = tuple[Edit, ...]


def insert_after_imports(
    doc: Document, text: str, before_line: int | None = None, after_line: int | None = None
) -> Edits | None:
    """Put statements after the import block that opens a file.

    Imports inside a top-level `try` or `if` count. `before_line` is the first line that needs the
    statements, `after_line` the last line that they need (the import of torch): None when both
    cannot be met. Blank lines around follow the file.
    """
    anchor = _last_import(doc.tree, before_line)
    if after_line is not None and (anchor is None or (anchor.end_lineno or 0) < after_line):
        anchor = _top_level(doc.tree, after_line)
        if anchor is None:
            return None
    if anchor is None:
        return insert_at_block_start(doc, doc.tree, text)
    if before_line is not None and (anchor.end_lineno or 0) >= before_line:
        return None
    edits = insert_statement_after(doc, anchor, text)
    if edits is None or len(edits) != 1 or not edits[0].text.startswith(("\n", "\r")):
        return edits
    return (_with_blank_lines(doc, edits[0]),)


def _last_import(tree: ast.Module, before_line: int | None) -> ast.stmt | None:
    """The last import of the opening block, which other simple statements may break."""
    last = None
    for statement in tree.body:
        if before_line is not None and (statement.end_lineno or 0) >= before_line:
            break
        if _imports(statement):
            last = statement
        elif hasattr(statement, "body") and not _is_setup(statement):
            break
    return last


def _top_level(tree: ast.Module, line: int) -> ast.stmt | None:
    """The top-level statement that holds a line."""
    holding = [node for node in tree.body if node.lineno <= line <= (node.end_lineno or 0)]
    return holding[-1] if holding else None


def _imports(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    if isinstance(statement, ast.If | ast.Try) and _is_setup(statement):
        return any(isinstance(node, ast.Import | ast.ImportFrom) for node in _block(statement))
    return False


def _is_setup(statement: ast.stmt) -> bool:
    """Whether a compound statement can stand among imports."""
    if isinstance(statement, ast.If):
        names = [node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)]
        return "__name__" not in names
    return isinstance(statement, ast.Try)


def _block(statement: ast.If | ast.Try) -> list[ast.stmt]:
    handlers = statement.handlers if isinstance(statement, ast.Try) else []
    inner = [*statement.body, *statement.orelse]
    for handler in handlers:
        inner += handler.body
    return inner


def _with_blank_lines(doc: Document, edit: Edit) -> Edit:
    """Set the statements apart by blank lines, unless the file has none after its imports."""
    line = doc.line_of(edit.start)
    at_end = doc.line_start(line + 1) >= len(doc.text)
    blank_follows = not at_end and not doc.line_text(line + 1).strip()
    if at_end or blank_follows:
        return Edit(edit.start, edit.end, doc.newline + edit.text)
    return edit
