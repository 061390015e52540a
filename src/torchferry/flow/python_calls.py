"""Builtins, methods of containers, and the standard library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchferry.torchapi.hosts import BUILTINS_FINE

from .binding import part_of
from .join import Choice, element, join, join_optional
from .operators import border, meet
from .values import (
    ARRAY,
    HOST,
    NONE,
    UNKNOWN,
    Array,
    Bound,
    Const,
    Ext,
    Func,
    HostObject,
    Inst,
    Map,
    Seq,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


def call_builtin(
    ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """A builtin function or type."""
    handler = _BUILTINS.get(name)
    if handler is not None:
        return handler(ip, args, kwargs, node)  # type: ignore[no-any-return]
    if name == "isinstance" and len(args) == 2:
        return _isinstance(args[0][0], args[1][0])
    if name == "getattr" and len(args) > 1:
        from .attributes import attribute_of

        label = args[1][0]
        if isinstance(label, Const) and isinstance(label.value, str):
            return attribute_of(ip, args[0][0], label.value, node)
        return UNKNOWN
    if name == "setattr" and len(args) == 3:
        _setattr(ip, args[0][0], args[1][0], args[2][0])
        return NONE
    if name in ("float", "int", "bool") and args and isinstance(args[0][0], Tensor):
        if not ip.migrating:
            ip.note("item", node, args[0][0], ip.depth, ip.frame.unit)
        return HOST
    return HOST if name in BUILTINS_FINE else UNKNOWN


def _setattr(ip: Interp, base: Value, label: Value, value: Value) -> None:
    if not isinstance(base, Inst):
        return
    known = isinstance(label, Const) and isinstance(label.value, str)
    name = str(label.value) if isinstance(label, Const) and known else f"?{len(base.attrs)}"
    if base.kind == "module" and isinstance(value, (Inst, Choice)):
        from .module_calls import register

        register(ip, base, name, value)
    elif known:
        ip.trail.set(base.attrs, name, value)


def _isinstance(value: Value, kind: Value) -> Value:
    names = [kind] if not isinstance(kind, Seq) else (kind.state["items"] or [])
    if isinstance(value, Tensor) and not value.flags & 128:
        for one in names:
            if isinstance(one, Ext) and one.name in ("torch.Tensor", "torch.autograd.Variable"):
                return Const(True)
        return Const(False) if all(isinstance(n, Ext) for n in names) and names else HOST
    return HOST


def _enumerate(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    from .statements import _objects

    each = _objects(args[0][0]) if args else None
    if each is not None:
        return Seq("iter", [Seq("tuple", [HOST, one]) for one in each])
    item = _item(ip, args)
    return Seq("iter", None, Seq("tuple", [HOST, item]))


def _item(ip: Interp, args: list[Arg]) -> Value:
    return part_of(ip, args[0][0]) if args else UNKNOWN


def _zip(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    if any(starred for _, _, starred in args):
        if len(args) == 1:
            inner = part_of(ip, args[0][0])
            if isinstance(inner, Seq) and inner.state["items"] is not None:
                return Seq("list", [Seq("tuple", None, i) for i in inner.state["items"]])
        return UNKNOWN
    return Seq("iter", None, Seq("tuple", [part_of(ip, v) for v, _, _ in args]))


def _to_list(kind: str) -> Any:
    def run(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
        if not args:
            return Seq(kind, [])
        value = args[0][0]
        if isinstance(value, Seq):
            copy = Seq(kind, value.state["items"], value.state["elem"])
            if "module" in value.state:
                copy.state["module"] = value.state["module"]
            if "inserts" in value.state:
                copy.state["inserts"] = value.state["inserts"]
            return copy
        if isinstance(value, Array) or value is HOST or isinstance(value, Const):
            return Seq(kind, None, HOST if value is not ARRAY else ARRAY)
        item = part_of(ip, value)
        return Seq(kind, None, item)

    return run


def _dict(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    result = Map()
    if args:
        if isinstance(args[0][0], Map):
            result.state.update(args[0][0].state)
        else:
            pair = part_of(ip, args[0][0])
            if isinstance(pair, Seq) and pair.state["items"] and len(pair.state["items"]) == 2:
                result.state["elem"] = pair.state["items"][1]
            else:
                result.state["elem"] = UNKNOWN
    for key, (value, _, _) in kwargs.items():
        result.state[("k", key)] = value
    return result


def _next(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    return _item(ip, args)


def _iter(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    return args[0][0] if args else UNKNOWN


def _map(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    from .calls import call_value

    if len(args) < 2:
        return UNKNOWN
    items: list[Arg] = [(part_of(ip, v), None, False) for v, _, _ in args[1:]]
    return Seq("iter", None, call_value(ip, args[0][0], items, {}, node))


def _filter(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    if len(args) < 2:
        return UNKNOWN
    value = args[1][0]
    seq = Seq("iter", None, part_of(ip, value))
    if isinstance(value, Seq) and "module" in value.state:
        seq.state["module"] = value.state["module"]
    return seq


def _sum(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    item = _item(ip, args)
    if isinstance(item, Tensor):
        return Tensor(item.var, item.dev, item.flags, item.why)
    return item if item in (ARRAY, UNKNOWN) else HOST


def _extreme(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    if len(args) == 1:
        return _item(ip, args)
    operands = [(v, e) for v, e, _ in args]
    if any(isinstance(v, Tensor) for v, _ in operands):
        return meet(ip, node, operands, "max", elementwise=True)
    return HOST if all(isinstance(v, Const) or v is HOST for v, _ in operands) else UNKNOWN


def _unary(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    if args and isinstance(args[0][0], Tensor):
        return meet(ip, node, [(args[0][0], args[0][1])], "abs", flags=args[0][0].flags & 1)
    return args[0][0] if args and args[0][0] is ARRAY else HOST


def _sorted(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    return Seq("list", None, _item(ip, args))


def _reversed(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    if args and isinstance(args[0][0], Seq):
        items = args[0][0].state["items"]
        if items is not None:
            return Seq("iter", list(reversed(items)))
    return Seq("iter", None, _item(ip, args))


def _range(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    return Seq("iter", None, HOST)


_BUILTINS: dict[str, Any] = {
    "enumerate": _enumerate,
    "zip": _zip,
    "list": _to_list("list"),
    "tuple": _to_list("tuple"),
    "set": _to_list("set"),
    "frozenset": _to_list("set"),
    "dict": _dict,
    "next": _next,
    "iter": _iter,
    "map": _map,
    "filter": _filter,
    "sum": _sum,
    "max": _extreme,
    "min": _extreme,
    "abs": _unary,
    "round": _unary,
    "sorted": _sorted,
    "reversed": _reversed,
    "range": _range,
    "any": lambda ip, a, k, n: HOST,
    "all": lambda ip, a, k, n: HOST,
    "pow": _extreme,
    "divmod": lambda ip, a, k, n: UNKNOWN,
}


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


def call_stdlib(
    ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """Functions of the standard library that pass tensors on."""
    first = args[0][0] if args else UNKNOWN
    if name in ("copy.deepcopy", "copy.copy"):
        return _copied(ip, first, node)
    if name == "functools.partial" and args:
        inst = Inst(None, name, "partial", node)
        inst.state.update(func=first, args=args[1:], kwargs=kwargs)
        return inst
    if name == "argparse.ArgumentParser":
        return Inst(None, name, "parser", node)
    if name in ("collections.OrderedDict", "collections.defaultdict"):
        return _dict(ip, args if name.endswith("OrderedDict") else [], kwargs, node)
    if name == "collections.deque":
        return _to_list("list")(ip, args[:1], {}, node)  # type: ignore[no-any-return]
    if name == "collections.namedtuple":
        return Ext("torchferry.namedtuple")
    if name.startswith("itertools."):
        if name in ("itertools.chain", "itertools.zip_longest"):
            return _chain(ip, args)
        return Seq("iter", None, part_of(ip, first))
    if name in ("random.choice", "random.sample", "random.choices"):
        item = part_of(ip, first)
        return item if name == "random.choice" else Seq("list", None, item)
    if name == "operator.itemgetter":
        return UNKNOWN
    if name.startswith(("pickle.", "math.", "statistics.")):
        if name == "pickle.load":
            return UNKNOWN
        return HOST
    if name.startswith(("multiprocessing.", "threading.", "concurrent.", "queue.")):
        return UNKNOWN
    return HOST


def _chain(ip: Interp, args: list[Arg]) -> Value:
    result: Any = None
    for value, _, _ in args:
        item = part_of(ip, value)
        result = item if result is None else join(ip, result, item)
    return Seq("iter", None, result or UNKNOWN)


def _copied(ip: Interp, value: Value, node: Any) -> Value:
    if isinstance(value, Inst) and value.kind == "module":
        copy = Inst(value.cls, value.ext, value.kind, value.node)
        copy.attrs.update(value.attrs)
        copy.state.update(value.state)
        if not ip.migrating:
            copy.state.pop("parent", None)
            for name, child in value.attrs.items():
                if isinstance(child, Inst) and child.kind == "module":
                    copy.attrs[name] = _copied(ip, child, node)
                    copy.attrs[name].state["parent"] = copy  # type: ignore[attr-defined]
        return copy
    if isinstance(value, Seq):
        return Seq(value.kind, value.state["items"], value.state["elem"])
    return value


__all__ = ["Bound", "Choice", "Func", "HostObject", "border", "call_builtin", "call_stdlib"]
