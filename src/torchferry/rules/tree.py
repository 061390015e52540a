"""One walk over a syntax tree, as fast as Python allows: most of a check is not worth two."""

from __future__ import annotations

import ast
from typing import Any

#: what expressions share: no place, and nothing below
_SHARED = frozenset(
    kind
    for base in (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
    for kind in base.__subclasses__()
)
_PLAIN = _SHARED | {int, str, type(None), float, bool, bytes, complex, type(...)}
_LEAVES = frozenset((ast.Name, ast.Constant, ast.Pass, ast.alias))

Nodes = dict[type, list[Any]]
Parents = dict[int, ast.AST]


def walk(tree: ast.AST) -> tuple[Nodes, Parents]:
    """All nodes by type, in the order of the text; and id(node) -> the node around it.

    Operators and contexts (`ast.Add`, `ast.Load`) are left out: they are shared between places.
    """
    nodes: Nodes = {}
    parents: Parents = {}
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        kind = node.__class__
        known = nodes.get(kind)
        if known is None:
            nodes[kind] = [node]
        else:
            known.append(node)
        if kind in _LEAVES:
            continue
        start = len(stack)
        for value in node.__dict__.values():
            if value.__class__ in _PLAIN:
                continue
            if value.__class__ is not list:
                value = (value,)
            for child in value:
                if child.__class__ not in _PLAIN:
                    parents[id(child)] = node
                    stack.append(child)
        stack[start:] = stack[start:][::-1]
    return nodes, parents
