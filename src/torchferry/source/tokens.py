"""What the tree does not tell: brackets, commas, comments and the neighbours of a node.

A region is the text from one statement's start to the next one's, scanned once and kept with the
document; brackets always balance inside it.
"""

from __future__ import annotations

import ast
import keyword
from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

from ..core.span import Span
from .document import Document
from .lex import Lexeme, is_trivia, lexemes, skip_trivia

_OPERAND_KEYWORDS = frozenset(keyword.kwlist) - {"True", "False", "None"}
_SILENT = ("comment", "newline", "continuation")


class Bracket(NamedTuple):
    """A pair of brackets; `grouping` when it only groups (no call, subscript or parameters)."""

    start: int  #: of the opening bracket
    end: int  #: past the closing bracket
    grouping: bool


@dataclass(frozen=True, slots=True)
class Region:
    """The tokens from one statement's start to the next one's."""

    start: int
    end: int
    tokens: tuple[Lexeme, ...]
    starts: tuple[int, ...]
    inside: tuple[int, ...]  #: innermost bracket that is open after each token, -1 at the top
    brackets: tuple[Bracket, ...]

    def before(self, offset: int) -> int:
        """Index of the last token that starts before `offset`; -1 when there is none."""
        return bisect_left(self.starts, offset) - 1

    def enclosing(self, offset: int) -> Bracket | None:
        """The innermost bracket that holds the place."""
        index = self.before(offset)
        innermost = self.inside[index] if index >= 0 else -1
        return self.brackets[innermost] if innermost >= 0 else None


class Arguments(NamedTuple):
    """The brackets of a call: offsets of both, of the last argument's end and trailing comma."""

    open: int
    close: int
    last_end: int | None
    comma: int | None


def region_at(doc: Document, offset: int) -> Region:
    """The region that holds an offset, which must not come after the end of the text."""
    anchors = doc.statement_starts
    index = bisect_left(anchors, offset + 1) - 1
    start = anchors[index] if index >= 0 else 0
    end = anchors[index + 1] if index + 1 < len(anchors) else len(doc.text)
    region = doc.regions.get(start if index >= 0 else -1)
    if not isinstance(region, Region):
        region = _scan(doc.text, start, end)
        doc.regions[start if index >= 0 else -1] = region
    return region


def _scan(text: str, start: int, end: int) -> Region:
    tokens = tuple(lexemes(text, start, end))
    inside: list[int] = []
    brackets: list[Bracket] = []
    stack: list[int] = []
    previous: Lexeme | None = None
    for token in tokens:
        if token.kind == "open":
            stack.append(len(brackets))
            brackets.append(Bracket(token.start, end, _groups(text, token, previous)))
        elif token.kind == "close" and stack:
            opened = stack.pop()
            brackets[opened] = brackets[opened]._replace(end=token.end)
        inside.append(stack[-1] if stack else -1)
        if token.kind not in _SILENT:
            previous = token
        elif token.kind == "newline" and not stack:
            previous = None
    starts = tuple(token.start for token in tokens)
    return Region(start, end, tokens, starts, tuple(inside), tuple(brackets))


def _groups(text: str, bracket: Lexeme, previous: Lexeme | None) -> bool:
    """Whether `(` after the token `previous` begins an operand."""
    if text[bracket.start] != "(":
        return False
    if previous is None or previous.kind == "op":
        return True
    if previous.kind == "open":
        return True
    return previous.kind == "name" and text[previous.start : previous.end] in _OPERAND_KEYWORDS


def outer_span(doc: Document, node: ast.AST) -> Span:
    """A node with all the parentheses that do nothing but group it."""
    start, end = doc.span(node)
    region = region_at(doc, start)
    while True:
        bracket = region.enclosing(start)
        if bracket is None or not bracket.grouping:
            return Span(start, end)
        if not is_trivia(doc.text, bracket.start + 1, start):
            return Span(start, end)
        if skip_trivia(doc.text, end) != bracket.end - 1:
            return Span(start, end)
        start, end = bracket.start, bracket.end


