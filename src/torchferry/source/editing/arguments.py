"""Changes of a call's argument list."""

from __future__ import annotations

import ast

from ...core.edit import Edit
from ..document import Document
from ..tokens import arguments, has_comment, outer_span

Edits = tuple[Edit, ...]


def add_keyword(
    doc: Document,
    call: ast.Call,
    name: str,
    value: str,
    *,
    past_star: bool = False,
    past_double_star: bool = False,
) -> Edits | None:
    """Add `name=value` as the last keyword of a call, in the call's own layout.

    None when the call has the keyword already, or when `*args` or `**kwargs` may hold it. Set
    `past_star` for a keyword-only parameter (`*args` cannot hold it) and `past_double_star` where
    the caller knows what `**kwargs` holds; the keyword then goes before the `**kwargs`.
    """
    if doc.in_fstring(call) or any(keyword.arg == name for keyword in call.keywords):
        return None
    doubles = [keyword for keyword in call.keywords if keyword.arg is None]
    if doubles and not past_double_star:
        return None
    if not past_star and any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    text = f"{name}={value}"
    places = arguments(doc, call)
    if doubles:
        first = doc.span(doubles[0]).start
        return (Edit(first, first, f"{text}, "),)
    if places.last_end is None:
        after_open = places.open + 1
        return (Edit(after_open, after_open, text),)
    if doc.span(_in_order(call)[0]).start == places.open:
        inner = places.open + 1  # the generator of f(x for x in y) must get its own parentheses
        return (Edit(inner, inner, "("), Edit(places.close, places.close, f"), {text}"))
    return _append(doc, call, places.last_end, places.comma, places.close, text)


def _append(
    doc: Document, call: ast.Call, last_end: int, comma: int | None, close: int, text: str
) -> Edits:
    """Add an argument after the last one; on a line of its own where each argument has one."""
    end = last_end if comma is None else comma + 1
    indent = _own_line_indent(doc, call, end, close)
    if indent is not None:
        line_end = doc.line_end(doc.line_of(end))
        addition = f"{doc.newline}{indent}{text}"
        if comma is not None:
            return (Edit(line_end, line_end, f"{addition},"),)
        if line_end == end:
            return (Edit(end, end, f",{addition}"),)
        return (Edit(end, end, ","), Edit(line_end, line_end, addition))
    if comma is not None:
        return (Edit(end, end, f" {text},"),)
    return (Edit(end, end, f", {text}"),)


def _own_line_indent(doc: Document, call: ast.Call, end: int, close: int) -> str | None:
    """The indentation of the last argument when it stands on lines of its own."""
    start = outer_span(doc, _in_order(call)[-1]).start
    line = doc.line_of(start)
    before = doc.text[doc.line_start(line) : start]
    if before.strip(" \t\f") or doc.line_of(close) == doc.line_of(end):
        return None
    rest = doc.text[end : doc.line_end(doc.line_of(end))].strip()
    if rest and not rest.startswith("#"):
        return None
    return doc.indent_of(line)


def remove_argument(
    doc: Document, call: ast.Call, argument: ast.expr | ast.keyword
) -> Edits | None:
    """Take an argument and its comma away. None when a comment would go with it."""
    given = _in_order(call)
    index = next(place for place, node in enumerate(given) if node is argument)
    if doc.in_fstring(call):
        return None
    places = arguments(doc, call)
    if index + 1 < len(given):
        start = outer_span(doc, argument).start
        end = outer_span(doc, given[index + 1]).start
    elif index > 0:
        start = outer_span(doc, given[index - 1]).end
        end = places.last_end or places.close
    else:
        start, end = places.open + 1, places.close
    if has_comment(doc, start, end):
        return None
    return (Edit(start, end, ""),)


def _in_order(call: ast.Call) -> list[ast.expr | ast.keyword]:
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(given, key=lambda node: (node.lineno, node.col_offset))
