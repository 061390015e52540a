"""Where an expression stands, and which device expression can be written there."""

from __future__ import annotations

import ast
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Scopes:
    """Parents of the nodes of a tree, and the names that each scope binds."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parents: dict[int, ast.AST] = {}
        self.names: set[str] = set()
        stack: list[ast.AST] = [tree]
        while stack:
            node = stack.pop()
            for child in ast.iter_child_nodes(node):
                self.parents[id(child)] = node
                stack.append(child)
            if isinstance(node, ast.Name):
                self.names.add(node.id)
            elif isinstance(node, ast.arg):
                self.names.add(node.arg)
            elif isinstance(node, ast.alias):
                self.names.add((node.asname or node.name).split(".")[0])
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                self.names.update(node.names)
            else:  # def, class, `except E as name`, `case {**name}`
                for part in ("name", "rest"):
                    found = getattr(node, part, None)
                    if isinstance(found, str):
                        self.names.add(found)

    def chain(self, node: ast.AST) -> list[Any]:
        """The functions and classes around `node`, innermost first."""
        found = []
        child: ast.AST = node
        parent = self.parents.get(id(node))
        while parent is not None:
            # decorators and default arguments belong to the scope outside
            if isinstance(parent, _SCOPES) and not _outside(parent, child):
                found.append(parent)
            child, parent = parent, self.parents.get(id(parent))
        return found

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that `node` is part of."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(id(current))
        return current

    def top_statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement of the module that `node` is part of."""
        current: ast.AST | None = node
        while current is not None:
            parent = self.parents.get(id(current))
            if parent is self.tree and isinstance(current, ast.stmt):
                return current
            current = parent
        return None

    def free_name(self, wanted: str) -> str:
        """`wanted`, or a like name that the file does not use."""
        name, number = wanted, 1
        while name in self.names:
            name = f"torch_{wanted}" if number == 1 else f"torch_{wanted}_{number}"
            number += 1
        return name


def _outside(scope: Any, child: ast.AST) -> bool:
    if isinstance(scope, ast.Lambda):
        return child is scope.args
    if isinstance(scope, ast.ClassDef):
        return child in scope.bases or child in scope.decorator_list or child in scope.keywords
    return child is scope.args or child in scope.decorator_list or child is scope.returns


def rebinds(function: Any, name: str) -> bool:
    """Whether the function's body binds `name` itself (nested functions left out)."""
    body = function.body if isinstance(function.body, list) else [function.body]
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name == name:
                return True
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)) and any(
            (a.asname or a.name).split(".")[0] == name for a in node.names
        ):
            return True
        if not isinstance(node, ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))
    return False
