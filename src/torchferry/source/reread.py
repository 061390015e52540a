"""Proof-reading of a rewrite: nothing is written that did not survive it."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from ..core.edit import Edit
from ..core.errors import RewriteRefused, UnparsableSource
from ..core.span import Span
from .apply import Applied
from .document import Document
from .lex import comments
from .parsing import compile_text

_Place = tuple[type[ast.AST], int, int]
_Index = dict[_Place, tuple[ast.AST, ast.AST]]  #: the node, and the block that it belongs to
_BESIDE_BEFORE = (",", ";", "\n", "\r")  # what an insertion after an untouched node starts with
_BESIDE_AFTER = ("\n", "\r", "; ", ", ")  # what one before it ends with


def check_rewrite(applied: Applied) -> Document:
    """The rewritten document, once it is proved that only the edits changed it.

    It must parse, compile (if the original did), fit the file's encoding, keep its line breaks,
    every comment outside of deleted code, and the tree of everything that no edit touched. Raises
    RewriteRefused with the reason.
    """
    before = applied.before
    after = before.with_text(applied.text)
    before.to_bytes(applied.text)
    _check_line_breaks(before, applied)
    _check_comments(before, applied)
    try:
        tree = after.tree
    except UnparsableSource as error:
        raise _refused(
            before, f"the result does not parse (line {error.line}: {error.reason})"
        ) from None
    _check_compiles(before, applied.text)
    _check_tree(before, tree, after, applied)
    return after


def _refused(doc: Document, reason: str) -> RewriteRefused:
    return RewriteRefused(f"{doc.path}: not rewritten: {reason}")


def _check_line_breaks(before: Document, applied: Applied) -> None:
    allowed = before.newline
    for edit in applied.edits:
        rest = edit.text.replace(allowed, "")
        if "\n" in rest or "\r" in rest:
            raise _refused(before, "an edit has other line breaks than the file")


def _check_comments(before: Document, applied: Applied) -> None:
    deleted = [edit for edit in applied.edits if edit.start < edit.end]
    wanted: Counter[str] = Counter()
    for _, start, end in comments(before.text):
        if not any(edit.start <= start and end <= edit.end for edit in deleted):
            wanted[before.text[start:end].rstrip()] += 1
    found = Counter(applied.text[start:end].rstrip() for _, start, end in comments(applied.text))
    lost = wanted - found
    if lost:
        raise _refused(before, f"a comment would be lost: {next(iter(lost))}")


def _check_compiles(before: Document, text: str) -> None:
    try:
        compile_text(text, before.path)
    except UnparsableSource as error:
        try:
            compile_text(before.text, before.path)
        except UnparsableSource:
            return  # it did not compile before either (a `return` outside of a function)
        reason = f"the result does not compile (line {error.line}: {error.reason})"
        raise _refused(before, reason) from None


def _check_tree(before: Document, tree: ast.Module, after: Document, applied: Applied) -> None:
    """Every untouched node must stand, equal, where the edits have moved it, in the same block."""
    index = _index(tree, after)
    places = _Places(applied)
    pending: list[tuple[ast.AST, ast.AST | None]] = [(before.tree, tree)]
    while pending:
        node, owner = pending.pop()
        inner = owner
        if hasattr(node, "lineno"):
            span = before.span(node)
            state = places.state(node, *_reach(before, node, span))
            if state == "deleted":
                continue
            found, place = _counterpart(index, node, places, span)
            moved = isinstance(node, ast.stmt) and owner is not None and place is not owner
            line = before.line_of(span.start)
            if state == "untouched":
                if moved or not _same(node, found):
                    what = _brief(before, node)
                    raise _refused(before, f"line {line} would get another meaning: {what}")
                continue
            if state == "inside" and isinstance(node, ast.stmt) and (moved or found is None):
                raise _refused(before, f"the statement of line {line} would become another")
            if _is_block(node):
                inner = found
        if not isinstance(node, ast.JoinedStr):
            pending += [(child, inner) for child in ast.iter_child_nodes(node)]


class _Places:
    """Where old places are after the edits."""

    def __init__(self, applied: Applied) -> None:
        self.edits = applied.edits
        self.starts = [edit.start for edit in self.edits]
        self.shifts = [0]  # before each edit, and after the last
        for edit in self.edits:
            self.shifts.append(self.shifts[-1] + len(edit.text) - (edit.end - edit.start))

    def _touching(self, start: int, end: int) -> Iterator[Edit]:
        index = max(0, bisect_left(self.starts, start) - 1)
        while index > 0 and self.edits[index - 1].end >= start:
            index -= 1
        for edit in self.edits[index:]:
            if edit.start > end:
                return
            if edit.end >= start:
                yield edit

    def state(self, node: ast.AST, start: int, end: int) -> str:
        """Of a node: "untouched", "inside" (edits within it), "deleted", or "crossed"."""
        state = "untouched"
        for edit in self._touching(start, end):
            if edit.start == edit.end:
                if _beside(edit, node, start, end):
                    continue
            elif edit.start <= start and end <= edit.end:
                return "deleted"
            elif edit.end == start or edit.start == end:
                continue
            elif edit.start < start or end < edit.end:
                state = "crossed"
            if state == "untouched":
                state = "inside"
        return state

    def candidates(self, offset: int) -> list[int]:
        """The new offsets of a place: before, between or after what was put in there."""
        first = bisect_left(self.starts, offset)
        shifts = [self.shifts[first]]
        while first < len(self.edits) and self.edits[first].end <= offset:
            first += 1
            shifts.append(self.shifts[first])
        return [offset + shift for shift in shifts]


def _beside(edit: Edit, node: ast.AST, start: int, end: int) -> bool:
    """Whether an insertion at a node's edge leaves the node itself alone."""
    if edit.start == start and edit.text.endswith(_BESIDE_AFTER):
        return True
    return edit.start == end and edit.text.startswith(_BESIDE_BEFORE) and not _is_block(node)


