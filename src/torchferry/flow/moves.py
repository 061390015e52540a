"""Moves and casts: where a tensor is after `.to`, `.cuda`, `.cpu`, `.type`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph import DEVICE_NODE, HOST_NODE
from .operators import birth
from .values import (
    ACCEL,
    CHECKED,
    CPU,
    GRAPH,
    HOST,
    LEAF,
    MODEL,
    PARAM,
    SCALAR,
    UNKNOWN,
    UNSURE,
    Const,
    Device,
    Ext,
    Tensor,
    TypeName,
    Value,
    Why,
)

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


#: comparisons of the flags that survive an operator
KEEP = SCALAR | 128


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
        return Tensor(target.var, target.dev, tensor.flags & KEEP, tensor.why)
    if isinstance(target, Device) and target.var >= 2:
        return Tensor(target.var, target.bits, tensor.flags & KEEP, tensor.why)
    bits = device_bits(target)
    unit = ip.frame.unit
    if bits == CPU:
        why = Why("moved to the CPU here", node, unit, tensor.why)
        return Tensor(HOST_NODE, CPU, tensor.flags & KEEP, why)
    why = Why("moved to the device here", node, unit, tensor.why)
    if ip.graph.find(tensor.var) >= 2:
        # what is moved anyway has no reason of its own to be made there
        ip.graph.want_host(ip.graph.find(tensor.var), 1)
    return Tensor(DEVICE_NODE, ACCEL if bits == ACCEL else UNSURE, tensor.flags & KEEP, why)


def is_dtype(value: Value) -> bool:
    """Whether an argument of `.to` is a dtype."""
    return isinstance(value, Ext) and value.name.startswith("torch.")


def to_method(
    ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """`x.to(...)`: a device, another tensor, or a dtype only."""
    target = None
    if "device" in kwargs:
        target = kwargs["device"][0]
    elif args:
        target = args[0][0]
        if is_dtype(target) or isinstance(target, TypeName):
            flags = tensor.flags & (KEEP if ip.migrating else KEEP | MODEL | GRAPH)
            return Tensor(tensor.var, tensor.dev, flags, tensor.why)
    if target is None:
        flags = tensor.flags & (KEEP if ip.migrating else KEEP | MODEL | GRAPH)
        return Tensor(tensor.var, tensor.dev, flags, tensor.why)
    if not ip.migrating:
        ip.note("move", node, tensor, target, ip.depth, ip.frame.unit)
    return moved(ip, tensor, target, node)


def cuda_method(
    ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """`x.cuda(...)`."""
    ip.note("cuda-call", node, tensor, ip.frame.unit)
    return moved(ip, tensor, Device(ACCEL), node)


def cpu_method(
    ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """`x.cpu()`."""
    return moved(ip, tensor, Device(CPU), node)


def type_method(
    ip: Interp, tensor: Tensor, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
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
        return Tensor(tensor.var, tensor.dev | UNSURE, tensor.flags & KEEP, tensor.why)
    return Tensor(tensor.var, tensor.dev, tensor.flags & KEEP, tensor.why)


def type_as_method(ip: Interp, tensor: Tensor, args: list[Arg], kwargs: Any, node: Any) -> Value:
    """`x.type_as(y)`: where y is."""
    if args and isinstance(args[0][0], Tensor):
        made = moved(ip, tensor, args[0][0], node)
        if not ip.migrating and tensor.dev == ACCEL and made.dev == CPU:
            why = Why("cast to a CPU type here", node, ip.frame.unit, tensor.why)
            return Tensor(made.var, made.dev, made.flags, why)
        return made
    if args and not ip.migrating:
        return Tensor(tensor.var, tensor.dev | UNSURE, tensor.flags & KEEP, tensor.why)
    return tensor
