"""Attributes and methods of tensors."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchferry.torchapi.tensor_methods import COPYING, HOST_ATTRS, HOST_RESULT, NEW, SAME_ATTRS
from torchferry.torchapi.torch_functions import ELEMENTWISE, MOVEMENT

from .borders import border
from .graph import DEVICE_NODE, HOST_NODE
from .operators import USE, anchor, birth, live, meet, written
from .values import (
    ACCEL,
    ARRAY,
    CHECKED,
    CPU,
    EXPANDED,
    GRAPH,
    HOST,
    LEAF,
    MODEL,
    PARAM,
    SCALAR,
    UNKNOWN,
    UNSURE,
    Const,
    Copied,
    Device,
    Ext,
    Func,
    Guard,
    Inst,
    Method,
    OfModule,
    Seq,
    Tensor,
    TypeName,
    Value,
    Why,
)

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp

_REDUCTIONS = frozenset("sum mean prod norm std var max min median all any argmax argmin".split())
#: comparisons of the flags that survive an operator
_KEEP = SCALAR | 128


def tensor_attribute(ip: Interp, tensor: Tensor, attr: str, node: Any) -> Value:
    """`tensor.attr`."""
    if not ip.migrating:
        tensor = live(tensor)
        if attr in SAME_ATTRS:
            flags = tensor.flags & (_KEEP | CHECKED)
            flags &= ~GRAPH if attr in ("data", "grad") else ~0
            return Tensor(tensor.var, tensor.dev, flags, tensor.why)
    if attr in SAME_ATTRS:
        return Tensor(tensor.var, tensor.dev, tensor.flags & _KEEP, tensor.why)
    if attr == "device":
        return Device(tensor.dev if tensor.dev in (CPU, ACCEL) else 3, tensor.var)
    if attr == "is_cuda":
        if tensor.dev in (CPU, ACCEL) and not ip.migrating:
            return Guard(tensor.dev == ACCEL)
        return Guard(tensor.dev == ACCEL) if tensor.dev == ACCEL else HOST
    if attr in HOST_ATTRS:
        return HOST
    return Method(tensor, attr, node)


def device_bits(value: Value) -> int:
    """Where a device argument points to; 0 when it is no device."""
    if isinstance(value, Device):
        return value.bits
    if isinstance(value, Const):
        if isinstance(value.value, str):
            return CPU if value.value.startswith("cpu") else ACCEL
        return ACCEL if isinstance(value.value, int) and value.value is not True else 0
    return 0


def moved(ip: Interp, tensor: Tensor, target: Value, node: Any) -> Tensor:
    """A tensor after `.to(target)`; target is no dtype."""
    made = _moved(ip, tensor, target, node)
    if not ip.migrating:
        kept = tensor.flags & CHECKED
        kept |= GRAPH | MODEL if tensor.flags & (PARAM | LEAF) else 0
        made = Tensor(made.var, made.dev, made.flags | (kept & ~GRAPH if ip.graph_off else kept),
                      made.why)  # fmt: skip
    return made


def _moved(ip: Interp, tensor: Tensor, target: Value, node: Any) -> Tensor:
    if isinstance(target, Tensor):
        return Tensor(target.var, target.dev, tensor.flags & _KEEP, tensor.why)
    if isinstance(target, Device) and target.var >= 2:
        return Tensor(target.var, target.bits, tensor.flags & _KEEP, tensor.why)
    bits = device_bits(target)
    unit = ip.frame.unit
    if bits == CPU:
        why = Why("moved to the CPU here", node, unit, tensor.why)
        return Tensor(HOST_NODE, CPU, tensor.flags & _KEEP, why)
    why = Why("moved to the device here", node, unit, tensor.why)
    if ip.graph.find(tensor.var) >= 2:
        # what is moved anyway has no reason of its own to be made there
        ip.graph.want_host(ip.graph.find(tensor.var), 1)
    return Tensor(DEVICE_NODE, ACCEL if bits == ACCEL else UNSURE, tensor.flags & _KEEP, why)


def _is_dtype(value: Value) -> bool:
    return isinstance(value, Ext) and value.name.startswith("torch.")


def call_tensor_method(
    ip: Interp, tensor: Tensor, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """`tensor.name(...)`."""
    if not ip.migrating:
        tensor = live(tensor)
        if name == "register_hook" and args and isinstance(args[0][0], Func):
            grad = Tensor(tensor.var, tensor.dev, 0, Why("the gradient", node, ip.frame.unit))
            ip.call_function(args[0][0], [(grad, None, False)], {}, node)
        if name == "clone" and type(tensor.why) is OfModule:
            copy = Copied("copied here", node, ip.frame.unit, tensor.why, ip.stack)
            tensor = Tensor(tensor.var, tensor.dev, tensor.flags, copy)
        if name in ("expand", "expand_as", "broadcast_to"):
            result = meet(ip, node, [(tensor, None)], name, compute=False)
            if isinstance(result, Tensor):
                return Tensor(result.var, result.dev, result.flags | EXPANDED, result.why)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(ip, tensor, args, kwargs, node)  # type: ignore[no-any-return]
    if name in HOST_RESULT:
        if name == "item" and not ip.migrating:
            ip.note("item", node, tensor, ip.depth, ip.frame.unit)
        return HOST
    receiver = _receiver(node)
    if name in NEW:
        return _new(ip, tensor, args, kwargs, node)
    if name in COPYING:
        return tensor
    operands = [(v, e) for v, e, _ in args] + [(k[0], k[1]) for k in kwargs.values()]
    generator = kwargs["generator"][0] if "generator" in kwargs else None
    if drawn_on_host(generator):
        border(ip, node, tensor, receiver, "a generator of the CPU")
        if not name.endswith("_"):
            return birth(ip, node, "append")
    plain = name.rstrip("_") if not name.startswith("__") else name
    elementwise = plain in ELEMENTWISE
    if name.endswith("_") and not name.endswith("__"):
        written(ip, tensor)
        result = meet(
            ip, node, operands, plain, compute=plain not in MOVEMENT and bool(operands),
            elementwise=elementwise, place=tensor.var, place_dev=tensor.dev,
        )  # fmt: skip
        if name == "requires_grad_":
            anchor(ip, tensor)
            return Tensor(tensor.var, tensor.dev, tensor.flags | LEAF, tensor.why)
        if isinstance(result, Tensor):
            return Tensor(result.var, result.dev, tensor.flags, tensor.why)
        return result
    if name == "apply_" or name == "map_":
        ip.graph.want_host(ip.graph.find(tensor.var), 10**4, "apply_ works on the CPU only")
    flags = tensor.flags & 128
    if plain in _REDUCTIONS and not args and not kwargs:
        flags |= SCALAR
    elif plain in MOVEMENT and plain not in ("view", "reshape", "expand", "unsqueeze", "repeat"):
        flags |= tensor.flags & SCALAR
    return meet(
        ip, node, [(tensor, receiver), *operands], plain, compute=plain not in MOVEMENT,
        elementwise=elementwise, flags=flags,
    )  # fmt: skip


def _receiver(node: Any) -> ast.expr | None:
    """`x` of the call `x.name(...)`."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.value if isinstance(func, ast.Attribute) else None


