"""The tree of modules: registering children, and moving a module with all that is below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph import DEVICE_NODE, HOST_NODE
from .join import Choice, join
from .values import (
    ACCEL,
    CPU,
    PARAM,
    UNKNOWN,
    UNSURE,
    Bound,
    Ext,
    Func,
    Inst,
    Map,
    Seq,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


def adopt_arguments(ip: Interp, inst: Inst, args: list[Arg]) -> None:
    """The modules among the arguments become children (Sequential, ModuleList, encoders)."""
    index = 0
    for value, _, _ in args:
        parts: list[Value] = [value]
        if isinstance(value, Seq):
            items = value.state["items"]
            parts = items if items is not None else [value.state["elem"] or UNKNOWN]
        elif isinstance(value, Map):
            parts = []
            for key, item in value.state.items():
                if item is None:
                    continue
                if key != "elem" and isinstance(item, Inst) and item.kind == "module":
                    inst.attrs[str(key[1])] = item
                    adopt(ip, inst, item, by_constructor=True)
                else:
                    parts.append(item)
        for part in parts:
            if isinstance(part, Seq) and part.state["items"]:
                part = part.state["items"][-1]
            options = part.options if isinstance(part, Choice) else (part,)
            for option in options:
                if isinstance(option, Inst) and option.kind == "module":
                    inst.attrs[f"{index}"] = option
                    adopt(ip, inst, option, by_constructor=True)
                    index += 1
                elif isinstance(option, Tensor) and option.flags & PARAM and option.var >= 2:
                    ip.graph.same(option.var, inst.state["var"])
                    inst.attrs[f"{index}"] = option
                    index += 1
                elif isinstance(option, (Func, Bound, Ext)):
                    inst.attrs[f"{index}"] = option
                    index += 1


def adopt(ip: Interp, parent: Inst, child: Inst, *, by_constructor: bool = False) -> None:
    """`child` is registered in `parent`: it moves with it, unless it comes after the move."""
    if by_constructor or ip.constructing:
        ip.owned.add(id(child.node))
    mine, other = parent.state.get("var", HOST_NODE), child.state.get("var", HOST_NODE)
    if mine >= 2 and other >= 2:
        ip.graph.same(other, mine)
    child.state["parent"] = parent
    if not ip.migrating:
        ip.note("adopted", parent, child, parent.state.get("dev"), child.state.get("dev"), ip.frame)


def register(ip: Interp, parent: Inst, label: str, value: Value) -> None:
    """Store a child under `label`, whatever way it is registered."""
    for option in value.options if isinstance(value, Choice) else (value,):
        if isinstance(option, Inst) and option.kind == "module":
            adopt(ip, parent, option)
            key = label if value is option else f"{label}?{len(parent.attrs)}"
            ip.trail.set(parent.attrs, key, option)


def child_modules(inst: Inst) -> list[Value]:
    """The registered modules, in order."""
    return [v for v in inst.attrs.values() if isinstance(v, (Inst, Func, Bound, Ext))]


def place(ip: Interp, inst: Inst, bits: int, seen: set[int] | None = None) -> None:
    """The module and all that it registers is moved, in place."""
    seen = seen if seen is not None else set()
    if id(inst) in seen:
        return
    seen.add(id(inst))
    ip.note("module-moved", inst, bits)
    ip.trail.set(inst.state, "var", HOST_NODE if bits == CPU else DEVICE_NODE)
    ip.trail.set(inst.state, "dev", bits if bits in (CPU, ACCEL) else UNSURE)
    for value in list(inst.attrs.values()):
        for option in value.options if isinstance(value, Choice) else (value,):
            if isinstance(option, Inst) and option.kind == "module":
                place(ip, option, bits, seen)


def adopt_into(ip: Interp, inst: Inst, value: Value) -> None:
    """Append a child (or several) to a container."""
    values = [value]
    if isinstance(value, Seq):
        values = value.state["items"] or [value.state["elem"] or UNKNOWN]
    for one in values:
        if isinstance(one, (Inst, Choice)):
            register(ip, inst, f"{len(inst.attrs)}", one)
        elif isinstance(one, Tensor) and one.flags & PARAM and one.var >= 2:
            ip.graph.same(one.var, inst.state["var"])
            ip.trail.set(inst.attrs, f"{len(inst.attrs)}", one)


def children_of(ip: Interp, inst: Inst) -> Seq:
    """The child modules, as something to iterate."""
    modules = [v for v in inst.attrs.values() if isinstance(v, Inst) and v.kind == "module"]
    if modules:
        return Seq("iter", list(modules))
    elem: Any = None
    for child in inst.attrs.values():
        if isinstance(child, Inst) and child.kind == "module":
            elem = child if elem is None else join(ip, elem, child)
    return Seq("iter", None, elem if elem is not None else UNKNOWN)
