"""Calls: what is called decides who answers."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

from torchferry.torchapi.hosts import HOST_LIBRARIES, MIXED_LIBRARIES

from .binding import Arg
from .borders import border
from .builtin_calls import call_builtin
from .classes import foreign_base, instantiate
from .container_methods import call_container_method
from .data_calls import call_data, call_object_method
from .events import Event
from .factories import make_legacy
from .graph import HARD
from .handover import hand_over
from .join import Choice, join
from .module_calls import call_module, call_module_method, make_module, needs_device
from .operands import Operand
from .operators import birth, meet, module_place
from .stdlib_calls import call_stdlib
from .tensor_calls import call_tensor_method
from .torch_calls import call_torch
from .values import (
    ARRAY,
    HOST,
    UNKNOWN,
    Array,
    Bound,
    Class,
    Const,
    Ext,
    Func,
    HostObject,
    Inst,
    Map,
    Method,
    Seq,
    Super,
    Tensor,
    TypeName,
    Value,
)

if TYPE_CHECKING:
    from .interp import Interp

_STDLIB = sys.stdlib_module_names


def eval_call(ip: Interp, node: ast.Call) -> Value:
    """The value of a call expression."""
    if type(node.func) is ast.Name and node.func.id == "super" and not node.keywords:
        return _super(ip, node)
    func = ip.eval(node.func)
    args: list[Arg] = []
    for arg in node.args:
        if type(arg) is ast.Starred:
            args += _starred(ip.eval(arg.value), arg)
        else:
            args.append((ip.eval(arg), arg, False))
    kwargs: dict[str, Arg] = {}
    for kw in node.keywords:
        value = ip.eval(kw.value)
        if kw.arg is not None:
            kwargs[kw.arg] = (value, kw.value, False)
        elif isinstance(value, Map) and value.state["elem"] is None:
            for key, item in value.state.items():
                if key != "elem":
                    kwargs[str(key[1])] = (item, None, False)
        else:
            kwargs["**"] = (value, kw.value, True)
    if ip.migrating:
        return call_value(ip, func, args, kwargs, node)
    result = call_value(ip, func, args, kwargs, node)
    off = ip.graph_off > 0
    place = (node, ip.frame, ip.depth)
    ip.events.append(Event(func, args, kwargs, *place, result, off, ip.exploring, ip.stack))
    return result


def _starred(value: Value, arg: ast.Starred) -> list[Arg]:
    """The arguments that `*value` stands for; itself where their number is not known."""
    items = value.state["items"] if isinstance(value, Seq) else None
    if items is None:
        return [(value, arg, True)]
    shown: list[Any] = [None] * len(items)
    if isinstance(arg.value, (ast.List, ast.Tuple)) and len(arg.value.elts) == len(items):
        shown = list(arg.value.elts)
    return [(item, expr, False) for item, expr in zip(items, shown, strict=True)]


def call_value(
    ip: Interp, func: Value, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """Call an abstract value."""
    kind = type(func)
    if kind is Ext:
        return _call_ext(ip, func.name, args, kwargs, node)  # type: ignore[attr-defined]
    if kind is Method:
        return _call_method(ip, func, args, kwargs, node)  # type: ignore[arg-type]
    if kind is Bound:
        receiver = func.receiver  # type: ignore[attr-defined]
        return _call_bound(ip, func, receiver, args, kwargs, node)
    if kind is Func:
        return ip.call_function(func, args, kwargs, node)  # type: ignore[arg-type]
    if kind is Class:
        return instantiate(ip, func, args, kwargs, node)  # type: ignore[arg-type]
    if kind is Inst:
        return _call_instance(ip, func, args, kwargs, node)  # type: ignore[arg-type]
    if kind is TypeName:
        return make_legacy(ip, func, args, kwargs, node)  # type: ignore[arg-type]
    if kind is HostObject:
        _hand_over(ip, [*args, *kwargs.values()])
        for value, expr, _ in (*args, *kwargs.values()):
            border(ip, node, value, expr, func.library)  # type: ignore[attr-defined]
        return func
    if kind is Choice:
        result: Any = None
        for option in func.options:  # type: ignore[attr-defined]
            value = call_value(ip, option, args, kwargs, node)
            result = value if result is None else join(ip, result, value)
        return result  # type: ignore[no-any-return]
    if func is UNKNOWN:
        _call_foreign(ip, "", args, kwargs, node)
    return UNKNOWN


def _super(ip: Interp, node: ast.Call) -> Value:
    frame: Any = ip.frame
    while frame is not None and (frame.cls is None or frame.func is None or frame.func == "class"):
        frame = frame.parent
    if frame is None or not isinstance(frame.func, Func):
        return UNKNOWN
    names = frame.func.node.args
    first = (names.posonlyargs + names.args)[:1]
    receiver = frame.vars.get(first[0].arg) if first else None
    cls = frame.cls
    if node.args:
        named = ip.eval(node.args[0])
        if isinstance(named, Class):
            cls = named
    return UNKNOWN if receiver is None or cls is None else Super(cls, receiver)


def _call_bound(
    ip: Interp, func: Any, receiver: Value, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    hosted = isinstance(receiver, Inst) and receiver.kind == "dataset"
    if hosted:
        ip.host_context += 1
    try:
        return ip.call_function(func.func, args, kwargs, node, receiver)
    finally:
        if hosted:
            ip.host_context -= 1


def _call_ext(ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any) -> Value:
    top = name.partition(".")[0]
    if top == "torch":
        data = call_data(ip, name, args, kwargs, node)
        if data is not None:
            return data
        if name.startswith("torch.nn.") and name.endswith(".from_pretrained"):
            return make_module(ip, name.removesuffix(".from_pretrained"), args, kwargs, node)
        if (
            name.startswith("torch.nn.")
            and name.rpartition(".")[2][:1].isupper()
            and not name.endswith((".Parameter", ".Buffer"))
        ):
            return make_module(ip, name, args, kwargs, node)
        return call_torch(ip, name, args, kwargs, node)
    if top == "builtins":
        return call_builtin(ip, name[9:], args, kwargs, node)
    if top == "torchvision":
        return _call_torchvision(ip, name, args, kwargs, node)
    a_class = name.rpartition(".")[2][:1].isupper()
    if top in HOST_LIBRARIES and not (a_class and top in MIXED_LIBRARIES):
        _hand_over(ip, [*args, *kwargs.values()])
        for value, expr, _ in (*args, *kwargs.values()):
            border(ip, node, value, expr, top)
        if top == "numpy":
            return ARRAY
        return HostObject(top)
    if top == "torchmetrics" and a_class and not ip.migrating:
        return make_module(ip, name, [], {}, node)
    if top in _STDLIB:
        return call_stdlib(ip, name, args, kwargs, node)
    if top == "einops":
        return meet(ip, node, [(v, e) for v, e, _ in args], name, compute=False)
    _call_foreign(ip, name, args, kwargs, node)
    return UNKNOWN


def _hand_over(ip: Interp, given: list[Any]) -> None:
    """Objects whose class another package completes are driven by that package."""
    for value, *_ in given:
        if isinstance(value, Inst) and value.cls is not None and foreign_base(value.cls):
            _leave_on_host(ip, value)


def _leave_on_host(ip: Interp, inst: Inst) -> None:
    """An object that code of another package drives: that code brings its own tensors."""
    for value in inst.attrs.values():
        var = value.var if isinstance(value, Tensor) else None
        if isinstance(value, Inst) and value.kind == "module":
            var = value.state.get("var")
        if var is not None:
            ip.graph.want_host(ip.graph.find(var), HARD // 100, "used by foreign code")


def _call_foreign(
    ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> None:
    """A function that is not known: what it is given together stays together."""
    ip.note("unknown-call", name, node, args, kwargs, ip.frame.unit)
    _hand_over(ip, [*args, *kwargs.values()])
    if not ip.migrating:
        hand_over(ip, [value for value, *_ in (*args, *kwargs.values())])
        return
    given = [(v, e) for v, e, _ in (*args, *kwargs.values())]
    tensors: list[Operand] = [(v, e) for v, e in given if isinstance(v, Tensor)]
    module = next(
        (v for v, _ in given if isinstance(v, Inst) and v.kind == "module" and needs_device(v)),
        None,
    )
    if module is not None and tensors:
        # `summary(model, x)`: it calls the model
        place, dev = module_place(ip, module)
        meet(ip, node, tensors, name, place=place, place_dev=dev, compute=False)
    elif len(tensors) > 1:
        meet(ip, node, [(v, None) for v, _ in tensors], name, compute=False)


def _call_torchvision(
    ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    part = name.split(".")[1] if "." in name else ""
    if part == "datasets":
        return Inst(None, name, "dataset", node)
    if part == "models":
        return make_module(ip, name, args, kwargs, node)
    if part == "transforms":
        return _transform(ip, name, args, node)
    if part == "utils":
        if name.endswith("save_image"):
            return HOST
        return meet(ip, node, [(v, e) for v, e, _ in args[:1]], name, compute=False)
    return UNKNOWN


_TO_TENSOR = ("ToTensor", "PILToTensor", "to_tensor", "pil_to_tensor")


def _transform(ip: Interp, name: str, args: list[Arg], node: Any) -> Value:
    """A transform of torchvision: an object to call, or a function of `functional`."""
    last = name.rpartition(".")[2]
    if last in _TO_TENSOR and last[0].islower():
        return birth(ip, node, "append", text="made from an image here")
    if last == "to_pil_image":
        for value, expr, _ in args[:1]:
            border(ip, node, value, expr, "PIL")
        return HostObject("PIL")
    if not last[:1].isupper():
        return meet(ip, node, [(v, e) for v, e, _ in args[:1]], last, compute=False)
    inst = Inst(None, name, "transform", node)
    inst.state["makes"] = last in _TO_TENSOR
    if last == "Compose" and args and isinstance(args[0][0], Seq):
        steps = args[0][0].state["items"] or []
        inst.state["makes"] = any(isinstance(s, Inst) and s.state.get("makes") for s in steps)
    return inst


def _apply_transform(ip: Interp, inst: Inst, args: list[Arg], node: Any) -> Value:
    if inst.state.get("makes"):
        return birth(ip, node, "append", text="made from an image here")
    if inst.ext.endswith("ToPILImage"):
        for value, expr, _ in args[:1]:
            border(ip, node, value, expr, "PIL")
        return HostObject("PIL")
    return meet(ip, node, [(v, e) for v, e, _ in args[:1]], "transform", compute=False)


def _call_method(
    ip: Interp, method: Method, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    receiver, name = method.receiver, method.name
    kind = type(receiver)
    if kind is Tensor:
        return call_tensor_method(ip, receiver, name, args, kwargs, node)  # type: ignore[arg-type]
    if kind is Inst:
        if receiver.kind == "module":  # type: ignore[attr-defined]
            return call_module_method(ip, receiver, name, args, kwargs, node)  # type: ignore

        return call_object_method(ip, receiver, name, args, kwargs, node)  # type: ignore[arg-type]
    if kind is Super:
        return call_module_method(ip, receiver.receiver, name, args, kwargs, node)  # type: ignore
    if kind is Class and name == "apply":
        return _call_autograd_function(ip, receiver, args, kwargs, node)  # type: ignore[arg-type]
    if kind is Array:
        for value, expr, _ in (*args, *kwargs.values()):
            border(ip, node, value, expr, "numpy")
        return HOST if name in ("tolist", "item") else ARRAY
    if kind in (Seq, Map, Const) or receiver is HOST:
        return call_container_method(ip, receiver, name, args, kwargs, node)
    return UNKNOWN


def _call_autograd_function(
    ip: Interp, cls: Class, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    forward = cls.find("forward")
    if isinstance(forward, Func):
        ctx = Inst(None, "autograd.ctx", "namespace", node)
        ctx.state["elem"] = UNKNOWN
        return ip.call_function(forward, [(ctx, None, False), *args], kwargs, node)
    return meet(ip, node, [(v, e) for v, e, _ in args], cls.name)


def _call_instance(
    ip: Interp, inst: Inst, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    if inst.kind == "module":
        return call_module(ip, inst, args, kwargs, node)
    if inst.cls is not None:
        func = inst.cls.find("__call__")
        if isinstance(func, Func):
            return ip.call_function(func, args, kwargs, node, inst)
        forward = inst.cls.find("forward")
        if isinstance(forward, Func) and foreign_base(inst.cls):
            return ip.call_function(forward, args, kwargs, node, inst)
        if inst.cls.kind == "function":
            return _call_autograd_function(ip, inst.cls, args, kwargs, node)
    if inst.kind == "loaded":
        return meet(
            ip, node, [(v, e) for v, e, _ in args], "loaded", place=inst.state["var"], place_dev=1
        )
    if inst.kind == "transform":
        return _apply_transform(ip, inst, args, node)
    if inst.kind == "partial":
        more: list[Arg] = inst.state["args"]
        named: dict[str, Arg] = inst.state["kwargs"]
        return call_value(ip, inst.state["func"], [*more, *args], {**named, **kwargs}, node)
    return UNKNOWN
