"""Nodes of the other files that an analysis went through: whose they are, what is around them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .tree import walk

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

    @property
    def alone(self) -> bool:
        """Whether there is no other file."""
        return len(self.ip.units) < 2

    def doc_of(self, node: ast.AST) -> Document:
        """The document that a node stands in; the one under check where nothing else is known."""
        self._walk()
        return self._docs.get(id(node), self.doc)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around a node of another file."""
        if self.alone:
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
            _, parents = walk(unit.tree)
            self._parents.update(parents)
            self._docs.update(dict.fromkeys(parents, unit.doc))
            for original, twin in self.ip.loads.items():
                if original in parents:
                    self._docs[id(twin)] = unit.doc
                    self._parents[id(twin)] = parents[original]
