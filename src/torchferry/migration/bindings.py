"""Whether a name of the program's own is surely bound where it would be used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .scopes import Scopes

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_NAMED = _NESTED[:3]


def binding_statements(scope: Any, name: str) -> list[ast.stmt]:
    """The statements of a module or function (nested ones left out) that bind or delete `name`."""
    return [s for s in _statements(scope.body) if _binds(s, name)]


def _statements(body: Any) -> Iterator[ast.stmt]:
    for stmt in body if isinstance(body, list) else []:
        yield stmt
        if not isinstance(stmt, _NAMED):
            for block in _blocks(stmt):
                yield from _statements(block)


def _blocks(stmt: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of a compound statement."""
    found = [getattr(stmt, part, None) for part in ("body", "orelse", "finalbody")]
    for inner in (*getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ())):
        found.append(inner.body)
    return [block for block in found if block]


def _binds(stmt: ast.stmt, name: str) -> bool:
    """Whether the statement itself (its blocks left out) binds `name`."""
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return stmt.name == name
    if isinstance(stmt, (ast.Import, ast.ImportFrom)):
        return any((a.asname or a.name).split(".")[0] == name for a in stmt.names)
    stack: list[ast.AST] = [stmt]
    inner = {id(s) for block in _blocks(stmt) for s in block}
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return True
        if name in (getattr(node, "name", ""), getattr(node, "rest", "")):
            return True  # `except E as name`, `case {**name}`
        if isinstance(node, _NESTED):
            continue
        stack.extend(c for c in ast.iter_child_nodes(node) if id(c) not in inner)
    return False


def binds_surely(stmt: ast.stmt, name: str) -> bool:
    """Whether `name` is bound whenever control passes behind the statement."""
    if isinstance(stmt, ast.If):
        return bool(stmt.orelse) and all(_block_binds(b, name) for b in (stmt.body, stmt.orelse))
    if isinstance(stmt, ast.Try):
        if _block_binds(stmt.finalbody, name):
            return True
        paths = [stmt.body + stmt.orelse, *(h.body for h in stmt.handlers)]
        return all(_block_binds(b, name) for b in paths)
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        return _binds(stmt, name) or _block_binds(stmt.body, name)
    if isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)):
        return _binds(stmt, name) and getattr(stmt, "value", stmt) is not None
    return False


def _block_binds(block: list[ast.stmt], name: str) -> bool:
    """Whether a block binds `name` or does not reach its end."""
    return any(
        binds_surely(s, name) or isinstance(s, (ast.Raise, ast.Return)) or _exits(s) for s in block
    )


def _exits(stmt: ast.stmt) -> bool:
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) in ("exit", "quit", "sys.exit")


def bound_before(scopes: Scopes, scope: Any, name: str, node: ast.AST) -> bool:
    """Whether `name` is surely bound when control reaches `node`, a part of `scope`'s body."""
    current: ast.AST = node
    while current is not scope:
        parent = scopes.parents.get(id(current))
        if parent is None:
            return False
        if isinstance(current, ast.stmt):
            for block in (*_blocks(parent), getattr(parent, "body", None)):
                if isinstance(block, list) and current in block:
                    earlier = block[: block.index(current)]
                    if any(binds_surely(s, name) for s in earlier):
                        return True
        current = parent
    return False


def main_block(stmt: ast.stmt) -> list[ast.stmt]:
    """The statements of `if __name__ == "__main__":`; none for other statements."""
    return stmt.body if isinstance(stmt, ast.If) and "__name__" in ast.unparse(stmt.test) else []


def first_reached(tree: ast.Module, node: ast.AST) -> int:
    """The first line of module-level code that may run the function around `node`.

    Names are followed: a function is reached where it, or what mentions it, is mentioned.
    """
    top = next((s for s in tree.body if _holds(s, node)), None)
    if not isinstance(top, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return 0 if top is None else top.lineno
    names = {top.name}
    definitions = [s for s in _statements(tree.body) if isinstance(s, _NAMED)]
    mentions = {id(s): _mentioned(s) for s in definitions}
    grown = True
    while grown:
        more = {s.name for s in definitions if mentions[id(s)] & names} - names
        names |= more
        grown = bool(more)
    lines = [
        s.lineno
        for s in _statements(tree.body)
        if not isinstance(s, _NAMED) and _header_mentions(s) & names
    ]
    return min(lines, default=10**9)


def _holds(stmt: ast.stmt, node: ast.AST) -> bool:
    line = getattr(node, "lineno", 0)
    decorators = [d.lineno for d in getattr(stmt, "decorator_list", [])]
    return bool(min([stmt.lineno, *decorators]) <= line <= (stmt.end_lineno or 0))


def _mentioned(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _header_mentions(stmt: ast.stmt) -> set[str]:
    """The names in a statement, its blocks left out."""
    inner = {id(s) for block in _blocks(stmt) for s in block}
    found: set[str] = set()
    stack: list[ast.AST] = [stmt]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        stack.extend(c for c in ast.iter_child_nodes(node) if id(c) not in inner)
    return found