def is_parenthesised(doc: Document, node: ast.AST) -> bool:
    """Whether a node stands in parentheses that only group; for a tuple, in its own."""
    if outer_span(doc, node) != doc.span(node):
        return True
    return isinstance(node, ast.Tuple | ast.GeneratorExp) and owns_brackets(doc, node)


def owns_brackets(doc: Document, node: ast.AST) -> bool:
    """Whether the node's first and last characters are one pair of grouping parentheses.

    False for a bare tuple, `(a), (b)` too, and for the generator of `f(x for x in y)`.
    """
    start, end = doc.span(node)
    bracket = region_at(doc, start).enclosing(start + 1)
    return bracket is not None and bracket.grouping and (bracket.start, bracket.end) == (start, end)


def in_brackets(doc: Document, offset: int) -> bool:
    """Whether a line may end at this place without ending the statement."""
    return region_at(doc, offset).enclosing(offset) is not None


def previous_token(doc: Document, offset: int) -> str:
    """The token before a place, on the same logical line; "" when there is none."""
    if offset == 0:
        return ""
    region = region_at(doc, offset - 1)
    index = region.before(offset)
    while index >= 0:
        kind, start, end = region.tokens[index]
        if kind == "newline" and region.inside[index] < 0:
            return ""
        if kind not in _SILENT:
            return doc.text[start:end]
        index -= 1
    return ""


def next_token(doc: Document, offset: int) -> str:
    """The token after a place, on the same logical line; "" when there is none."""
    while offset < len(doc.text):
        region = region_at(doc, offset)
        for index in range(region.before(offset) + 1, len(region.tokens)):
            kind, start, end = region.tokens[index]
            if kind == "newline" and region.inside[index] < 0:
                return ""
            if kind not in _SILENT:
                return doc.text[start:end]
        offset = region.end
    return ""


def has_comment(doc: Document, start: int, end: int) -> bool:
    """Whether a comment stands in a range that begins and ends outside of strings."""
    while start < end:
        region = region_at(doc, start)
        for index in range(region.before(start) + 1, len(region.tokens)):
            if region.tokens[index].start >= end:
                return False
            if region.tokens[index].kind == "comment":
                return True
        start = region.end
    return False


def arguments(doc: Document, call: ast.Call) -> Arguments:
    """Where the argument list of a call opens, ends and closes."""
    close = doc.span(call).end - 1
    bracket = region_at(doc, close).enclosing(close)
    assert bracket is not None
    given = [*call.args, *call.keywords]
    if not given:
        return Arguments(bracket.start, close, None, None)
    last_end = min(max(doc.span(argument).end for argument in given), close)
    after = skip_trivia(doc.text, last_end)
    while after < close and doc.text[after] == ")":  # parentheses around the argument itself
        last_end = after + 1
        after = skip_trivia(doc.text, last_end)
    comma = after if after < close else None
    return Arguments(bracket.start, close, last_end, comma)


def logical_line_end(doc: Document, offset: int) -> int:
    """Where the logical line that holds a place ends, before its line break."""
    while offset < len(doc.text):
        region = region_at(doc, offset)
        for index in range(region.before(offset) + 1, len(region.tokens)):
            kind, start, _ = region.tokens[index]
            if kind == "newline" and region.inside[index] < 0:
                return start
        offset = region.end
    return len(doc.text)


def logical_line_start(doc: Document, offset: int) -> int:
    """The first line (from 1) of the logical line that holds a place."""
    while offset > 0:
        region = region_at(doc, offset - 1)
        index = region.before(offset)
        while index >= 0:
            token = region.tokens[index]
            if token.kind == "newline" and region.inside[index] < 0:
                return doc.line_of(token.end)
            index -= 1
        offset = region.start
    return 1