def drawn_on_host(generator: Value | None) -> bool:
    """Whether it is a generator of the host."""
    return (
        isinstance(generator, Inst)
        and generator.kind == "generator"
        and generator.state.get("dev", CPU) == CPU
    )


def _to(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    target = None
    if "device" in kwargs:
        target = kwargs["device"][0]
    elif args:
        target = args[0][0]
        if _is_dtype(target) or isinstance(target, TypeName):
            flags = tensor.flags & (_KEEP if ip.migrating else _KEEP | MODEL | GRAPH)
            return Tensor(tensor.var, tensor.dev, flags, tensor.why)
    if target is None:
        flags = tensor.flags & (_KEEP if ip.migrating else _KEEP | MODEL | GRAPH)
        return Tensor(tensor.var, tensor.dev, flags, tensor.why)
    if not ip.migrating:
        ip.note("move", node, tensor, target, ip.depth, ip.frame.unit)
    return moved(ip, tensor, target, node)


def _cuda(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    ip.note("cuda-call", node, tensor, ip.frame.unit)
    return moved(ip, tensor, Device(ACCEL), node)


def _cpu(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    return moved(ip, tensor, Device(CPU), node)


def _numpy(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        border(ip, node, tensor, node.func.value, "numpy()")
    return ARRAY


def _type(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`.type(torch.FloatTensor)` gives a host tensor, wherever the receiver is."""
    if not args:
        return HOST
    target = args[0][0]
    if isinstance(target, Const) and isinstance(target.value, str):
        target = TypeName(target.value, ".cuda." in target.value)
    if isinstance(target, Ext) and target.name == "torch.Tensor":
        target = TypeName(target.name, False)
    if isinstance(target, TypeName):
        if target.cuda:
            return moved(ip, tensor, Device(ACCEL), node)
        made = birth(ip, node, "append", text="cast to a CPU type here")
        graph = ip.graph
        u = graph.find(tensor.var)
        graph.edge(u, made.var, 1, 0, None, None, "cast")
        ip.note("cast", node, tensor, made, args[0][1], target, ip.frame.unit)
        return made
    if target is UNKNOWN:
        return Tensor(tensor.var, tensor.dev | UNSURE, tensor.flags & _KEEP, tensor.why)
    return Tensor(tensor.var, tensor.dev, tensor.flags & _KEEP, tensor.why)


def _type_as(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: Any, node: Any) -> Value:
    if args and isinstance(args[0][0], Tensor):
        made = moved(ip, tensor, args[0][0], node)
        if not ip.migrating and tensor.dev == ACCEL and made.dev == CPU:
            why = Why("cast to a CPU type here", node, ip.frame.unit, tensor.why)
            return Tensor(made.var, made.dev, made.flags, why)
        return made
    return tensor


def _new(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    if "device" in kwargs:
        return moved(ip, tensor, kwargs["device"][0], node)
    return Tensor(tensor.var, tensor.dev, 0, tensor.why)


def _where(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: Any, node: Any) -> Value:
    operands: list[Any] = [(tensor, _receiver(node))]
    return meet(ip, node, operands + [(v, e) for v, e, _ in args], "where", elementwise=True)


def _split(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: Any, node: Any) -> Value:
    return Seq("tuple", None, Tensor(tensor.var, tensor.dev, tensor.flags & 128, tensor.why))


def _backward(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: Any, node: Any) -> Value:
    """The gradient argument lives where the tensor lives."""
    given = args[0] if args else kwargs.get("gradient")
    if given is not None and isinstance(given[0], Tensor):
        meet(
            ip, node, [(given[0], given[1])], "backward", place=tensor.var,
            place_dev=tensor.dev, compute=False,
        )  # fmt: skip
    return HOST


def _share(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: Any, node: Any) -> Value:
    return tensor


_SPECIAL: dict[str, Any] = {
    "to": _to,
    "cuda": _cuda,
    "cpu": _cpu,
    "numpy": _numpy,
    "__array__": _numpy,
    "type": _type,
    "type_as": _type_as,
    "where": _where,
    "pin_memory": _share,
    "share_memory_": _share,
    "detach_": _share,
    "retain_grad": lambda ip, t, a, k, n: HOST,
    "size": lambda ip, t, a, k, n: HOST,
    "backward": _backward,
}


def make_legacy(
    ip: Interp, name: TypeName, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """`torch.FloatTensor(...)`, `torch.cuda.FloatTensor(...)`."""
    if name.cuda:
        why = Why("made on the GPU here", node, ip.frame.unit)
        return Tensor(DEVICE_NODE, ACCEL, 0, why)
    for value, expr, _ in args:
        if isinstance(value, Tensor):  # the old constructors take host tensors only
            border(ip, node, value, expr, name.name)
    return birth(ip, node, "append")


def edge_cost(ip: Interp) -> int:
    """Cost of a move at one use here."""
    return USE * ip.weight
