"""Functions of torch: the table says which are no operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchferry.torchapi.torch_functions import (
    DATA_FACTORIES,
    ELEMENTWISE,
    FACTORIES,
    HOST_FACTORIES,
    HOST_RESULT,
    LIKE,
    MOVEMENT,
)

from .graph import HOST_NODE
from .operands import tensors_in
from .operators import ANCHOR, anchor, birth, meet, written
from .tensor_calls import call_tensor_method, device_bits, make_legacy, moved
from .values import (
    ACCEL,
    CPU,
    DOUBLE,
    HOST,
    INTEGER,
    LEAF,
    NONE,
    PARAM,
    SCALAR,
    UNKNOWN,
    UNSURE,
    Const,
    Device,
    Ext,
    Guard,
    Inst,
    Seq,
    Tensor,
    TypeName,
    Value,
    truth,
)

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


def call_torch(ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`torch.name(...)`."""
    if name in _DEFAULTS and not ip.migrating:
        ip.default_dev = UNSURE
    special = _SPECIAL.get(name)
    if special is not None:
        return special(ip, args, kwargs, node)  # type: ignore[no-any-return]
    if name in FACTORIES:
        return _factory(ip, name, args, kwargs, node)
    if name in HOST_FACTORIES:
        return birth(ip, node, "append", text="made from host memory here")
    if name in LIKE and args:
        return _like(ip, args, kwargs, node)
    if name in HOST_RESULT:
        return HOST
    if name.startswith("torch.Tensor."):
        return _unbound_method(ip, name[13:], args, kwargs, node)
    head = name.split(".")[1]
    if head in _QUIET:
        return _quiet(name)
    if head == "optim":
        return _optimizer(ip, name, args, node)
    if head == "distributions":
        return _distribution(ip, name, args, kwargs, node)
    return _operator(ip, name, args, kwargs, node)


#: change where factories make tensors
_DEFAULTS = ("torch.set_default_device", "torch.set_default_tensor_type")
_QUIET = frozenset(
    "cuda backends utils jit onnx hub multiprocessing distributed profiler version mps xpu amp "
    "autograd accelerator random overrides fx compiler export ao quantization".split()
)


def _quiet(name: str) -> Value:
    """Names outside the operators: questions about the GPU are guards."""
    if name in _GUARDS:
        return Guard(True)
    if name == "torch.accelerator.current_accelerator":
        return Device(ACCEL)
    return UNKNOWN if name.startswith(("torch.utils", "torch.jit", "torch.autograd")) else HOST


_GUARDS = frozenset(
    "torch.cuda.is_available torch.accelerator.is_available torch.cuda.device_count".split()
)


