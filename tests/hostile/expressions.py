"""Shapes of expressions: conditional, lambda, walrus, starred, defaults, format strings."""

from __future__ import annotations

import ast

from .shape import Source, plain_call, shape


def _assigned(source: Source) -> list[ast.Assign]:
    """Assignments of one value to one plain name."""
    return [
        n
        for n in source.walk(ast.Assign)
        if isinstance(n, ast.Assign)
        and len(n.targets) == 1
        and isinstance(n.targets[0], ast.Name)
        and not isinstance(n.value, ast.Tuple | ast.Lambda)
    ]


def _in_class(source: Source) -> set[int]:
    """Nodes directly in class bodies, where functions do not see the names."""
    return {
        id(n)
        for c in ast.walk(source.tree)
        if isinstance(c, ast.ClassDef)
        for s in c.body
        if not isinstance(s, ast.FunctionDef)
        for n in ast.walk(s)
    }


def _values(text: str, before: str, behind: str) -> str | None:
    source = Source(text)
    inside = _in_class(source)
    for stmt in _assigned(source):
        if id(stmt) not in inside:
            start, end = source.span(stmt.value)
            source.insert(start, before)
            source.insert(end, behind)
    return source.done()


@shape(harder=True)
def conditional_values(text: str) -> str | None:
    return _values(text, "", ' if len("x") == 1 else None')


@shape(harder=True)
def values_of_lambdas(text: str) -> str | None:
    return _values(text, "(lambda: ", ")()")


@shape(harder=True)
def values_by_or(text: str) -> str | None:
    return _values(text, "None or ", "")


@shape()
def annotated(text: str) -> str | None:
    source = Source(text)
    seen = set()
    for stmt in _assigned(source):
        target = source.of(stmt.targets[0])
        if target not in seen and "global" not in text:
            seen.add(target)
            source.insert(source.span(stmt.targets[0])[1], ": object")
    return source.done()


@shape()
def two_targets(text: str) -> str | None:
    source = Source(text)
    if source.uses("spare"):
        return None
    for stmt in _assigned(source):
        source.insert(source.span(stmt.value)[0], "spare = ")
    return source.done()


@shape()
def walrus(text: str) -> str | None:
    """`(x := value)` instead of `x = value`."""
    source = Source(text)
    inside = _in_class(source)
    for stmt in _assigned(source):
        if id(stmt) not in inside:
            name = source.of(stmt.targets[0])
            source.edits.append((source.span(stmt)[0], source.span(stmt.value)[0], f"({name} := "))
            source.insert(source.span(stmt)[1], ")")
    return source.done()


@shape()
def pairs(text: str) -> str | None:
    """`a, b = x, y` for neighbours that do not need each other."""
    source = Source(text)
    for block in source.blocks():
        index = 0
        while index + 1 < len(block):
            first, second = block[index : index + 2]
            index += 1
            if not (isinstance(first, ast.Assign) and isinstance(second, ast.Assign)):
                continue
            if first not in _assigned(source) or second not in _assigned(source):
                continue
            name = source.of(first.targets[0])
            later = {n.id for n in ast.walk(second) if isinstance(n, ast.Name)}
            if name in later or source.of(second.targets[0]) in {
                n.id for n in ast.walk(first.value) if isinstance(n, ast.Name)
            }:
                continue
            start, end = source.span(first)[0], source.span(second)[1]
            if "#" in source.text[start:end]:
                continue
            left = f"{name}, {source.of(second.targets[0])}"
            right = f"{source.of(first.value)}, {source.of(second.value)}"
            source.edits.append((start, end, f"{left} = {right}"))
            index += 1
    return source.done()


@shape(harder=True)
def starred_arguments(text: str) -> str | None:
    """`torch.zeros(*[2, 3])`."""
    source = Source(text)
    taken: list[tuple[int, int]] = []
    for call in source.calls():
        if source.of(call.func).startswith(("torch.", "nn.")) and call.args and plain_call(call):
            start = source.span(call.args[0])[0]
            end = source.span(call.args[-1])[1]
            if not any(a < end and start < b for a, b in taken):
                taken.append((start, end))
                source.insert(start, "*[")
                source.insert(end, "]")
    return source.done()


@shape(harder=True)
def keywords_from_a_dict(text: str) -> str | None:
    """`torch.ones(2, **{"requires_grad": True})`, also where there were no keywords."""
    source = Source(text)
    for call in source.calls():
        name = source.of(call.func)
        if not name.startswith(("torch.", "nn.")) or not plain_call(call):
            continue
        if not call.keywords:
            if call.args and source.text[source.span(call.args[-1])[1]] == ")":
                source.insert(source.span(call)[1] - 1, ", **{}")
            continue
        for keyword in call.keywords:
            start, end = source.span(keyword.value)
            name_start = source.text.rindex(keyword.arg or "", 0, start)
            source.edits.append((name_start, start, f'**{{"{keyword.arg}": '))
            source.insert(end, "}")
    return source.done()


@shape(harder=True)
def default_arguments(text: str) -> str | None:
    """Values are made as the default of a function's argument."""
    source = Source(text)
    for stmt in source.tree.body:
        if stmt in _assigned(source) and isinstance(stmt, ast.Assign):
            name, value = source.of(stmt.targets[0]), source.of(stmt.value)
            new = f"def give_{name}(value={value}):\n    return value\n\n\n{name} = give_{name}()"
            source.replace(stmt, new)
    return source.done()


@shape(harder=True)
def format_strings(text: str) -> str | None:
    """What is printed is put into a format string."""
    source = Source(text)
    for call in source.calls():
        if source.of(call.func) != "print" or call.keywords or not plain_call(call):
            continue
        parts = [source.of(a) for a in call.args]
        if not any("'" in p or "\\" in p or "{" in p or "\n" in p or "#" in p for p in parts):
            inner = " ".join("{" + p + "}" for p in parts)
            source.replace(call, f"print(f'''{inner}''')")
    return source.done()


@shape(harder=True)
def kept_in_a_list(text: str) -> str | None:
    """`x = [value][0]`."""
    return _values(text, "[", "][0]")


@shape(harder=True)
def kept_in_a_dict(text: str) -> str | None:
    """`x = {"value": value}["value"]`."""
    return _values(text, '{"value": ', '}["value"]')


@shape(harder=True)
def given_through_a_function(text: str) -> str | None:
    """`x = _given(value)`."""
    source = Source(text)
    new = _values(text, "_given(", ")")
    if new is None or "__future__" in text:
        return None
    end = source.head_end()
    lines = new.splitlines(keepends=True)
    helper = "\n\ndef _given(value):\n    return value\n\n\n"
    return "".join([*lines[:end], helper, *lines[end:]])
