"""Loops: the body runs until it shows nothing new, or once for each of a few objects."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .binding import assign
from .iteration import loader_item, part_of
from .values import Bound, Class, Func, Inst, Seq, truth

if TYPE_CHECKING:
    from .interp import Interp


def for_loop(ip: Interp, node: Any) -> bool:
    """`for target in iterable: ...`"""
    iterable = ip.eval(node.iter)
    item = loader_item(ip, iterable, node.iter)
    if item is None:
        item = part_of(ip, iterable)

    if not ip.migrating:
        ip.note("loop", node, iterable, item, ip.frame, ip.exploring)
    each = objects_of(iterable)
    if each is not None:
        # a list of different objects (layers): each has its turn, in order
        for one in each:

            def turn(one: Any = one) -> bool:
                assign(ip, node.target, one, node)
                return ip.exec_block(node.body)

            if not ip.iteration(turn):
                break
        return ip.exec_block(node.orelse) if node.orelse else False

    def body() -> bool:
        assign(ip, node.target, item, node)
        return ip.exec_block(node.body)

    ip.loop(body)
    return ip.exec_block(node.orelse) if node.orelse else False


def objects_of(iterable: Any) -> list[Any] | None:
    """The items of a known, short sequence of objects or functions; None for others."""
    items = None
    if isinstance(iterable, Seq):
        items = iterable.state["items"]
        if items is not None and iterable.kind == "iter" and items and isinstance(items[0], Seq):
            inner = items[0].state["items"]
            if not inner or not any(isinstance(v, _OBJECTS) for v in inner):
                return None
            return items if len(items) <= 24 else None
    elif isinstance(iterable, Inst) and iterable.kind == "module" and iterable.cls is None:
        items = [v for v in iterable.attrs.values() if isinstance(v, _OBJECTS)]
    if not items or len(items) > 24 or not all(isinstance(v, _OBJECTS) for v in items):
        return None
    return list(items)


_OBJECTS = (Inst, Func, Bound, Class)


def while_loop(ip: Interp, node: ast.While) -> bool:
    """`while test: ...`"""

    def body() -> bool:
        ip.eval(node.test)
        return ip.exec_block(node.body)

    known = truth(ip.eval(node.test))
    if known is not False:
        ip.loop(body)
    return ip.exec_block(node.orelse) if node.orelse else False
