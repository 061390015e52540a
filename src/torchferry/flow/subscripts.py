"""Reading and writing items."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .borders import border
from .graph import HOST_NODE
from .iteration import dataset_item, part_of
from .join import Choice, element, join, join_optional
from .module_tree import child_modules, register
from .operands import tensors_in
from .operators import AFTER, USE, bound_tensor, live, meet, move_cost, written
from .values import (
    ACCEL,
    ARRAY,
    CHECKED,
    CPU,
    HOST,
    INTEGER,
    MAYBE_NUMBER,
    PARAM,
    SCALAR,
    UNKNOWN,
    UNSURE,
    Array,
    Batch,
    Class,
    Const,
    Ext,
    HostObject,
    Inst,
    Kept,
    Map,
    Seq,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from .interp import Interp


def get_item(ip: Interp, node: ast.Subscript) -> Value:
    """`base[index]`."""
    base = ip.eval(node.value)
    index = ip.eval(node.slice)
    kind = type(base)
    if kind is Tensor:
        return _of_tensor(ip, node, base, index)  # type: ignore[arg-type]
    if kind is Seq:
        return _of_seq(ip, base, index, node)  # type: ignore[arg-type]
    if kind is Map:
        found = _of_map(ip, base, index)  # type: ignore[arg-type]
        return _kept_in(ip, node, found) if type(found) is Tensor and not ip.migrating else found
    if kind is Batch:
        return bound_tensor(ip, base, node, "append", None)  # type: ignore[arg-type]
    if kind is Array or kind is HostObject:
        border(ip, node, index, node.slice, "numpy")
        return base
    if base is HOST or (kind is Const and isinstance(base.value, str)):  # type: ignore
        return HOST
    if kind is Inst:
        return _of_instance(ip, base, index, node)  # type: ignore[arg-type]
    if kind in (Ext, Class):
        return base  # a generic: List[Tensor]
    if kind is Choice:
        return UNKNOWN
    return UNKNOWN


def _of_tensor(ip: Interp, node: ast.Subscript, base: Tensor, index: Value) -> Value:
    if not ip.migrating:
        base = live(base)
    if index_edges(ip, node, base, index, node.slice):
        base = Tensor(base.var, UNSURE, base.flags, base.why)  # one finding is enough
    whole = isinstance(index, Const) and type(index.value) is int
    if whole and base.flags & SCALAR and not ip.migrating:
        return HOST  # `loss.data[0]`, a number until torch 0.4
    graph = ip.graph
    root = graph.find(base.var)
    if root == HOST_NODE and base.flags & 16:
        return bound_tensor(ip, base, node, "append", None)
    var = root
    if root != 0:
        var = graph.variable(("item", id(node), ip.frame.ctx), "item")
        cost = move_cost(ip, AFTER)
        graph.edge(root, var, cost, cost, node, ip.frame.unit, "use")
        graph.views[var] = root
    return Tensor(var, base.dev, base.flags & (128 | CHECKED), base.why)


def index_edges(ip: Interp, node: Any, base: Tensor, index: Value, expr: Any) -> bool:
    """A device index into a host tensor is refused; the other way round is legal. True: refused."""
    graph = ip.graph
    refused = False
    for tensor, part in tensors_in(ip, [(index, expr)]):
        u, v = graph.find(tensor.var), graph.find(base.var)
        if u != v:
            graph.edge(u, v, move_cost(ip, USE), 0, part, ip.frame.unit, "use")
            # an index that only serves device tensors may as well be made there
            graph.edge(v, u, 1, 0, None, None, "index follows")
        if not ip.migrating and ip.stack and base.dev == tensor.dev == CPU and not ip.exploring:
            meeting = ip.clash("index", node, "index", [[(base, None), (tensor, part)], 0])
            ip.clashes.remove(meeting)
            ip.meetings.append(meeting)
        if not ip.migrating and base.dev == CPU and tensor.dev == ACCEL:
            if tensor.flags & SCALAR and tensor.flags & INTEGER:
                continue  # read as a number
            ip.clash("index", node, "index", [[(base, None), (tensor, part)], 0])
            refused = True
    return refused


def _of_seq(ip: Interp, seq: Seq, index: Value, node: ast.Subscript) -> Value:
    items = seq.state["items"]
    if isinstance(node.slice, ast.Slice):
        if items is not None and _plain_slice(node.slice):
            return Seq(seq.kind, items[_bounds(node.slice)])
        result = Seq(seq.kind, None, element(ip, seq))
        return result
    if isinstance(index, Const) and isinstance(index.value, int) and items is not None:
        if -len(items) <= index.value < len(items):
            return items[index.value]  # type: ignore[no-any-return]
        return UNKNOWN
    return part_of(ip, seq)


def position_in(items: list[Value], index: Value) -> int | None:
    """The known index of an item that is there; None for others."""
    if isinstance(index, Const) and isinstance(index.value, int):
        return index.value if -len(items) <= index.value < len(items) else None
    return None


def _plain_slice(node: ast.Slice) -> bool:
    return all(
        p is None or (isinstance(p, ast.Constant) and isinstance(p.value, int))
        for p in (node.lower, node.upper, node.step)
    )


def _bounds(node: ast.Slice) -> slice:
    values = [None if p is None else p.value for p in (node.lower, node.upper, node.step)]  # type: ignore
    return slice(*values)


def _owner(ip: Interp, held: Any) -> Inst | None:
    """The module whose attribute an expression reads: `self` of `self.cache`."""
    if not isinstance(held, ast.Attribute) or not isinstance(held.value, ast.Name):
        return None
    owner = ip.lookup(held.value.id)
    return owner if isinstance(owner, Inst) and owner.kind == "module" and owner.cls else None


def _kept_in(ip: Interp, node: ast.Subscript, value: Tensor) -> Tensor:
    """A tensor in a dictionary that a module keeps: moving the module does not reach it."""
    owner = _owner(ip, node.value)
    if owner is None or value.flags & PARAM or owner in ip.constructing:
        return value
    attr = node.value.attr  # type: ignore[attr-defined]
    text = f"kept in the dictionary {attr}"
    why = Kept(text, node, ip.frame.unit, value.why, owner, attr)
    return Tensor(value.var, value.dev, value.flags, why)


def _of_map(ip: Interp, base: Map, index: Value) -> Value:
    if isinstance(index, Const):
        found = base.state.get(("k", index.value))
        if found is not None:
            return found  # type: ignore[no-any-return]
        elem = base.state["elem"]
        return UNKNOWN if elem is None else elem
    result: Value | None = None
    for value in base.state.values():
        result = join_optional(ip, result, value)
    return result or UNKNOWN


def _of_instance(ip: Interp, inst: Inst, index: Value, node: ast.Subscript) -> Value:
    if inst.kind == "module" and inst.cls is None:
        children = child_modules(inst)
        place = position_in(children, index)
        if place is not None:
            return children[place]
        if isinstance(index, Const) and isinstance(index.value, str):
            return inst.attrs.get(index.value, UNKNOWN)
        result: Any = None
        for child in children:
            result = child if result is None else join(ip, result, child)
        return result or UNKNOWN
    item = dataset_item(ip, inst, node)
    return UNKNOWN if item is None else item


def set_item(ip: Interp, target: ast.Subscript, value: Value) -> None:
    """`base[index] = value`."""
    base = ip.eval(target.value)
    index = ip.eval(target.slice)
    if isinstance(base, Tensor):
        written(ip, base)
        if not ip.migrating and isinstance(value, Tensor):
            ip.note("set-item", target, base, value, ip.frame, ip.exploring)
        refused = index_edges(ip, target, base, index, target.slice)
        if not ip.migrating and not refused and isinstance(value, Tensor):
            _put(ip, target, base, index, value)
        if isinstance(value, Tensor) and tensors_in(ip, [(index, None)]):
            u, v = ip.graph.find(value.var), ip.graph.find(base.var)
            if u != v and not value.flags & 1:
                ip.graph.edge(u, v, 400, 400, None, None, "use")
        elif isinstance(value, Tensor):
            # legal across devices, but it is a copy each time
            u, v = ip.graph.find(value.var), ip.graph.find(base.var)
            if u != v:
                ip.graph.edge(u, v, ip.weight, ip.weight, None, None, "setitem")
    elif isinstance(base, Seq):
        _set_in_seq(ip, base, index, value)
    elif isinstance(base, Map):
        owner = _owner(ip, target.value) if isinstance(value, Tensor) and not ip.migrating else None
        if owner is not None and owner.cls is not None:
            key = (id(owner.cls.node), target.value.attr)  # type: ignore[attr-defined]
            ip.attr_sets.setdefault(key, []).append((value, target, target.value, ip.frame))
        if isinstance(index, Const):
            ip.trail.set(base.state, ("k", index.value), value)
        else:
            ip.trail.set(base.state, "elem", join_optional(ip, base.state["elem"], value))
    elif isinstance(base, Inst) and base.kind == "module" and not ip.migrating:
        label = str(index.value) if isinstance(index, Const) else f"?{len(base.attrs)}"
        register(ip, base, label, value)
    elif base is ARRAY or isinstance(base, HostObject):
        border(ip, target, value, None, "numpy item")
        if isinstance(value, Tensor):
            ip.note("array-item", target, value, ip.frame.unit)


def _put(ip: Interp, target: ast.Subscript, base: Tensor, index: Value, value: Tensor) -> None:
    """`base[index] = value` with an index of tensors: the values are on the device of the base."""
    if {base.dev, value.dev} != {CPU, ACCEL} or value.flags & (SCALAR | MAYBE_NUMBER):
        return
    if any(not t.flags & SCALAR for t, _ in tensors_in(ip, [(index, None)])):
        ip.clash("mixed", target, "index_put", [[(base, None), (value, None)], base.dev], base)


def _set_in_seq(ip: Interp, base: Seq, index: Value, value: Value) -> None:
    items = base.state["items"]
    place = None if items is None else position_in(items, index)
    if place is not None:
        new = list(items)
        new[place] = value
        ip.trail.set(base.state, "items", new)
        return
    ip.trail.set(base.state, "elem", join_optional(ip, element(ip, base), value))
    ip.trail.set(base.state, "items", None)


def set_item_operator(ip: Interp, target: ast.Subscript, right: Value, expr: Any) -> None:
    """`base[index] += value`."""
    load = ip.loads.get(id(target))
    if load is None:
        load = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
        ip.loads[id(target)] = load
    base = ip.eval(target.value)
    left = ip.eval(load)
    if isinstance(base, Tensor) and isinstance(left, Tensor):
        ip.graph.same(left.var, base.var)
        written(ip, base)
        meet(
            ip, target, [(right, expr)], "add", elementwise=True, place=base.var,
            place_dev=base.dev, owner=base,
        )  # fmt: skip
    elif isinstance(left, Tensor) or isinstance(right, Tensor):
        value = meet(ip, target, [(left, None), (right, expr)], "add", elementwise=True)
        if base is ARRAY:
            border(ip, target, right, expr, "numpy item")
            return
        if isinstance(base, Seq):
            _set_in_seq(ip, base, ip.eval(target.slice), value)
        elif isinstance(base, Map):
            set_item(ip, target, value)
