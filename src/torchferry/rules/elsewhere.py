"""Nodes of the other files that an analysis went through: whose they are, what is around them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchferry.flow.interp import Interp
    from torchferry.source.document import Document


class Elsewhere:
    """The trees of all files but the one under check; walked when first asked."""

    def __init__(self, doc: Document, ip: Interp) -> None:
        self.doc, self.ip = doc, ip
        self._known = -1  #: how many files were there when the trees were walked
        self._docs: dict[int, Document] = {}
        self._parents: dict[int, ast.AST] = {}

    def doc_of(self, node: ast.AST) -> Document:
        """The document that a node stands in; the one under check where nothing else is known."""
        if len(self.ip.units) < 2:
            return self.doc
        self._walk()
        return self._docs.get(id(node), self.doc)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around a node of another file."""
        if len(self.ip.units) < 2:
            return None
        self._walk()
        return self._parents.get(id(node))

    def _walk(self) -> None:
        if self._known == len(self.ip.units):
            return
        self._known = len(self.ip.units)
        for unit in self.ip.units.values():
            if unit.doc is self.doc:
                continue
            stack: list[ast.AST] = [unit.tree]
            while stack:
                node = stack.pop()
                self._docs[id(node)] = unit.doc
                for child in ast.iter_child_nodes(node):
                    self._parents[id(child)] = node
                    stack.append(child)
                twin = self.ip.loads.get(id(node))
                if twin is not None:
                    self._docs[id(twin)] = unit.doc
                    self._parents[id(twin)] = self._parents[id(node)]
