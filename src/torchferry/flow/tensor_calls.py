"""Attributes and methods of tensors."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchferry.torchapi.tensor_methods import (
    COPYING,
    HOST_ATTRS,
    HOST_ONLY,
    HOST_RESULT,
    NEW,
    SAME_ATTRS,
)
from torchferry.torchapi.torch_functions import ELEMENTWISE, MOVEMENT

from .borders import border
from .moves import KEEP, cpu_method, cuda_method, moved, to_method, type_as_method, type_method
from .operators import anchor, birth, live, meet, written
from .values import (
    ACCEL,
    ARRAY,
    CHECKED,
    COMPUTED,
    CPU,
    EXPANDED,
    GRAPH,
    HOST,
    INTEGER,
    LEAF,
    MAYBE_NUMBER,
    MODEL,
    SCALAR,
    Copied,
    Device,
    Func,
    Guard,
    Inst,
    Method,
    OfModule,
    Tensor,
    Value,
    Why,
)

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp

_REDUCTIONS = frozenset("sum mean prod norm std var max min median all any argmax argmin".split())


def tensor_attribute(ip: Interp, tensor: Tensor, attr: str, node: Any) -> Value:
    """`tensor.attr`."""
    if not ip.migrating:
        tensor = live(tensor)
        if attr in SAME_ATTRS:
            flags = tensor.flags & (KEEP | CHECKED)
            flags &= ~GRAPH if attr in ("data", "grad") else ~0
            return Tensor(tensor.var, tensor.dev, flags, tensor.why)
        if attr in ("values", "indices"):  # of what topk, max or sort gave
            integer = INTEGER if attr == "indices" else tensor.flags & INTEGER
            flags = tensor.flags & MODEL | integer | COMPUTED
            return Tensor(tensor.var, tensor.dev, flags, tensor.why)
    if attr in SAME_ATTRS:
        return Tensor(tensor.var, tensor.dev, tensor.flags & KEEP, tensor.why)
    if attr == "device":
        return Device(tensor.dev if tensor.dev in (CPU, ACCEL) else 3, tensor.var)
    if attr == "is_cuda":
        if tensor.dev in (CPU, ACCEL) and not ip.migrating:
            return Guard(tensor.dev == ACCEL)
        return Guard(tensor.dev == ACCEL) if tensor.dev == ACCEL else HOST
    if attr in HOST_ATTRS:
        return HOST
    return Method(tensor, attr, node)


def call_tensor_method(
    ip: Interp, tensor: Tensor, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """`tensor.name(...)`."""
    if not ip.migrating:
        tensor = _checked_receiver(ip, tensor, name, args, node)
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
        return _in_place(ip, tensor, name, operands, node)
    flags = tensor.flags & 128
    if plain in _REDUCTIONS and not args and not kwargs:
        flags |= SCALAR
    elif plain in MOVEMENT and plain not in ("view", "reshape", "expand", "unsqueeze", "repeat"):
        flags |= tensor.flags & (SCALAR | MAYBE_NUMBER)
    return meet(
        ip, node, [(tensor, receiver), *operands], plain, compute=plain not in MOVEMENT,
        elementwise=elementwise, flags=flags,
    )  # fmt: skip


def _checked_receiver(ip: Interp, tensor: Tensor, name: str, args: list[Arg], node: Any) -> Tensor:
    """The receiver where it is now; a hook runs, a copy remembers what it copied."""
    tensor = live(tensor)
    if name == "register_hook" and args and isinstance(args[0][0], Func):
        grad = Tensor(tensor.var, tensor.dev, 0, Why("the gradient", node, ip.frame.unit))
        ip.call_function(args[0][0], [(grad, None, False)], {}, node)
    if name == "clone" and type(tensor.why) is OfModule:
        copy = Copied("copied here", node, ip.frame.unit, tensor.why, ip.stack)
        return Tensor(tensor.var, tensor.dev, tensor.flags, copy)
    return tensor


def _in_place(ip: Interp, tensor: Tensor, name: str, operands: list[Any], node: Any) -> Value:
    written(ip, tensor)
    plain = name.rstrip("_")
    if name in HOST_ONLY:
        ip.graph.want_host(ip.graph.find(tensor.var), 10**4, f"{name} works on the CPU only")
    result = meet(
        ip, node, operands, plain, compute=plain not in MOVEMENT and bool(operands),
        elementwise=plain in ELEMENTWISE, place=tensor.var, place_dev=tensor.dev,
        owner=tensor,
    )  # fmt: skip
    if name == "requires_grad_":
        anchor(ip, tensor)
        return Tensor(tensor.var, tensor.dev, tensor.flags | LEAF, tensor.why)
    if isinstance(result, Tensor):
        return Tensor(result.var, result.dev, tensor.flags, tensor.why)
    return result


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


def _numpy(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    if "force" in kwargs and not ip.migrating:
        return ARRAY
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        border(ip, node, tensor, node.func.value, "numpy()")
    return ARRAY


def _new(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    if "device" in kwargs:
        return moved(ip, tensor, kwargs["device"][0], node)
    return Tensor(tensor.var, tensor.dev, 0, tensor.why)


def _where(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: Any, node: Any) -> Value:
    operands: list[Any] = [(tensor, _receiver(node))]
    return meet(ip, node, operands + [(v, e) for v, e, _ in args], "where", elementwise=True)


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
    "to": to_method,
    "cuda": cuda_method,
    "cpu": cpu_method,
    "numpy": _numpy,
    "__array__": _numpy,
    "type": type_method,
    "type_as": type_as_method,
    "where": _where,
    "pin_memory": _share,
    "share_memory_": _share,
    "detach_": _share,
    "retain_grad": lambda ip, t, a, k, n: HOST,
    "size": lambda ip, t, a, k, n: HOST,
    "backward": _backward,
}