def _operator(ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    last = name.rpartition(".")[2]
    plain = last.rstrip("_")
    operands: list[Any] = [(v, e) for v, e, s in args if not s]
    for value, _, starred in args:
        if starred:
            operands.append((value, None))
    operands += [(v, e) for v, e, _ in kwargs.values()]
    if name.startswith("torch.nn.init.") or (last.endswith("_") and not last.endswith("__")):
        if args and isinstance(args[0][0], Tensor):
            first = args[0][0]
            written(ip, first)
            meet(ip, node, operands[1:], last, place=first.var, place_dev=first.dev, compute=False)
            return first
        return HOST
    flags = 0
    if plain in ("sum", "mean", "prod", "norm", "std", "var") and len(args) == 1 and not kwargs:
        flags = SCALAR
    if name.startswith("torch.nn.functional.") and plain.endswith(("loss", "entropy")):
        flags = SCALAR if "reduction" not in kwargs and "reduce" not in kwargs else 0
    place, place_dev = drawn_by(kwargs)
    result = meet(
        ip, node, operands, last, compute=plain not in MOVEMENT, elementwise=plain in ELEMENTWISE,
        flags=flags, place=place, place_dev=place_dev,
    )  # fmt: skip
    if place is not None:
        result = birth(ip, node, "append")
    if "size" in kwargs or (last == "normal" and result is UNKNOWN):
        return _factory(ip, name, args, kwargs, node)
    return result


def drawn_by(kwargs: dict[str, Arg]) -> tuple[int | None, int]:
    """Where an operator must run that draws from a generator; (None, 0) where it is free."""
    value = kwargs["generator"][0] if "generator" in kwargs else None
    if isinstance(value, Inst) and value.kind == "generator":
        dev = value.state.get("dev", CPU)
        return (0 if dev == ACCEL else HOST_NODE), dev
    return None, 0


def _factory(ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    learned = "requires_grad" in kwargs and truth(kwargs["requires_grad"][0]) is not False
    flags = LEAF if learned else 0
    if not ip.migrating:
        flags |= _number_kind(name, args, kwargs)
    first = args[0][0] if args else kwargs.get("data", (UNKNOWN, None, False))[0]
    if name in DATA_FACTORIES:
        if isinstance(first, Tensor) and "device" not in kwargs:
            return Tensor(first.var, first.dev, flags or first.flags & SCALAR, first.why)
        if isinstance(first, Const) and isinstance(first.value, (int, float, complex)):
            flags |= SCALAR
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
            return Tensor(made.var, made.dev, flags)
        else:
            bits = device_bits(target) or (ACCEL if ip.migrating else UNSURE)
            made = birth(ip, node, "placed", dev=bits, text="made here")
            ip.graph.same(made.var, 0 if bits == ACCEL else HOST_NODE)
            return Tensor(0 if bits == ACCEL else HOST_NODE, bits, flags, made.why)
    how = "factory"
    if "**" in kwargs or (any(s for _, _, s in args) and name not in _STAR_FINE):
        how = "append"
    if "generator" in kwargs and kwargs["generator"][0] is not NONE:
        how = "append"  # drawn where the generator is, then moved
        flags &= ~LEAF
    return birth(ip, node, how, flags=flags)


_INTEGERS = frozenset(
    f"torch.{n}" for n in "int8 int16 int32 int64 uint8 int long short".split()
)


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


def _like(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    value = args[0][0]
    if "device" in kwargs and isinstance(value, Tensor):
        return moved(ip, value, kwargs["device"][0], node)
    learned = "requires_grad" in kwargs and truth(kwargs["requires_grad"][0]) is not False
    if isinstance(value, Tensor):
        result = Tensor(value.var, value.dev, value.flags & (SCALAR | 128), value.why)
        if learned:
            anchor(ip, result)
        return result
    return meet(ip, node, [(value, args[0][1])], "like", compute=False)


def _unbound_method(
    ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    if args and isinstance(args[0][0], Tensor):
        return call_tensor_method(ip, args[0][0], name, args[1:], kwargs, node)
    return UNKNOWN


def _variable(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    if not args:
        return UNKNOWN
    value = args[0][0]
    learned = "requires_grad" in kwargs and truth(kwargs["requires_grad"][0]) is not False
    found = tensors_in(ip, [(value, args[0][1])])
    if len(found) == 1 and not isinstance(value, Seq):
        tensor = found[0][0]
        flags = (tensor.flags & ~PARAM) | (LEAF if learned else 0)
        result = Tensor(tensor.var, tensor.dev, flags, tensor.why)
        if learned:
            anchor(ip, result)
        return result
    return value if not isinstance(value, Seq) else UNKNOWN


def _parameter(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    value = args[0][0] if args else kwargs.get("data", (UNKNOWN, None, False))[0]
    if isinstance(value, Tensor):
        if not ip.in_module_init:
            anchor(ip, value)
        return Tensor(value.var, value.dev, LEAF | PARAM, value.why)
    made = birth(ip, node, "fixed" if ip.in_module_init else "append", flags=0)
    return Tensor(made.var, made.dev, LEAF | PARAM, made.why)


def _device(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    value = args[0][0] if args else HOST
    bits = device_bits(value)
    if isinstance(value, Device):
        return value
    ip.note("device", node, bits, ip.frame.unit)
    return Device(bits or (ACCEL if ip.migrating else UNSURE))


def _load(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    if "map_location" in kwargs or len(args) > 1 or "**" in kwargs:
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


def _save(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    if args:
        ip.saved.append(args[0][0])
    return HOST


def _optimizer(ip: Interp, name: str, args: list[Arg], node: Any) -> Value:
    inst = Inst(None, name, "optimizer", node)
    ip.note("optimizer", node, args, ip.frame.unit)
    for tensor, _ in tensors_in(ip, [(v, e) for v, e, _ in args[:1]]):
        if tensor.flags & LEAF and not tensor.flags & PARAM:
            anchor(ip, tensor)
    return inst


def _distribution(
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


def _arange(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    return _factory(ip, "torch.arange", args, kwargs, node)


def _tensor_class(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    return make_legacy(ip, TypeName("torch.Tensor", False), args, kwargs, node)


def _generator(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    inst = Inst(None, "torch.Generator", "generator", node)
    target = kwargs["device"][0] if "device" in kwargs else args[0][0] if args else HOST
    inst.state["dev"] = device_bits(target) or CPU
    return inst


def _meshgrid(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    return meet(ip, node, [(v, e) for v, e, _ in args], "meshgrid", compute=False)


def _grad(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    value = args[1][0] if len(args) > 1 else kwargs.get("inputs", (UNKNOWN, None, False))[0]
    outputs = [(v, e) for v, e, _ in args[:1]]
    if "grad_outputs" in kwargs:
        outputs.append(kwargs["grad_outputs"][:2])
    meet(ip, node, outputs, "grad", compute=False)
    found = tensors_in(ip, [(value, None)])
    return Tensor(found[0][0].var, found[0][0].dev, 0, found[0][0].why) if found else UNKNOWN


def _broadcast(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    value = meet(ip, node, [(v, e) for v, e, _ in args], "broadcast", compute=False)
    return Seq("tuple", None, value) if isinstance(value, Tensor) else UNKNOWN


def _jit(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    return args[0][0] if args else UNKNOWN


def _equal(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    meet(ip, node, [(v, e) for v, e, _ in args[:2]], "equal", compute=False)
    return HOST


def _pack(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """pack_padded_sequence: the lengths stay on the host."""
    from .borders import border

    lengths = args[1] if len(args) > 1 else kwargs.get("lengths")
    if lengths is not None:
        border(ip, node, lengths[0], lengths[1], "pack_padded_sequence lengths")
    first = args[0][0] if args else kwargs.get("input", (UNKNOWN, None, False))[0]
    return first if isinstance(first, Tensor) else UNKNOWN


def _pad_packed(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    first = args[0][0] if args else UNKNOWN
    return Seq("tuple", [first, Tensor(HOST_NODE, CPU)])


_SPECIAL: dict[str, Any] = {
    "torch.autograd.Variable": _variable,
    "torch.nn.Parameter": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.nn.Buffer": _variable,
    "torch.device": _device,
    "torch.load": _load,
    "torch.save": _save,
    "torch.Tensor": _tensor_class,
    "torch.Generator": _generator,
    "torch.meshgrid": _meshgrid,
    "torch.autograd.grad": _grad,
    "torch.broadcast_tensors": _broadcast,
    "torch.jit.script": _jit,
    "torch.jit.trace": _jit,
    "torch.compile": _jit,
    "torch.equal": _equal,
    "torch.allclose": _equal,
    "torch.nn.utils.rnn.pack_padded_sequence": _pack,
    "torch.nn.utils.rnn.pad_packed_sequence": _pad_packed,
    "torch.nn.utils.weight_norm": _jit,
    "torch.nn.utils.spectral_norm": _jit,
    "torch.nn.utils.parametrizations.weight_norm": _jit,
    "torch.nn.utils.parametrizations.spectral_norm": _jit,
}
