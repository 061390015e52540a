"""Joining what two branches say of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .imports import arrive
from .state import MISSING
from .values import (
    ARRAY,
    BATCHED,
    HOST,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Deferred,
    Device,
    Ext,
    Func,
    Guard,
    Inst,
    Map,
    Method,
    Seq,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from .interp import Interp

PHI_COST = 300  #: two births that meet in one name belong together ...
FIXED_PHI_COST = 6  #: ... unless the program itself has put one of them elsewhere
UNSURE_TENSOR = 128  #: flag of a Tensor that may be something else: no edit at its uses
_PLAIN = (Const, type(HOST), Guard)
_CALLABLE = (Inst, Func, Bound, Class, Ext, Method)


class Choice(Value):
    """One of a few objects or functions; a call evaluates each."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[Value, ...]) -> None:
        self.options = options


def join(ip: Interp, a: Any, b: Any) -> Any:
    """The value that is `a` on one path and `b` on the other."""
    if a is b or b is MISSING:
        return a
    if a is MISSING:
        return b
    ta, tb = type(a), type(b)
    if ta is Tensor and tb is Tensor:
        return join_tensors(ip, a, b)
    if ta is Const and a.value is None:
        return b
    if tb is Const and b.value is None:
        return a
    if ta is Tensor and isinstance(b, _PLAIN):
        return _unsure(a)
    if tb is Tensor and isinstance(a, _PLAIN):
        return _unsure(b)
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return _join_plain(a, b)
    if ta is Seq and tb is Seq:
        return join_seqs(ip, a, b)
    if ta is Map and tb is Map:
        return _join_maps(ip, a, b)
    if ta is Device and tb is Device:
        return Device(a.bits | b.bits)
    if isinstance(a, (*_CALLABLE, Choice)) and isinstance(b, (*_CALLABLE, Choice)):
        return _choice(a, b)
    if a is ARRAY and b is ARRAY:
        return ARRAY
    if ta is Deferred or tb is Deferred:
        return join(ip, _arrived(ip, a), _arrived(ip, b))
    return UNKNOWN


def _arrived(ip: Interp, value: Any) -> Any:
    return arrive(ip, value) if type(value) is Deferred else value


def _unsure(tensor: Tensor) -> Tensor:
    return Tensor(tensor.var, tensor.dev, tensor.flags | UNSURE_TENSOR, tensor.why)


def _join_plain(a: Any, b: Any) -> Value:
    if isinstance(a, Guard) and isinstance(b, Guard) and a.truth == b.truth:
        return a
    if isinstance(a, Const) and isinstance(b, Const):
        try:
            if type(a.value) is type(b.value) and a.value == b.value:
                return a
        except Exception:
            return HOST
    return HOST


def join_tensors(ip: Interp, a: Tensor, b: Tensor) -> Tensor:
    """One tensor for two: the same variable, or a new one that ties both."""
    flags = (a.flags & b.flags & ~BATCHED) | ((a.flags | b.flags) & (UNSURE_TENSOR | 2))
    graph = ip.graph
    u, v = graph.find(a.var), graph.find(b.var)
    if u == v:
        if a.dev == b.dev and a.flags == b.flags:
            return a
        return Tensor(u, a.dev | b.dev, flags, a.why or b.why)
    phi = graph.variable(("phi", min(u, v), max(u, v)), "phi")
    fixed = min(u, v) < 2
    cost, reason = (FIXED_PHI_COST, "") if fixed else (PHI_COST, "phi")
    graph.edge(u, phi, cost, cost, reason=reason)
    graph.edge(v, phi, cost, cost, reason=reason)
    return Tensor(phi, a.dev | b.dev, flags, a.why or b.why)


def join_seqs(ip: Interp, a: Seq, b: Seq) -> Seq:
    """Item by item where both have the same length, else one element for all."""
    x, y = a.state["items"], b.state["items"]
    kind = a.kind if a.kind == b.kind else "list"
    inserts = tuple(dict.fromkeys(a.state.get("inserts", ()) + b.state.get("inserts", ())))
    if x is not None and y is not None and len(x) == len(y):
        joined = Seq(kind, [join(ip, p, q) for p, q in zip(x, y, strict=False)])
    else:
        joined = Seq(kind, None, join_optional(ip, element(ip, a), element(ip, b)))
    if inserts:
        joined.state["inserts"] = inserts
    return joined


def join_optional(ip: Interp, a: Value | None, b: Value | None) -> Value | None:
    """Join where None stands for "no value yet"."""
    if a is None:
        return b
    return a if b is None else join(ip, a, b)


def element(ip: Interp, seq: Seq) -> Value | None:
    """What an element of the sequence may be; None when it is empty."""
    items = seq.state["items"]
    if items is None:
        elem: Value | None = seq.state["elem"]
        return elem
    result: Value | None = None
    for item in items:
        result = join_optional(ip, result, item)
    return result


def _join_maps(ip: Interp, a: Map, b: Map) -> Map:
    joined = Map()
    for key in {**a.state, **b.state}:
        value = join_optional(ip, a.state.get(key), b.state.get(key))
        joined.state[key] = value
    return joined


def _choice(a: Value, b: Value) -> Value:
    options: list[Value] = []
    for side in (a, b):
        for option in side.options if isinstance(side, Choice) else (side,):
            if not any(o is option or _same_ext(o, option) for o in options):
                options.append(option)
    if len(options) > 10:
        kinds: dict[Any, Value] = {}
        for option in options:
            kinds.setdefault(_kind_of(option), option)
        options = list(kinds.values())
        if len(options) > 16:
            return UNKNOWN
    return options[0] if len(options) == 1 else Choice(tuple(options))


def _kind_of(option: Value) -> Any:
    """Objects of one class stand for each other where there are many."""
    if isinstance(option, Inst):
        return ("instance", id(option.cls) if option.cls is not None else option.ext)
    if isinstance(option, Bound):
        return ("method", id(option.func.node))
    return id(option)


def _same_ext(a: Value, b: Value) -> bool:
    return isinstance(a, Ext) and isinstance(b, Ext) and a.name == b.name


def join_slot(ip: Interp, key: Any, a: Any, b: Any) -> Any:
    """Join of one slot of a state dictionary, which may hold more than values."""
    if a is b or b is MISSING:
        return a
    if a is MISSING:
        return b
    if key == "items" and not isinstance(a, Value) and not isinstance(b, Value):
        if a is None or b is None or len(a) != len(b):
            return None
        return [join(ip, x, y) for x, y in zip(a, b, strict=False)]
    if key == "inserts" and isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(dict.fromkeys(a + b))
    if key == "dev" and isinstance(a, int) and isinstance(b, int):
        return a | b
    if a is None or b is None:
        return a if b is None else b
    if isinstance(a, Value) and isinstance(b, Value):
        return join(ip, a, b)
    return b


def similar(old: Any, new: Any) -> bool:
    """Whether a second pass of a loop over `new` would find nothing that `old` did not show."""
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if type(old) is Tensor:
        return bool(old.var == new.var and old.dev == new.dev and old.flags == new.flags)
    if isinstance(old, Const):
        return True
    return isinstance(old, (type(HOST), Guard, Device))
