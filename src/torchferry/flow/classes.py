"""Definitions of functions and classes, and making instances of classes of the project."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

from torchferry.torchapi.data_classes import DATASET_CLASSES

from .borders import sink
from .module_tree import adopt_arguments
from .operators import birth
from .state import Frame
from .values import CPU, Class, Ext, Func, Inst, Value

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


def dotted(node: Any) -> str:
    """`a.b.c` of a decorator or base expression, without calls; "" when it is something else."""
    if isinstance(node, ast.Call):
        node = node.func
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
        return ".".join(reversed(parts))
    return ""


def define_function(ip: Interp, node: Any) -> Func:
    """A def: defaults are evaluated here, the body at each call."""
    decorators = tuple(dotted(d) for d in node.decorator_list)
    cls = ip.frame.cls if ip.frame.func == "class" else None
    func = Func(node, _scope(ip), ip.frame.unit, cls, decorators)
    _defaults(ip, func, node.args)
    ip.functions.append(func)
    return func


def define_lambda(ip: Interp, node: ast.Lambda) -> Func:
    """A lambda, bound to the frame it is written in."""
    func = Func(node, ip.frame, ip.frame.unit, None, ())
    _defaults(ip, func, node.args)
    return func


def _scope(ip: Interp) -> Any:
    """Functions of a class body see the scope around the class."""
    frame = ip.frame
    while frame.func == "class" and frame.parent is not None:
        frame = frame.parent
    return frame


def _defaults(ip: Interp, func: Func, spec: ast.arguments) -> None:
    names = [*spec.posonlyargs, *spec.args]
    for arg, default in zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=False):
        func.defaults[arg.arg] = ip.eval(default)
    for arg, kw_default in zip(spec.kwonlyargs, spec.kw_defaults, strict=False):
        if kw_default is not None:
            func.defaults[arg.arg] = ip.eval(kw_default)


def define_class(ip: Interp, node: ast.ClassDef) -> Class:
    """A class statement: bases tell what it is, the body is run in a frame of its own."""
    cls = Class(node.name, node, ip.frame.unit)
    for base in node.bases:
        value = ip.eval(base)
        if isinstance(value, Class):
            cls.bases.append(value)
            cls.kind = cls.kind or value.kind
        elif isinstance(value, Ext):
            cls.ext_bases.append(value.name)
            cls.kind = cls.kind or kind_of_base(value.name)
        else:
            cls.ext_bases.append("?.unknown")
    frame = Frame(_scope(ip), ip.frame.unit, "class", ip.frame.ctx)
    frame.cls = cls
    frame.vars = cls.attrs
    caller, ip.frame = ip.frame, frame
    try:
        ip.exec_block(node.body)
    finally:
        ip.frame = caller
    ip.classes.append(cls)
    return cls


def kind_of_base(name: str) -> str:
    """What a class of another package makes of its subclasses."""
    if name in DATASET_CLASSES or name.startswith("torchvision.datasets."):
        return "dataset"
    if name == "torch.autograd.Function":
        return "function"
    if name.startswith("torch.nn.") and name != "torch.nn.Parameter":
        return "module"
    if name.startswith("torch.optim."):
        return "optimizer"
    return ""


def has_external_base(cls: Class) -> bool:
    """Whether a base is unknown, so that methods and attributes may come from elsewhere."""
    known = ("torch.nn.Module", "builtins.object", "torch.utils.data.Dataset")
    return any(b not in known for b in cls.ext_bases) or any(
        has_external_base(b) for b in cls.bases
    )


_KNOWN_TOPS = frozenset(("torch", "builtins", "torchvision")) | sys.stdlib_module_names


def foreign_base(cls: Class) -> bool:
    """Whether a base comes from a package that is not known, whose code uses the instance."""
    if any(b.partition(".")[0] not in _KNOWN_TOPS for b in cls.ext_bases):
        return True
    return any(foreign_base(b) for b in cls.bases)


def instantiate(
    ip: Interp, cls: Class, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """`Class(...)`: run __init__ on a new instance."""
    inst = Inst(cls, "", cls.kind, node)
    if cls.kind == "module":
        made = birth(ip, node, "module", text="module made on the CPU here")
        inst.state["var"], inst.state["dev"] = made.var, CPU
        ip.module_nodes[id(node)] = inst
        for base in cls.ext_bases:
            if base.startswith("torch.nn.") and base != "torch.nn.Module":
                inst.ext = base
    if cls.kind == "dataset":
        ip.host_context += 1

        for value, expr, _ in (*args, *kwargs.values()):
            sink(ip, value, expr, cls.name)
    init = cls.find("__init__")
    cls.called = True
    cls.last = inst
    if isinstance(init, Func):
        if cls.kind == "module":
            ip.in_module_init.append(cls)
            ip.constructing.append(inst)
        try:
            ip.call_function(init, args, kwargs, node, inst)
        finally:
            if cls.kind == "module":
                ip.in_module_init.pop()
                ip.constructing.pop()
    elif cls.kind == "module" and inst.ext:
        adopt_arguments(ip, inst, args)
    else:
        _named_tuple_or_dataclass(ip, cls, inst, args, kwargs)
    if cls.kind == "dataset":
        ip.host_context -= 1
    return inst


def _named_tuple_or_dataclass(
    ip: Interp, cls: Class, inst: Inst, args: list[Arg], kwargs: dict[str, Arg]
) -> None:
    fields = [
        s.target.id
        for s in cls.node.body
        if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    ]
    for name, (value, _, _) in zip(fields, args, strict=False):
        inst.attrs[name] = value
    for name, (value, _, _) in kwargs.items():
        inst.attrs[name] = value


def call_method(ip: Interp, inst: Inst, name: str, args: list[Any], node: Any) -> Value | None:
    """Call a method of the instance's class by name; None when the class has none."""
    func = inst.cls.find(name) if inst.cls is not None else None
    if isinstance(func, Func):
        if inst.kind == "dataset":
            ip.host_context += 1
        try:
            return ip.call_function(func, args, {}, node, inst)
        finally:
            if inst.kind == "dataset":
                ip.host_context -= 1
    return None
