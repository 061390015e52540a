"""Sources with one marked place: `f(⟦x⟧)` stands for `f(x)` and its node `x`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchferry.core.edit import Edit, Fix
from torchferry.source.apply import apply_fixes
from torchferry.source.document import Document
from torchferry.source.reread import check_rewrite

Builder = Callable[[Document, ast.AST], "tuple[Edit, ...] | None"]
NEWLINES = ("\n", "\r\n", "\r")


def marked(source: str) -> tuple[Document, ast.AST]:
    """The document without its marks, and the outermost node that the marks enclose."""
    start = source.index("⟦")
    end = source.index("⟧") - 1
    doc = Document.from_text(source.replace("⟦", "").replace("⟧", ""), "p.py")
    for node in ast.walk(doc.tree):
        if not isinstance(node, ast.Module) and hasattr(node, "lineno"):
            decorated = getattr(node, "decorator_list", None)
            first = doc.span(decorated[0] if decorated else node).start
            first = doc.text.rindex("@", 0, first) if decorated else first
            if (first, doc.span(node).end) == (start, end):
                return doc, node
    raise AssertionError(f"no node stands at the marks of {source!r}")


def rewritten(source: str, build: Builder) -> str | None:
    """The text after the builder's edits, proof-read, in each kind of line break."""
    results = set()
    for newline in NEWLINES if "\n" in source else NEWLINES[:1]:
        doc, node = marked(source.replace("\n", newline))
        edits = build(doc, node)
        if edits is None:
            results.add(None)
            continue
        applied = apply_fixes(doc, [Fix("test", edits), Fix("twice", edits)])
        assert not applied.refused
        check_rewrite(applied)
        results.add(applied.text.replace(newline, "\n"))
        if newline == "\r\n":
            assert "\n" not in applied.text.replace("\r\n", "")
    assert len(results) == 1, results
    return results.pop()


def expression(doc: Document, node: ast.AST) -> ast.expr:
    """The expression of a marked node (a bare expression is its statement too)."""
    if isinstance(node, ast.Expr):
        return node.value
    assert isinstance(node, ast.expr)
    return node
