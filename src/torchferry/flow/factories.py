"""What makes tensors: factories, `*_like`, legacy constructors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchferry.torchapi.torch_functions import DATA_FACTORIES

from .borders import border
from .graph import DEVICE_NODE, HOST_NODE
from .moves import device_bits, moved
from .operators import anchor, birth, meet
from .values import (
    ACCEL,
    CPU,
    DOUBLE,
    HOST,
    INTEGER,
    LEAF,
    MAYBE_NUMBER,
    NONE,
    SCALAR,
    UNKNOWN,
    UNSURE,
    Const,
    Copied,
    Device,
    Ext,
    HostObject,
    Inst,
    Method,
    OfModule,
    Seq,
    Tensor,
    TypeName,
    Value,
    Why,
    truth,
)

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp

#: attributes of `torch.finfo(...)`: numbers, though nothing calls them
_LIMITS = frozenset(("min", "max", "eps", "tiny", "smallest_normal", "resolution"))


def drawn_by(kwargs: dict[str, Arg]) -> tuple[int | None, int]:
    """Where an operator must run that draws from a generator; (None, 0) where it is free."""
    value = kwargs["generator"][0] if "generator" in kwargs else None
    if isinstance(value, Inst) and value.kind == "generator":
        dev = value.state.get("dev", CPU)
        return (0 if dev == ACCEL else HOST_NODE), dev
    return None, 0


def make_tensor(ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`torch.zeros(...)` and the other factories, `torch.tensor` among them."""
    learned = "requires_grad" in kwargs and truth(kwargs["requires_grad"][0]) is not False
    flags = LEAF if learned else 0
    if not ip.migrating:
        flags |= _number_kind(name, args, kwargs)
    first = args[0][0] if args else kwargs.get("data", (UNKNOWN, None, False))[0]
    if name in DATA_FACTORIES:
        if isinstance(first, Tensor) and "device" not in kwargs:
            return Tensor(first.var, first.dev, flags or first.flags & SCALAR, first.why)
        if (isinstance(first, Const) and isinstance(first.value, (int, float, complex))) or (
            type(first) is Method and first.receiver is HOST and first.name in _LIMITS
        ):
            flags |= SCALAR
        elif not ip.migrating and _maybe_number(first):
            flags |= MAYBE_NUMBER
    elif args and isinstance(first, Seq) and first.state["items"] == []:
        flags |= SCALAR
    if "out" in kwargs and isinstance(kwargs["out"][0], Tensor):
        return kwargs["out"][0]
    if "device" in kwargs:
        target = kwargs["device"][0]
        if isinstance(target, Const) and target.value is None:
            pass
        elif isinstance(target, Tensor) or (isinstance(target, Device) and target.var >= 2):
            made = moved(ip, Tensor(HOST_NODE, CPU), target, node)
            return Tensor(made.var, made.dev, flags, Why("made here", node, ip.frame.unit))
        else:
            bits = device_bits(target) or (ACCEL if ip.migrating else UNSURE)
            made = birth(ip, node, "placed", dev=bits, text="made here")
            ip.graph.same(made.var, 0 if bits == ACCEL else HOST_NODE)
            return Tensor(0 if bits == ACCEL else HOST_NODE, bits, flags, made.why)
    if not ip.migrating and name.startswith("torch.sparse_"):
        parts = [v for v, _, _ in (*args, *kwargs.values()) if isinstance(v, Tensor)]
        if parts:  # the device of its values
            return Tensor(parts[-1].var, parts[-1].dev, flags, parts[-1].why)
    how = "factory"
    if "**" in kwargs or (any(s for _, _, s in args) and name not in _STAR_FINE):
        how = "append"
    if "generator" in kwargs and kwargs["generator"][0] is not NONE:
        how = "append"  # drawn where the generator is, then moved
        flags &= ~LEAF
    return birth(ip, node, how, flags=flags)


def _maybe_number(value: Value) -> bool:
    """Nothing is known of the value, or it is of an environment (`env.action_space.n`)."""
    if isinstance(value, HostObject):
        return value.library in ("gym", "gymnasium")
    return value is UNKNOWN or value is HOST


_INTEGERS = frozenset(f"torch.{n}" for n in "int8 int16 int32 int64 uint8 int long short".split())


def _number_kind(name: str, args: list[Arg], kwargs: dict[str, Arg]) -> int:
    """INTEGER or DOUBLE where a factory says so."""
    if "dtype" in kwargs:
        dtype = kwargs["dtype"][0]
        label = dtype.name if isinstance(dtype, Ext) else ""
        if label in _INTEGERS:
            return INTEGER
        return DOUBLE if label in ("torch.float64", "torch.double") else 0
    if name in ("torch.randint", "torch.randperm", "torch.tril_indices", "torch.triu_indices"):
        return INTEGER
    if name == "torch.arange" and args:
        whole = all(isinstance(v, Const) and type(v.value) is int for v, _, _ in args)
        return INTEGER if whole else 0
    if name == "torch.tensor" and args:
        return INTEGER if _all_integers(args[0][0]) else 0
    return 0


def _all_integers(value: Value) -> bool:
    if isinstance(value, Seq):
        items = value.state["items"]
        return bool(items) and all(_all_integers(v) for v in items)
    return isinstance(value, Const) and type(value.value) is int


#: factories whose positional arguments are sizes: `*sizes` cannot hold a device
_STAR_FINE = frozenset(f"torch.{n}" for n in "zeros ones empty rand randn full randint".split())


def make_like(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`torch.zeros_like(x)` and friends: where x is."""
    value = args[0][0]
    if "device" in kwargs and isinstance(value, Tensor):
        return moved(ip, value, kwargs["device"][0], node)
    learned = "requires_grad" in kwargs and truth(kwargs["requires_grad"][0]) is not False
    if isinstance(value, Tensor):
        why = value.why
        if not ip.migrating and type(why) is OfModule:
            why = Copied("made like it here", node, ip.frame.unit, why, ip.stack)
        result = Tensor(value.var, value.dev, value.flags & (SCALAR | 128), why)
        if learned:
            anchor(ip, result)
        return result
    return meet(ip, node, [(value, args[0][1])], "like", compute=False)


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
