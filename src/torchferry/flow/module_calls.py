"""Modules: making, registering, moving and calling them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchferry.source.functions import parameters
from torchferry.torchapi.modules import CONTAINERS, PARAMETERLESS, SELF_METHODS

from .graph import HOST_NODE
from .join import Choice, element
from .module_tree import adopt_arguments, adopt_into, child_modules, children_of, place, register
from .moves import device_bits
from .operators import ANCHOR, birth, meet
from .values import (
    ACCEL,
    BUFFER,
    CPU,
    HOST,
    LEAF,
    NONE,
    PARAM,
    SCALAR,
    UNKNOWN,
    UNSURE,
    Const,
    Ext,
    Func,
    Inst,
    Map,
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

_SIZES = frozenset("in_features out_features hidden_size num_layers".split())
_PARAM_ATTRS = frozenset(
    "weight bias weight_ih weight_hh bias_ih bias_hh running_mean running_var in_proj_weight "
    "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0".split()
)


def make_module(ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    """`nn.Linear(...)`, `nn.Sequential(...)`, `torchvision.models.resnet18()`."""
    last = name.rpartition(".")[2]
    inst = Inst(None, name, "module", node)
    made = birth(ip, node, "module", text="module made on the CPU here")
    inst.state["var"], inst.state["dev"] = made.var, CPU
    ip.module_nodes[id(node)] = inst
    if last == "DataParallel" and args:
        inner = args[0][0]
        if isinstance(inner, Inst) and inner.kind == "module":
            inst.attrs["module"] = inner
            inst.state["var"], inst.state["dev"] = inner.state["var"], inner.state["dev"]
            ip.graph.same(made.var, inner.state["var"])
            ip.owned.add(id(node))
        elif not ip.migrating or _is_argument(ip, args[0][1]):
            _around_unknown(ip, inst, node)
        return inst
    adopt_arguments(ip, inst, [*args, *kwargs.values()])
    given = [value for value, _, _ in (*args, *kwargs.values())]
    if "device_ids" in kwargs and kwargs["device_ids"][0] is not NONE:
        inst.state["ids"] = True
    if not ip.migrating:
        _wrapped_place(inst, given)
    elif last == "DistributedDataParallel" and UNKNOWN in given[:1]:
        _around_unknown(ip, inst, node)
    if last in CONTAINERS and not inst.attrs:
        ip.owned.add(id(node))  # empty: what is added later is moved for itself
    for value, expr, _ in (*args, *kwargs.values()):
        if isinstance(value, Tensor):
            # a loss that holds a tensor (class weights): it lives where its inputs live
            inst.attrs["weight"] = Tensor(value.var, value.dev, 0, value.why)
            inst.state["held"] = (value, expr)
            if not ip.migrating:
                why = OfModule("kept as a buffer of the loss", node, ip.frame.unit, value.why, inst)
                inst.attrs["weight"] = Tensor(value.var, value.dev, BUFFER, why)
                inst.state["dev"] = value.dev
    if "reduce" in kwargs or ("reduction" in kwargs and not _reduced(kwargs["reduction"][0])):
        inst.state["unreduced"] = True  # a loss for each item
    if "device" in kwargs:
        bits = device_bits(kwargs["device"][0])
        if bits:
            place(ip, inst, bits)
    return inst


def _around_unknown(ip: Interp, inst: Inst, node: Any) -> None:
    """What it wraps is not known: it is where that is, and moving that is not its part."""
    ip.owned.add(id(node))
    inst.state["dev"] = UNSURE


def _is_argument(ip: Interp, expr: Any) -> bool:
    """Whether the expression is an argument of the function around, as its caller made it."""
    function = ip.frame.func
    return (
        function is not None and isinstance(expr, ast.Name) and expr.id in parameters(function.node)
    )


def _reduced(reduction: Value) -> bool:
    return isinstance(reduction, Const) and reduction.value in ("mean", "sum", "batchmean")


_AROUND_OTHERS = CONTAINERS | {"TransformerEncoder", "TransformerDecoder", "AveragedModel"}


def _wrapped_place(inst: Inst, given: list[Value]) -> None:
    """A module around others (DistributedDataParallel, TransformerEncoder) is where they are."""
    places = {
        child.state.get("dev", UNSURE)
        for child in inst.attrs.values()
        if isinstance(child, Inst) and child.kind == "module"
    }
    if places:
        inst.state["dev"] = places.pop() if len(places) == 1 else UNSURE
        return
    around = inst.ext.rpartition(".")[2] in _AROUND_OTHERS and UNKNOWN in given
    if around or inst.ext.endswith(("DataParallel", "FullyShardedDataParallel")):
        inst.state["dev"] = UNSURE


def module_attribute(ip: Interp, inst: Inst, attr: str, node: Any) -> Value:
    """An attribute of a module that its class does not define."""
    if attr in _PARAM_ATTRS and (inst.cls is None or inst.ext):
        why = OfModule(f"{attr} is a parameter of the module", node, ip.frame.unit, None, inst)
        return Tensor(inst.state["var"], inst.state["dev"], PARAM | LEAF, why)
    if attr == "training":
        return HOST
    if attr in ("_modules", "_parameters", "_buffers"):
        result = Map()
        if attr == "_modules":
            for index, child in enumerate(child_modules(inst)):
                result.state[("k", index)] = child
        else:
            result.state["elem"] = Tensor(inst.state["var"], inst.state["dev"], PARAM | LEAF)
        return result
    if attr == "device" and inst.cls is not None:
        return UNKNOWN
    if inst.cls is None and inst.ext.startswith("torchvision") and attr not in _METHODS:
        return _part_of_pretrained(ip, inst, attr, node)
    if inst.cls is None and inst.ext.startswith("torch.nn.") and attr in _SIZES:
        return HOST
    return Method(inst, attr, node)


def _part_of_pretrained(ip: Interp, inst: Inst, attr: str, node: Any) -> Value:
    part = Inst(None, "torch.nn.Module", "module", node)
    part.state.update(inst.state)
    ip.owned.add(id(node))
    inst.attrs[attr] = part
    return part


_METHODS = SELF_METHODS | frozenset(
    "to cuda cpu parameters named_parameters buffers named_buffers state_dict children modules "
    "named_children named_modules forward register_buffer register_parameter add_module append "
    "extend insert items keys values get_parameter".split()
)


def call_module_method(
    ip: Interp, inst: Inst, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """`module.name(...)` for the methods of nn.Module."""
    if name in ("to", "cuda", "cpu", "xpu", "to_empty"):
        return _move(ip, inst, name, args, kwargs, node)
    if name in SELF_METHODS:
        return inst
    if name in _HOOKS:
        if args and isinstance(args[0][0], Func) and not ip.migrating:
            inst.state.setdefault("hooks", {})[id(node)] = (args[0][0], node)
        return UNKNOWN
    why = OfModule("a parameter of the module", node, ip.frame.unit, None, inst)
    param = Tensor(inst.state.get("var", HOST_NODE), inst.state.get("dev", CPU), PARAM | LEAF, why)
    if name in ("parameters", "buffers"):
        seq = Seq("iter", None, param)
        seq.state["module"] = inst
        return seq
    if name in ("named_parameters", "named_buffers"):
        return Seq("iter", None, Seq("tuple", [HOST, param]))
    if name == "state_dict":
        result = Map()
        result.state["elem"] = Tensor(param.var, param.dev, 0)
        return result
    if name in ("register_buffer", "register_parameter"):
        return _register(ip, inst, name, args, kwargs)
    if name in ("add_module", "register_module") and len(args) > 1:
        key = args[0][0]
        label = str(key.value) if isinstance(key, Const) else f"?{len(inst.attrs)}"
        register(ip, inst, label, args[1][0])
        return HOST
    if name in ("append", "extend", "insert", "__setitem__") and args:
        value = args[-1][0]
        adopt_into(ip, inst, value)
        return inst
    if name in ("children", "modules", "values"):
        return children_of(ip, inst)
    if name in ("named_children", "named_modules", "items"):
        child_seq = children_of(ip, inst)
        elem = element(ip, child_seq)
        return Seq("iter", None, Seq("tuple", [HOST, elem if elem is not None else UNKNOWN]))
    if name in ("forward", "__call__"):
        return call_module(ip, inst, args, kwargs, node)
    if inst.cls is None and inst.ext.startswith(("torch.nn", "torchvision", "torchmetrics")):
        return meet(
            ip, node, [(v, e) for v, e, _ in args], name, place=inst.state["var"],
            place_dev=inst.state["dev"], compute=False, owner=inst,
        ) if any(isinstance(v, Tensor) for v, _, _ in args) else HOST  # fmt: skip
    return UNKNOWN


def _move(
    ip: Interp, inst: Inst, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    if name == "to":
        target = kwargs["device"][0] if "device" in kwargs else args[0][0] if args else HOST
        if isinstance(target, (Ext, TypeName)):
            return inst
        bits = device_bits(target) or (ACCEL if ip.migrating else UNSURE)
    else:
        bits = CPU if name == "cpu" else ACCEL
    if not ip.migrating:
        ip.note("module-move", inst, bits, node, ip.frame, ip.stack)
    if name == "cuda":
        ip.note("cuda-call", node, inst, ip.frame.unit)
    place(ip, inst, bits)
    return inst


def _register(ip: Interp, inst: Inst, name: str, args: list[Arg], kwargs: dict[str, Arg]) -> Value:
    label = args[0][0] if args else kwargs.get("name", (UNKNOWN, None, False))[0]
    value = args[1][0] if len(args) > 1 else kwargs.get(
        "tensor", kwargs.get("param", (UNKNOWN, None, False))
    )[0]  # fmt: skip
    if isinstance(label, Const) and isinstance(label.value, str) and "var" in inst.state:
        flag = BUFFER if name == "register_buffer" else PARAM | LEAF
        why = value.why if isinstance(value, Tensor) else None
        if not (isinstance(value, Const) and value.value is None):
            stored = Tensor(inst.state["var"], inst.state["dev"], flag, why)
            if isinstance(value, Tensor):
                inst.state.setdefault("born", {})[label.value] = value
            ip.trail.set(inst.attrs, label.value, stored)
    return HOST


_HOOKS = frozenset(("register_forward_hook",))


def call_module(
    ip: Interp, inst: Inst, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """`module(x)`: the user's forward is followed, then the hooks that wait for its result."""
    result = _call_module(ip, inst, args, kwargs, node)
    for hook, registered in inst.state.get("hooks", {}).values():
        inputs = Seq("tuple", [value for value, _, _ in args])
        given = [(value, None, False) for value in (inst, inputs, result)]
        changed = ip.call_function(hook, given, {}, registered)
        result = changed if isinstance(changed, Tensor) else result
    return result


