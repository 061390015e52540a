"""Functions of torch: the table says which are no operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchferry.torchapi.torch_functions import (
    ELEMENTWISE,
    FACTORIES,
    HOST_FACTORIES,
    HOST_RESULT,
    LIKE,
    MOVEMENT,
)

from .borders import border
from .factories import drawn_by, make_legacy, make_like, make_tensor
from .graph import HOST_NODE
from .operands import tensors_in
from .operators import anchor, birth, meet, written
from .saved_files import load_file, save_file
from .tensor_calls import call_tensor_method, drawn_on_host
from .torch_objects import make_device, make_distribution, make_generator, make_optimizer
from .values import (
    ACCEL,
    CPU,
    HOST,
    LEAF,
    PARAM,
    SCALAR,
    UNKNOWN,
    UNSURE,
    Device,
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
        return make_tensor(ip, name, args, kwargs, node)
    if name in HOST_FACTORIES:
        return birth(ip, node, "append", text="made from host memory here")
    if name in LIKE and args:
        return make_like(ip, args, kwargs, node)
    if name in HOST_RESULT:
        return HOST
    if name.startswith("torch.Tensor."):
        return _unbound_method(ip, name[13:], args, kwargs, node)
    head = name.split(".")[1]
    if head in _QUIET:
        return _quiet(name)
    if head == "optim":
        return make_optimizer(ip, name, args, node)
    if head == "distributions":
        return make_distribution(ip, name, args, kwargs, node)
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
    if not ip.migrating and drawn_on_host(
        kwargs["generator"][0] if "generator" in kwargs else None
    ):
        for value, expr in operands:
            if isinstance(value, Tensor):
                border(ip, node, value, expr, "a generator of the CPU")
    result = meet(
        ip, node, operands, last, compute=plain not in MOVEMENT, elementwise=plain in ELEMENTWISE,
        flags=flags, place=place, place_dev=place_dev,
    )  # fmt: skip
    if place is not None:
        result = birth(ip, node, "append")
    if last == "normal" and ("size" in kwargs or result is UNKNOWN):
        return make_tensor(ip, name, args, kwargs, node)
    return result


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


def _tensor_class(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    return make_legacy(ip, TypeName("torch.Tensor", False), args, kwargs, node)


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


def _export(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """An export runs the model once with its example, where both are on one device."""
    model = args[0][0] if args else UNKNOWN
    example = args[1] if len(args) > 1 else kwargs.get("args")
    if ip.migrating or not isinstance(model, Inst) or model.kind != "module" or example is None:
        return UNKNOWN
    given = tensors_in(ip, [(example[0], None)])
    if given and all(t.dev == model.state.get("dev") for t, _ in given):
        if isinstance(example[0], Seq):
            ip.call_value(
                model, [(v, None, False) for v in example[0].state["items"] or []], {}, node
            )
        else:
            ip.call_value(model, [example], {}, node)
    return UNKNOWN


def _equal(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    meet(ip, node, [(v, e) for v, e, _ in args[:2]], "equal", compute=False)
    return HOST


def _pack(ip: Interp, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """pack_padded_sequence: the lengths stay on the host."""
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
    "torch.device": make_device,
    "torch.load": load_file,
    "torch.save": save_file,
    "torch.Tensor": _tensor_class,
    "torch.Generator": make_generator,
    "torch.meshgrid": _meshgrid,
    "torch.autograd.grad": _grad,
    "torch.broadcast_tensors": _broadcast,
    "torch.jit.script": _jit,
    "torch.jit.trace": _jit,
    "torch.compile": _jit,
    "torch.vmap": _jit,
    "torch.func.vmap": _jit,
    "torch.onnx.export": _export,
    "torch.export.export": _export,
    "torch.equal": _equal,
    "torch.allclose": _equal,
    "torch.nn.utils.rnn.pack_padded_sequence": _pack,
    "torch.nn.utils.rnn.pad_packed_sequence": _pad_packed,
    "torch.nn.utils.weight_norm": _jit,
    "torch.nn.utils.spectral_norm": _jit,
    "torch.nn.utils.parametrizations.weight_norm": _jit,
    "torch.nn.utils.parametrizations.spectral_norm": _jit,
}