def _is_block(node: ast.AST) -> bool:
    """Whether statements belong to a node, so that one put in at its end may be its own."""
    return isinstance(getattr(node, "body", None), list) or isinstance(node, ast.Match)


def _reach(doc: Document, node: ast.AST, span: Span) -> Span:
    """The text in which an edit changes a node: decorators count, and a block's last line."""
    start, end = span
    if getattr(node, "decorator_list", None):
        start = doc.span(node.decorator_list[0]).start  # type: ignore[attr-defined]
    return Span(start, doc.line_end(doc.line_of(end)) if _is_block(node) else end)


def _counterpart(
    index: _Index, node: ast.AST, places: _Places, span: Span
) -> tuple[ast.AST | None, ast.AST | None]:
    ends = [-1] if _is_block(node) else places.candidates(span.end)
    for new_start in reversed(places.candidates(span.start)):
        for new_end in ends:
            found = index.get((type(node), new_start, new_end))
            if found is not None:
                return found
    return None, None


def _index(tree: ast.Module, after: Document) -> _Index:
    index: _Index = {}
    pending: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while pending:
        node, owner = pending.pop()
        if hasattr(node, "lineno"):
            start, end = after.span(node)
            place = (type(node), start, -1 if _is_block(node) else end)  # a block may grow
            index.setdefault(place, (node, owner))
        if not isinstance(node, ast.JoinedStr):
            inner = node if hasattr(node, "lineno") and _is_block(node) else owner
            pending += [(child, inner) for child in ast.iter_child_nodes(node)]
    return index


def _same(one: ast.AST, two: ast.AST | None) -> bool:
    """Whether two trees are equal but for their places; without recursion, for deep trees."""
    pending: list[tuple[object, object]] = [(one, two)]
    while pending:
        old, new = pending.pop()
        if isinstance(old, ast.AST):
            if type(old) is not type(new):
                return False
            pending += [
                (getattr(old, name, None), getattr(new, name, None)) for name in old._fields
            ]
        elif isinstance(old, list):
            if not isinstance(new, list) or len(old) != len(new):
                return False
            pending += zip(old, new, strict=True)
        elif type(old) is not type(new) or repr(old) != repr(new):
            return False
    return True


def _brief(doc: Document, node: ast.AST) -> str:
    text = " ".join(doc.source(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