def _call_module(
    ip: Interp, inst: Inst, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """A module of torch.nn is an operator."""
    if not ip.migrating and _scatters(inst):
        args = [(_sent(ip, value, node), expr, starred) for value, expr, starred in args]
    var = inst.state.get("var", HOST_NODE)
    if ip.constructing and _under_construction(ip, inst):
        var = HOST_NODE
    if not ip.host_context and var >= 2 and needs_device(inst):
        ip.graph.want_device(var, ANCHOR * 4)
    if inst.cls is not None:
        forward = inst.cls.find("forward")
        if isinstance(forward, Func):
            inst.cls.called = True
            return ip.call_function(forward, args, kwargs, node, inst)
    last = inst.ext.rpartition(".")[2]
    if last in CONTAINERS:
        return _call_container(ip, inst, args, node)
    if last == "DataParallel":
        inner = inst.attrs.get("module")
        if isinstance(inner, Inst):
            return call_module(ip, inner, args, kwargs, node)
    operands = [(v, e) for v, e, _ in args] + [(v, e) for v, e, _ in kwargs.values()]
    held = inst.state.get("held")
    if held is not None:
        operands.append((inst.attrs.get("weight", held[0]), held[1]))
    flags = SCALAR if last.endswith("Loss") and not inst.state.get("unreduced") else 0
    if last in PARAMETERLESS:
        return meet(ip, node, operands, last, flags=flags, owner=inst)
    dev = inst.state.get("dev", CPU)
    last = "module" if last == "Module" else last
    return meet(ip, node, operands, last, place=var, place_dev=dev, flags=flags, owner=inst)


def _scatters(inst: Inst) -> bool:
    """DataParallel, and DistributedDataParallel with `device_ids`, send their inputs to the GPU."""
    if inst.cls is not None or inst.state.get("dev") != ACCEL:
        return False
    last = inst.ext.rpartition(".")[2]
    return last == "DataParallel" or (last == "DistributedDataParallel" and "ids" in inst.state)


def _sent(ip: Interp, value: Value, node: Any) -> Value:
    if not isinstance(value, Tensor) or value.dev != CPU:
        return value
    why = Why("sent to the GPU by the wrapper", node, ip.frame.unit, value.why)
    return Tensor(value.var, ACCEL, value.flags, why)


def _under_construction(ip: Interp, inst: Inst) -> bool:
    """Whether the module (or one that owns it) is still in its __init__: not moved yet."""
    current: Any = inst
    for _ in range(20):
        if current in ip.constructing:
            return True
        current = current.state.get("parent")
        if current is None:
            return False
    return False


def _call_container(ip: Interp, inst: Inst, args: list[Arg], node: Any) -> Value:
    value: Value = args[0][0] if args else UNKNOWN
    expr = args[0][1] if args else None
    children = child_modules(inst)
    if not children:
        operands = [(v, e) for v, e, _ in args]
        var = HOST_NODE if _under_construction(ip, inst) else inst.state["var"]
        return meet(ip, node, operands, "Sequential", place=var, place_dev=inst.state["dev"])
    for child in children:
        if isinstance(child, Inst):
            value = call_module(ip, child, [(value, expr, False)], {}, node)
        expr = None
    return value


def needs_device(inst: Inst, seen: set[int] | None = None) -> bool:
    """Whether the module has parameters or buffers, as far as is known."""
    if inst.cls is None:
        last = inst.ext.rpartition(".")[2]
        if last not in CONTAINERS:
            return last not in PARAMETERLESS
    seen = seen if seen is not None else set()
    if id(inst) in seen:
        return False
    seen.add(id(inst))
    if inst.cls is not None and inst.ext:
        return True
    for value in inst.attrs.values():
        for option in value.options if isinstance(value, Choice) else (value,):
            if isinstance(option, Inst) and option.kind == "module" and needs_device(option, seen):
                return True
            if isinstance(option, Tensor) and option.flags & (PARAM | BUFFER):
                return True
    return False
