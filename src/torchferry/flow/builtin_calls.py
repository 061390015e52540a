"""Builtins, methods of containers, and the standard library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchferry.torchapi.hosts import BUILTINS_FINE

from .attributes import attribute_of
from .graph import HOST_NODE
from .iteration import part_of
from .join import UNSURE_TENSOR, Choice
from .loops import objects_of
from .module_tree import register
from .operators import meet
from .values import (
    ARRAY,
    BATCHED,
    HOST,
    NONE,
    UNKNOWN,
    Array,
    Const,
    Ext,
    Inst,
    Map,
    Seq,
    Tensor,
    TypeName,
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
        return _isinstance(args[0][0], args[1][0], ip.migrating)
    if name == "getattr" and len(args) > 1:
        label = args[1][0]
        if isinstance(label, Const) and isinstance(label.value, str):
            return attribute_of(ip, args[0][0], label.value, node)
        if isinstance(args[0][0], Inst) and "?dynamic" in args[0][0].attrs:
            return attribute_of(ip, args[0][0], "?dynamic", node)
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
        register(ip, base, name, value)
    elif known:
        ip.trail.set(base.attrs, name, value)
    elif isinstance(value, Tensor) and not ip.migrating:
        ip.trail.set(base.attrs, "?dynamic", value)


def _isinstance(value: Value, kind: Value, migrating: bool) -> Value:
    names = [kind] if not isinstance(kind, Seq) else (kind.state["items"] or [])
    if isinstance(value, Tensor) and not value.flags & 128:
        for one in names:
            if isinstance(one, Ext) and one.name in ("torch.Tensor", "torch.autograd.Variable"):
                return Const(True)
        return Const(False) if all(isinstance(n, Ext) for n in names) and names else HOST
    held = "dict" if isinstance(value, Map) else value.kind if isinstance(value, Seq) else ""
    if not migrating and held in ("dict", "list", "tuple") and names:
        known = [n.name for n in names if isinstance(n, Ext)]
        if any(n in (f"builtins.{held}", *_ABSTRACT.get(held, ())) for n in known):
            return Const(True)
        if len(known) == len(names) and all(n in _OTHERS for n in known):
            return Const(False)
    return HOST


_OTHERS = frozenset(
    ("builtins.dict", "builtins.list", "builtins.tuple", "builtins.str", "torch.Tensor")
)
_ABSTRACT = {"dict": ("collections.abc.Mapping", "typing.Mapping")}


def _enumerate(ip: Interp, args: list[Arg], kwargs: Any, node: Any) -> Value:
    each = objects_of(args[0][0]) if args else None
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


def to_list(kind: str) -> Any:
    """`list(...)`, `tuple(...)`, `set(...)`."""

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


def make_dict(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`dict(...)`."""
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
    if len(args) < 2:
        return UNKNOWN
    items: list[Arg] = [(part_of(ip, v), None, False) for v, _, _ in args[1:]]
    function = args[0][0]
    result = ip.call_value(function, items, {}, node)
    if isinstance(function, (Ext, TypeName)) and isinstance(result, Tensor):
        # the call of the function is not in the source: nothing can be written at it
        if any(isinstance(v, Tensor) for v, _, _ in items):
            flags = result.flags | UNSURE_TENSOR
            result = Tensor(result.var, result.dev, flags, result.why)
        else:
            result = Tensor(HOST_NODE, result.dev, BATCHED, result.why)
    return Seq("iter", None, result)


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
    "list": to_list("list"),
    "tuple": to_list("tuple"),
    "set": to_list("set"),
    "frozenset": to_list("set"),
    "dict": make_dict,
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
