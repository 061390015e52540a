"""The tensors among the operands of a call, with the expressions they stand at."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .values import Batch, Map, Seq, Tensor, Value

if TYPE_CHECKING:
    from .interp import Interp


Operand = tuple[Value, Any]  #: value and expression


def used(value: Value) -> Value:
    """A batch that is used as a tensor is one."""
    if type(value) is Batch:
        return Tensor(value.var, value.dev, 0, value.why)
    return value


def tensors_in(ip: Interp, operands: list[Operand]) -> list[tuple[Tensor, Any]]:
    """The tensors among the operands, those in lists and tuples too, with their expressions."""
    found: list[tuple[Tensor, Any]] = []
    for value, expr in operands:
        kind = type(value)
        if kind is Tensor:
            found.append((value, expr))  # type: ignore[arg-type]
        elif kind is Batch:
            found.append((used(value), expr))  # type: ignore
        elif kind is Seq:
            found.extend(tensors_in(ip, parts_of(value, expr)))  # type: ignore[arg-type]
        elif kind is Map:
            parts = [(v, None) for v in value.state.values() if v is not None]  # type: ignore
            found.extend(tensors_in(ip, parts))
    return found


def parts_of(seq: Seq, expr: Any) -> list[Operand]:
    """What a sequence holds; an expression is None where no place is known for it."""
    items = seq.state["items"]
    if items is not None:
        display: list[Any] | None = seq.nodes
        if display is not None and len(display) != len(items):
            display = None
        if isinstance(expr, (ast.Tuple, ast.List)) and len(expr.elts) == len(items):
            display = expr.elts
        inserted = seq.state.get("inserts", ())
        if display is None and len(inserted) == len(items):
            return list(inserted)
        return list(zip(items, display or [None] * len(items), strict=False))
    inserted = seq.state.get("inserts", ())
    if inserted:
        return list(inserted)
    return [(seq.state["elem"], None)] if seq.state["elem"] is not None else []
