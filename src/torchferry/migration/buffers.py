"""Which plain tensor attributes of modules become buffers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchferry.core.span import Span
from torchferry.flow.values import LEAF, PARAM, Func, Inst, Tensor

if TYPE_CHECKING:
    from torchferry.flow.interp import Interp
    from torchferry.source.document import Document


def find_buffers(ip: Interp, device_side: set[int]) -> dict[tuple[int, str], ast.Assign]:
    """(id of class, attribute) -> the assignment in __init__ that becomes register_buffer.

    Only where every assignment of the attribute stores a tensor, and the first stands in
    `__init__` behind `super().__init__()`: a buffer refuses what is no tensor.
    """
    found = {}
    learned = {ip.graph.find(var) for var in ip.learned}
    refused: set[int] = set()
    for key, sets in ip.attr_sets.items():
        stmt = _eligible(ip, sets, device_side - learned)
        if stmt is not None:
            found[key] = stmt
        else:
            refused.update(id(s) for _, s, _, _ in sets)
    # a class and its subclasses share the statement: all of them, or none
    return {key: stmt for key, stmt in found.items() if id(stmt) not in refused}


def moves(ip: Interp, device_side: set[int], key: tuple[int, str]) -> bool:
    """Whether an instance that keeps the attribute is moved."""
    for _, _, target, frame in ip.attr_sets.get(key, ()):
        inst = frame.vars.get(getattr(target.value, "id", ""))
        if isinstance(inst, Inst) and ip.graph.find(inst.state.get("var", 1)) in device_side:
            return True
    return False


def can_register(doc: Document, stmt: ast.Assign) -> bool:
    """Whether the assignment can be written as a call: `self.x = v`, `self.register_buffer(v)`."""
    behind = doc.text[doc.span(stmt.targets[0]).end :]
    return behind.lstrip(" \t").startswith("=") and not isinstance(
        stmt.value, (ast.Yield, ast.YieldFrom)
    )


def value_span(doc: Document, stmt: ast.Assign) -> Span:
    """All that stands behind `=`: brackets and comments around the value too."""
    equals = doc.text.index("=", doc.span(stmt.targets[0]).end)
    end = doc.span(stmt).end
    start = equals + 1
    return Span(start + len(doc.text[start:end]) - len(doc.text[start:end].lstrip(" \t")), end)


def _eligible(ip: Interp, sets: list[Any], device_side: set[int]) -> ast.Assign | None:
    value, stmt, target, frame = sets[0]
    if id(frame.unit.doc) not in ip.editable:
        return None
    func = frame.func
    if not isinstance(func, Func) or func.name != "__init__" or not isinstance(stmt, ast.Assign):
        return None
    if len(stmt.targets) != 1 or stmt.targets[0] is not target:
        return None
    for other, other_stmt, _, _ in sets:
        if not isinstance(other, Tensor) or other.flags & (LEAF | PARAM | 128):
            return None
        if other_stmt is None:
            return None
    if any(s is not stmt and f.func is func for _, s, _, f in sets):
        return None
    var = ip.graph.find(value.var)
    if var < 2 or var not in device_side or value.why is None:
        return None
    line = getattr(value.why.node, "lineno", 0)
    if value.why.unit is not frame.unit or not func.node.lineno <= line <= func.node.end_lineno:
        return None
    assert isinstance(target, ast.Attribute)
    if func.cls is None or func.cls.find(target.attr) is not None:
        return None  # a buffer refuses a name that the class has
    if not _super_called(func.node, stmt) or not can_register(frame.unit.doc, stmt):
        return None
    return stmt if _plain_self(target, func.node) else None


def _super_called(function: Any, stmt: ast.stmt) -> bool:
    for node in function.body:
        if (node.lineno, node.col_offset) >= (stmt.lineno, stmt.col_offset):
            return False
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and part.attr == "__init__":
                return True
    return False


def _plain_self(target: Any, function: Any) -> bool:
    args = function.args.posonlyargs + function.args.args
    return bool(args) and isinstance(target.value, ast.Name) and target.value.id == args[0].arg
