"""What torch.save writes and torch.load reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph import HOST_NODE
from .moves import device_bits
from .operators import ANCHOR, birth
from .values import ACCEL, CPU, HOST, UNKNOWN, UNSURE, Inst, Tensor, Value

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


def load_file(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`torch.load(...)`."""
    unknown = "**" in kwargs or any(starred for *_, starred in args)
    if "map_location" in kwargs or len(args) > 1 or unknown:
        inst = Inst(None, "torch.load", "loaded", node)
        where = kwargs["map_location"][0] if "map_location" in kwargs else UNKNOWN
        bits = device_bits(where)
        inst.state["var"] = HOST_NODE if bits == CPU else 0
        unsure = not ip.migrating and bits != ACCEL
        inst.state["dev"] = CPU if bits == CPU else UNSURE if unsure else ACCEL
        return inst
    made = birth(ip, node, "load", text="loaded here")
    ip.graph.want_device(made.var, ANCHOR // 10)
    known = _saved_value(ip, made)
    if known is not None:
        return known
    inst = Inst(None, "torch.load", "loaded", node)
    inst.state["var"], inst.state["dev"] = made.var, CPU
    return inst


def _saved_value(ip: Interp, made: Tensor) -> Value | None:
    """What the program itself saves is what it loads, when it is all of one kind."""
    saved = ip.saved
    modules = [v for v in saved if isinstance(v, Inst) and v.kind == "module"]
    if saved and len(modules) == len(saved):
        first = modules[0]
        if any(v.cls is not first.cls or v.ext != first.ext for v in modules):
            return None
        copy = Inst(first.cls, first.ext, "module", first.node)
        copy.attrs.update(first.attrs)
        copy.state.update(var=made.var, dev=CPU)
        place_children(copy, made.var)
        return copy
    if saved and all(isinstance(v, Tensor) for v in saved):
        return made
    return None


def place_children(inst: Inst, var: int) -> None:
    """The modules of a loaded module are loaded with it."""
    for name, value in inst.attrs.items():
        if isinstance(value, Inst) and value.kind == "module":
            child = Inst(value.cls, value.ext, "module", value.node)
            child.attrs.update(value.attrs)
            child.state.update(value.state, var=var, dev=CPU)
            place_children(child, var)
            inst.attrs[name] = child


def save_file(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`torch.save(...)`: remembered for what is loaded again."""
    if args:
        ip.saved.append(args[0][0])
    return HOST
