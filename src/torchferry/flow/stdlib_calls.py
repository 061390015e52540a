"""Calls of the standard library that pass tensors on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .builtin_calls import make_dict, to_list
from .iteration import part_of
from .join import join
from .values import HOST, UNKNOWN, Copied, Ext, Inst, OfModule, Seq, Tensor, Value

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


def call_stdlib(ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
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
        return make_dict(ip, args if name.endswith("OrderedDict") else [], kwargs, node)
    if name == "collections.deque":
        return to_list("list")(ip, args[:1], {}, node)  # type: ignore[no-any-return]
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
            copy.state["copied"] = Copied("copied here", node, ip.frame.unit, None, ip.stack)
            for name, child in value.attrs.items():
                if isinstance(child, Inst) and child.kind == "module":
                    copy.attrs[name] = _copied(ip, child, node)
                    copy.attrs[name].state["parent"] = copy  # type: ignore[attr-defined]
        return copy
    if isinstance(value, Seq):
        items, elem = value.state["items"], value.state["elem"]
        if not ip.migrating:
            items = items and [_copied(ip, item, node) for item in items]
            elem = elem and _copied(ip, elem, node)
        return Seq(value.kind, items, elem)
    if isinstance(value, Tensor) and type(value.why) is OfModule and not ip.migrating:
        copy_of = Copied("copied here", node, ip.frame.unit, value.why, ip.stack)
        return Tensor(value.var, value.dev, value.flags, copy_of)
    return value
