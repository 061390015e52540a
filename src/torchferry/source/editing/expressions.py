"""Changes of an expression, with the parentheses that its precedence asks for."""

from __future__ import annotations

import ast

from ...core.edit import Edit
from ...core.span import Span
from ..document import Document
from ..lex import comments, is_word
from ..tokens import (
    has_comment,
    in_brackets,
    next_token,
    outer_span,
    owns_brackets,
    previous_token,
    region_at,
)

Edits = tuple[Edit, ...]

#: What takes a suffix (`.name`, `(...)`, `[...]`) as it stands.
_TIGHT = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Call,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.JoinedStr,
)
#: Tokens next to which any expression stands without parentheses of its own.
_WALLS_BEFORE = frozenset(["", "(", "[", ",", "=", "return", "+=", "-=", "*=", "/="])
_WALLS_AFTER = frozenset(["", ")", "]", ",", ";", "}"])


def method_call(doc: Document, node: ast.expr, suffix: str) -> Edits | None:
    """Append `suffix` (".to(device)") to an expression, in parentheses where it binds looser.

    None for what is no value (a target, a slice, a starred item) and inside f-strings.
    """
    if not _is_value(doc, node):
        return None
    span, outer = doc.span(node), outer_span(doc, node)
    if outer != span or is_tight(doc, node):
        return (Edit(outer.end, outer.end, suffix),)
    if isinstance(node, ast.GeneratorExp) and not owns_brackets(doc, node):
        span = Span(span.start + 1, span.end - 1)  # the brackets are the call's
    return (
        Edit(span.start, span.start, _spaced(doc, span.start, "(")),
        Edit(span.end, span.end, f"){suffix}"),
    )


def wrap_call(doc: Document, node: ast.expr, function: str, more: str = "") -> Edits | None:
    """Make an expression the first argument of a call: `function(node<more>)`.

    `more` is the rest of the argument list with its comma (", device=device"). None as for
    `method_call`.
    """
    if not _is_value(doc, node):
        return None
    span = doc.span(node)
    yields = isinstance(node, ast.Yield | ast.YieldFrom)  # in brackets wherever it is an operand
    if outer_span(doc, node) != span:
        span = _innermost(doc, span.start)
        if not yields:  # the parentheses that are there become the call's
            opening = Edit(span.start, span.start, _spaced(doc, span.start, function))
            return (opening, Edit(span.end - 1, span.end - 1, more)) if more else (opening,)
        yields = False
    left, right = f"{function}(", f"{more})"
    bare = isinstance(node, ast.Tuple | ast.GeneratorExp) and not owns_brackets(doc, node)
    if bare and isinstance(node, ast.GeneratorExp):
        span = Span(span.start + 1, span.end - 1)  # the brackets are the call's
        bare = bool(more)
    if yields or bare:
        left, right = f"{left}(", f"){right}"
    return (
        Edit(span.start, span.start, _spaced(doc, span.start, left)),
        Edit(span.end, span.end, right),
    )


def remove_method_call(doc: Document, call: ast.Call) -> Edits | None:
    """Reduce `value.method(...)` to `value`. None when a comment would go with it."""
    if not isinstance(call.func, ast.Attribute) or doc.in_fstring(call):
        return None
    start, end = outer_span(doc, call.func.value).end, doc.span(call).end
    if outer_span(doc, call.func) != doc.span(call.func) or has_comment(doc, start, end):
        return None
    return (Edit(start, end, ""),)


def replace(doc: Document, node: ast.expr, text: str) -> Edits | None:
    """Put `text`, an expression, in a node's place; in parentheses where others bind tighter.

    None inside f-strings, when `text` is no expression, and when a comment would be lost.
    """
    if doc.in_fstring(node):
        return None
    try:
        parsed = ast.parse(f"(\n{text}\n)", mode="eval").body
    except SyntaxError:
        return None
    if not text.strip():
        return None
    span = doc.span(node)
    if isinstance(node, ast.GeneratorExp) and not owns_brackets(doc, node):
        span = Span(span.start + 1, span.end - 1)
    lost = has_comment(doc, *span) and not list(comments(text))
    if lost:
        return None
    new = text.replace("\n", doc.newline)
    if outer_span(doc, node) == doc.span(node) and _wants_parentheses(doc, span, parsed, text):
        new = f"({new})"
    if is_word(doc.text[span.end : span.end + 1]) and is_word(new[-1:]):
        new += " "
    return (Edit(span.start, span.end, _spaced(doc, span.start, new)),)


def is_tight(doc: Document, node: ast.expr) -> bool:
    """Whether `node` takes a suffix as it is written, without parentheses."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes | bool) or node.value in (None, ...)
    if isinstance(node, ast.Tuple | ast.GeneratorExp):
        return owns_brackets(doc, node)
    return isinstance(node, _TIGHT) or type(node).__name__ == "TemplateStr"


def _is_value(doc: Document, node: ast.expr) -> bool:
    if isinstance(node, ast.Starred | ast.Slice) or doc.in_fstring(node):
        return False
    if not isinstance(getattr(node, "ctx", None), ast.Load | None):
        return False
    if isinstance(node, ast.Tuple) and not owns_brackets(doc, node):
        return not any(isinstance(item, ast.Slice) for item in node.elts)  # x[1:2, 0]
    return True


def _innermost(doc: Document, start: int) -> Span:
    """The brackets directly around a place."""
    bracket = region_at(doc, start).enclosing(start)
    assert bracket is not None
    return Span(bracket.start, bracket.end)


def _wants_parentheses(doc: Document, span: Span, parsed: ast.expr, text: str) -> bool:
    if "\n" in text and not in_brackets(doc, span.start):
        own = parsed.end_lineno != parsed.lineno and isinstance(parsed, _TIGHT)
        if not own:
            return True
    if isinstance(parsed, ast.Constant):
        number = isinstance(parsed.value, int | float | complex) and parsed.value is not True
        return number and next_token(doc, span.end) == "."
    if isinstance(parsed, _TIGHT):
        return False
    if isinstance(parsed, ast.Tuple | ast.GeneratorExp) and text.strip().startswith("("):
        return False
    if isinstance(parsed, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Tuple):
        return True
    before, after = previous_token(doc, span.start), next_token(doc, span.end)
    return before not in _WALLS_BEFORE or after not in _WALLS_AFTER


def _spaced(doc: Document, start: int, text: str) -> str:
    """`text` with a space before it when it would grow together with the word before it."""
    return f" {text}" if is_word(doc.text[start - 1 : start]) and is_word(text[:1]) else text
