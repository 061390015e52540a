"""What becomes of the encodings of tokenizers, whose package is not read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..context import Context

_PARTS = re.compile(r"input_ids|attention_mask|token_type_ids|pixel_values|decoder_input_ids")


def whole_encodings(ctx: Context) -> Iterator[tuple[Any, str, Any]]:
    """(statement, name, call) of `model(**enc)`: nobody moved `enc`, the model was moved."""
    for stmt in ctx.nodes.get(ast.Assign, []):
        target = stmt.targets[0]
        if not isinstance(target, ast.Name) or not _encodes(stmt.value):
            continue
        scope = ctx.function(stmt)
        for call in ctx.nodes.get(ast.Call, []):
            if ctx.function(call) is not scope or call.lineno <= stmt.lineno:
                continue
            if _rebound(ctx, scope, target.id, stmt, call):
                break
            given = any(_is_name(k.value, target.id) for k in call.keywords if k.arg is None)
            if given and _was_moved(ctx, call.func):
                yield stmt, target.id, call


def _is_name(node: Any, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _encodes(value: Any) -> bool:
    """`tokenizer(..., return_tensors="pt")`, without a move behind it."""
    return isinstance(value, ast.Call) and any(
        k.arg == "return_tensors" and isinstance(k.value, ast.Constant) and k.value.value == "pt"
        for k in value.keywords
    )


def _rebound(ctx: Context, scope: Any, name: str, stmt: Any, call: Any) -> bool:
    """Whether a name is bound again, or moved in place, between two places."""
    for node in ctx.nodes.get(ast.Name, []):
        if node.id != name or not stmt.end_lineno < node.lineno < call.lineno:
            continue
        parent = ctx.parents.get(id(node))
        moved = isinstance(parent, ast.Attribute) and parent.attr in ("to", "cuda", "items")
        if ctx.function(node) is scope and (isinstance(node.ctx, ast.Store) or moved):
            return True
    return False


def _was_moved(ctx: Context, func: Any) -> bool:
    """Whether the file moves what a call calls (`model`, or the owner of `model.generate`)."""
    names = {ast.unparse(func)}
    if isinstance(func, ast.Attribute):
        names.add(ast.unparse(func.value))
    for call in ctx.nodes.get(ast.Call, []):
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda"):
            continue
        stmt = ctx.statement(call)
        targets = stmt.targets if isinstance(stmt, ast.Assign) else []
        if ast.unparse(call.func.value) in names or any(ast.unparse(t) in names for t in targets):
            return True
    return False


def kept_parts(ctx: Context) -> Iterator[tuple[tuple[int, str], str, Any]]:
    """`mask = enc["attention_mask"]`: (function and encoding, part, where it is used)."""
    for stmt in ctx.nodes.get(ast.Assign, []):
        part, target = part_of(stmt.value), stmt.targets[0]
        if not part or not isinstance(target, ast.Name):
            continue
        scope = ctx.function(stmt)
        for node in ctx.nodes.get(ast.Name, []):
            if (
                node.id != target.id
                or ctx.function(node) is not scope
                or node.lineno <= stmt.lineno
            ):
                continue
            parent = ctx.parents.get(id(node))
            if isinstance(node.ctx, ast.Store) or isinstance(parent, ast.Attribute):
                break
            if isinstance(parent, (ast.Call, ast.keyword)):
                yield (id(scope), ast.unparse(stmt.value.value)), part, node
                break


def moved_names(ctx: Context, key: tuple[int, str]) -> dict[str, Any]:
    """Parts of an encoding that are moved behind the names that they got."""
    found: dict[str, Any] = {}
    for stmt in ctx.nodes.get(ast.Assign, []):
        part, target = part_of(stmt.value), stmt.targets[0]
        if not part or not isinstance(target, ast.Name):
            continue
        if (id(ctx.function(stmt)), ast.unparse(stmt.value.value)) != key:
            continue
        for node in ctx.nodes.get(ast.Attribute, []):
            if node.attr in ("to", "cuda") and _is_name(node.value, target.id):
                found[part] = node
    return found


def part_of(node: Any) -> str:
    """The name of the part of an encoding that an expression takes; else ""."""
    if isinstance(node, ast.Attribute):
        name: object = node.attr
    elif isinstance(node, ast.Subscript):
        name = node.slice.value if isinstance(node.slice, ast.Constant) else ""
    else:
        return ""
    return name if isinstance(name, str) and _PARTS.fullmatch(name) else ""
