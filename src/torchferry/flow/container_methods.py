"""Methods of lists, dictionaries, strings and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .iteration import part_of
from .join import element, join_optional
from .values import HOST, NONE, UNKNOWN, Const, Map, Seq, Tensor, Value

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


def extend_sequence(ip: Interp, seq: Seq, other: Value) -> None:
    """`seq += other`, `seq.extend(other)`."""
    items = seq.state["items"]
    more = other.state["items"] if isinstance(other, Seq) else None
    if items is not None and more is not None and not ip.depth:
        ip.trail.set(seq.state, "items", items + more)
        return
    value = part_of(ip, other)
    ip.trail.set(seq.state, "elem", join_optional(ip, element(ip, seq), value))
    ip.trail.set(seq.state, "items", None)


def append(ip: Interp, seq: Seq, value: Value, expr: Any) -> None:
    """`seq.append(value)`: the place is kept, a move can be written there."""
    items = seq.state["items"]
    inserts = seq.state.get("inserts", ())
    if isinstance(value, Tensor) and not any(e is expr and v.var == value.var for v, e in inserts):
        ip.trail.set(seq.state, "inserts", (*inserts, (value, expr)))
    if items is not None and not ip.depth:
        ip.trail.set(seq.state, "items", [*items, value])
        return
    ip.trail.set(seq.state, "elem", join_optional(ip, element(ip, seq), value))
    ip.trail.set(seq.state, "items", None)


def call_container_method(
    ip: Interp, receiver: Any, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """Methods of lists, dictionaries, strings and numbers."""
    if isinstance(receiver, Seq):
        return _seq_method(ip, receiver, name, args, node)
    if isinstance(receiver, Map):
        return _map_method(ip, receiver, name, args)
    if name in ("split", "splitlines", "strip", "lower", "format", "join", "encode", "readlines"):
        return Seq("list", None, HOST) if name in ("split", "splitlines", "readlines") else HOST
    return HOST


def _seq_method(ip: Interp, seq: Seq, name: str, args: list[Arg], node: Any) -> Value:
    if name in ("append", "add", "appendleft") and args:
        append(ip, seq, args[0][0], args[0][1])
        return NONE
    if name == "insert" and len(args) > 1:
        append(ip, seq, args[1][0], args[1][1])
        return NONE
    if name in ("extend", "update") and args:
        extend_sequence(ip, seq, args[0][0])
        return NONE
    if name in ("pop", "popleft", "__next__", "next"):
        items = seq.state["items"]
        if items and not ip.depth and name == "pop" and not args:
            ip.trail.set(seq.state, "items", items[:-1])
            return items[-1]  # type: ignore[no-any-return]
        return part_of(ip, seq)
    if name in ("copy", "__iter__"):
        return Seq(seq.kind, seq.state["items"], seq.state["elem"])
    if name == "clear":
        ip.trail.set(seq.state, "items", [])
        return NONE
    return HOST


def _map_method(ip: Interp, base: Map, name: str, args: list[Arg]) -> Value:
    values: Value | None = None
    for value in base.state.values():
        values = join_optional(ip, values, value)
    values = values or UNKNOWN
    if name == "items":
        return Seq("iter", None, Seq("tuple", [HOST, values]))
    if name == "values":
        if base.state["elem"] is None and len(base.state) > 1:
            return Seq("iter", [v for k, v in base.state.items() if k != "elem"])
        return Seq("iter", None, values)
    if name == "keys":
        return Seq("iter", None, HOST)
    if name in ("get", "pop", "setdefault"):
        label = args[0][0] if args else UNKNOWN
        if isinstance(label, Const) and ("k", label.value) in base.state:
            return base.state[("k", label.value)]  # type: ignore[no-any-return]
        if name == "setdefault" and len(args) > 1:
            ip.trail.set(base.state, "elem", join_optional(ip, base.state["elem"], args[1][0]))
            return args[1][0]
        return values
    if name == "update" and args and isinstance(args[0][0], Map):
        for key, value in args[0][0].state.items():
            if value is not None:
                ip.trail.set(base.state, key, value)
        return NONE
    if name == "copy":
        copy = Map()
        copy.state.update(base.state)
        return copy
    return HOST
