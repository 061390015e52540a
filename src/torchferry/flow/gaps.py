"""What an analysis did not see: run-time code, code beyond its bounds, imports not followed.

Packages that the tables do not know are no gap of this kind: what they return is unknown, and the
rest of the code is analysed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from .values import Ext

if TYPE_CHECKING:
    from torchferry.source.document import Document

    from .interp import Interp

_DYNAMIC = {
    "builtins.exec": "code made at run time, by exec",
    "builtins.eval": "code made at run time, by eval",
    "builtins.__import__": "a module chosen at run time, by __import__",
    "importlib.import_module": "a module chosen at run time, by importlib",
}


class Gap(NamedTuple):
    """A place of a document that was not analysed. `node`: None for the whole line."""

    line: int
    node: Any
    reason: str


def gaps_of(ip: Interp, doc: Document) -> list[Gap]:
    """What was not analysed in a document, each place once, in the order of its lines."""
    found = [*_dynamic(ip, doc), *_beyond(ip, doc), *_imports(ip, doc), *_cells(doc)]
    return sorted({(g.line, g.reason): g for g in found}.values(), key=lambda g: (g.line, g.reason))


def _dynamic(ip: Interp, doc: Document) -> list[Gap]:
    found = []
    for event in ip.events:
        func = event.func
        if type(func) is Ext and func.name in _DYNAMIC and event.frame.unit.doc is doc:
            first = event.node.args[0] if getattr(event.node, "args", None) else None
            if not isinstance(first, ast.Constant):
                found.append(Gap(event.node.lineno, event.node, _DYNAMIC[func.name]))
    return found


def _beyond(ip: Interp, doc: Document) -> list[Gap]:
    """Functions that were called and never run: the work for one file is bounded."""
    return [
        Gap(func.node.lineno, func.node, f"`{func.name}`: the analysis stopped at its bounds")
        for func in ip.refused.values()
        if id(func.node) not in ip.followed and func.unit.doc is doc
    ]


def _imports(ip: Interp, doc: Document) -> list[Gap]:
    found = [
        Gap(node.lineno, node, f"`{module}`: no such file in the project")
        for node, unit, module in ip.lost_imports
        if unit.doc is doc
    ]
    for node, unit, what, reason in ip.unfollowed_imports:
        if unit.doc is doc:
            found.append(Gap(node.lineno, node, f"`{what}`: {reason}"))
    return found


def _cells(doc: Document) -> list[Gap]:
    cells = getattr(doc, "opaque_cells", ())
    return [Gap(line, None, f"cell {number}: not Python") for line, number in cells]
