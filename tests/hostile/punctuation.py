"""Shapes of punctuation: commas, brackets, comments in them, joined and continued lines."""

from __future__ import annotations

import ast
import itertools
import re

from .shape import Source, plain_call, shape, simple


def _ends_plainly(source: Source, call: ast.Call) -> bool:
    """Whether nothing but the last argument stands before the closing bracket."""
    last = max(source.span(a)[1] for a in (*call.args, *(k.value for k in call.keywords)))
    return source.text[last : source.span(call)[1] - 1] == ""


@shape()
def trailing_commas(text: str) -> str | None:
    source = Source(text)
    for call in source.calls():
        if (call.args or call.keywords) and plain_call(call) and _ends_plainly(source, call):
            source.insert(source.span(call)[1] - 1, ",")
    return source.done()


@shape()
def spaces_in_brackets(text: str) -> str | None:
    source = Source(text)
    for call in source.calls():
        end = source.span(call)[1] - 1
        source.insert(source.span(call.func)[1], " ")
        source.insert(end, " ")
    return source.done()


@shape()
def comment_ends_brackets(text: str) -> str | None:
    """A comment is the last thing in the brackets of each call, or alone in them."""
    source = Source(text)
    for call in source.calls():
        source.insert(source.span(call)[1] - 1, "  # last\n")
    return source.done()


@shape()
def comma_and_comment(text: str) -> str | None:
    source = Source(text)
    for call in source.calls():
        if (call.args or call.keywords) and plain_call(call) and _ends_plainly(source, call):
            source.insert(source.span(call)[1] - 1, ",  # last, (\n")
    return source.done()


@shape()
def one_argument_a_line(text: str) -> str | None:
    source = Source(text)
    for call in source.calls():
        parts: list[ast.expr] = [*call.args]
        if parts and plain_call(call) and not call.keywords:
            for part in parts:
                source.insert(source.span(part)[0], "\n        ")
            source.insert(source.span(call)[1] - 1, "\n    ")
    return source.done()


@shape()
def arguments_in_brackets(text: str) -> str | None:
    source = Source(text)
    for call in source.calls():
        if plain_call(call):
            for part in (*call.args, *(k.value for k in call.keywords)):
                start, end = source.span(part)
                source.insert(start, "((")
                source.insert(end, "))")
    return _nested(source)


@shape()
def operands_in_brackets(text: str) -> str | None:
    source = Source(text)
    for node in source.walk(ast.BinOp):
        assert isinstance(node, ast.BinOp)
        for part in (node.left, node.right):
            start, end = source.span(part)
            source.insert(start, "(")
            source.insert(end, ")")
    return _nested(source)


@shape()
def callees_in_brackets(text: str) -> str | None:
    source = Source(text)
    for call in source.calls():
        if isinstance(call.func, ast.Attribute | ast.Name) and source.of(call.func) != "super":
            start, end = source.span(call.func)
            source.insert(start, "(")
            source.insert(end, ")")
    return _nested(source)


@shape()
def receivers_in_brackets(text: str) -> str | None:
    """`(x).mean()`."""
    source = Source(text)
    for call in source.calls():
        func = call.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name | ast.Call):
            start, end = source.span(func.value)
            source.insert(start, "(")
            source.insert(end, ")")
    return _nested(source)


def _nested(source: Source) -> str | None:
    """Insertions at one place: closing brackets of inner parts come first."""
    by_place: dict[int, list[str]] = {}
    for start, _, new in source.edits:
        by_place.setdefault(start, []).append(new)
    source.edits = [
        (at, at, "".join(sorted(parts, key=lambda p: "(" in p))) for at, parts in by_place.items()
    ]
    return source.done()


@shape()
def values_in_brackets(text: str) -> str | None:
    """The value of an assignment on a line of its own, in brackets, with a comment."""
    source = Source(text)
    for stmt in source.walk(ast.Assign):
        assert isinstance(stmt, ast.Assign)
        start, end = source.span(stmt.value)
        if not isinstance(stmt.value, ast.Tuple):
            source.insert(start, "(  # the value\n        ")
            source.insert(end, "\n    )")
    return source.done()


@shape()
def statements_joined(text: str) -> str | None:
    """Neighbours on one line, joined by `;`."""
    source = Source(text)
    for block in source.blocks():
        joined = False
        for first, second in itertools.pairwise(block):
            start, end = source.span(first)[1], source.span(second)[0]
            between = source.text[start:end]
            imports = isinstance(first, ast.Import | ast.ImportFrom)
            if not joined and simple(first) and simple(second) and not imports:
                if between.isspace() and between.count("\n") == 1:
                    source.edits.append((start, end, "; "))
                    joined = True
            else:
                joined = False
    return source.done()


@shape()
def semicolons_at_the_end(text: str) -> str | None:
    source = Source(text)
    for block in source.blocks():
        for stmt in block:
            if simple(stmt):
                source.insert(source.span(stmt)[1], ";")
    return source.done()


@shape()
def suites_on_the_header(text: str) -> str | None:
    """`for x in y: a; b` where the block is of simple statements."""
    source = Source(text)
    for node in ast.walk(source.tree):
        body = getattr(node, "body", None)
        if not isinstance(node, ast.stmt) or not isinstance(body, list):
            continue
        if not all(simple(s) and s.lineno == s.end_lineno for s in body):
            continue
        if isinstance(node, ast.ClassDef):
            continue
        before = source.text[: source.span(body[0])[0]]
        header = len(before.rstrip())
        if not before.endswith("\n" + " " * body[0].col_offset) or before[header - 1] != ":":
            continue
        source.edits.append((header, source.span(body[0])[0], " "))
        for first, second in itertools.pairwise(body):
            source.edits.append((source.span(first)[1], source.span(second)[0], "; "))
    return source.done()


@shape()
def backslashes(text: str) -> str | None:
    """The value of each assignment on the next line, behind a backslash."""
    source = Source(text)
    for stmt in source.walk(ast.Assign):
        assert isinstance(stmt, ast.Assign)
        start = source.span(stmt.value)[0]
        if source.text[start - 2 : start] == "= ":
            source.edits.append((start - 1, start, " \\\n        "))
    return source.done()


@shape()
def backslash_before_methods(text: str) -> str | None:
    """`x \\` and on the next line `.mean()`."""
    source = Source(text)
    for call in source.calls():
        func = call.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name | ast.Call):
            end = source.span(func.value)[1]
            if source.text[end : end + 1] == ".":
                source.insert(end, " \\\n        ")
    return source.done()


@shape()
def strings_side_by_side(text: str) -> str | None:
    source = Source(text)
    for node in source.walk(ast.Constant):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.fullmatch(r'"([\w ]{2,})"', source.of(node))
            if found:
                source.replace(node, f'"{found[1][0]}" "{found[1][1:]}"')
    return source.done()


@shape()
def single_quotes(text: str) -> str | None:
    source = Source(text)
    for node in source.walk(ast.Constant):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.fullmatch(r'"([\w. :-]*)"', source.of(node))
            if found:
                source.replace(node, f"'{found[1]}'")
    return source.done()
