"""Objects of torch that are no tensors: devices, generators, optimizers, distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .moves import device_bits
from .operands import tensors_in
from .operators import anchor, meet
from .values import ACCEL, CPU, HOST, LEAF, PARAM, UNSURE, Device, Inst, Tensor, Value

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


def make_device(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`torch.device(...)`."""
    value = args[0][0] if args else HOST
    bits = device_bits(value)
    if isinstance(value, Device):
        return value
    ip.note("device", node, bits, ip.frame.unit)
    return Device(bits or (ACCEL if ip.migrating else UNSURE))


def make_optimizer(ip: Interp, name: str, args: list[Arg], node: Any) -> Value:
    """An optimizer: what it is given is learned."""
    inst = Inst(None, name, "optimizer", node)
    ip.note("optimizer", node, args, ip.frame.unit)
    for tensor, _ in tensors_in(ip, [(v, e) for v, e, _ in args[:1]]):
        if tensor.flags & LEAF and not tensor.flags & PARAM:
            anchor(ip, tensor)
    return inst


def make_distribution(
    ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """A distribution lives where its parameters live."""
    operands = [(v, e) for v, e, _ in args] + [(v, e) for v, e, _ in kwargs.values()]
    inst = Inst(None, name, "distribution", node)
    inner = [v for v, _ in operands if isinstance(v, Inst) and v.kind == "distribution"]
    value = meet(ip, node, operands, name, compute=False, elementwise=True)
    if isinstance(value, Tensor):
        inst.state["tensor"] = Tensor(value.var, value.dev, 0, value.why)
    elif inner:
        inst.state.update(inner[0].state)
    return inst


def make_generator(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`torch.Generator(device)`."""
    inst = Inst(None, "torch.Generator", "generator", node)
    target = kwargs["device"][0] if "device" in kwargs else args[0][0] if args else HOST
    inst.state["dev"] = device_bits(target) or CPU
    return inst
