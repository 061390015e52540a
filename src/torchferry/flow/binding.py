"""Binding: arguments to parameters, values to targets."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .attributes import set_attribute
from .graph import HOST_NODE
from .iteration import part_of
from .join import join
from .operators import bound_tensor, passed
from .state import Frame
from .subscripts import set_item
from .values import (
    BATCHED,
    UNKNOWN,
    Batch,
    Const,
    Device,
    Func,
    Inst,
    Map,
    Seq,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from .interp import Interp

#: an argument: its value, its expression (None when there is none), starred or not
Arg = tuple[Value, Any, bool]


def bind_arguments(
    ip: Interp, frame: Frame, func: Func, args: list[Arg], kwargs: dict[str, Arg], receiver: Any
) -> None:
    """Python's rules of argument passing; what is not known is UNKNOWN."""
    spec = func.node.args
    names = [a.arg for a in spec.posonlyargs] + [a.arg for a in spec.args]
    values: list[Value] = [] if receiver is None else [receiver]
    open_end = False
    spread: Value | None = None  #: what each parameter may be that `*args` of unknown length fills
    for value, expr, starred in args:
        if open_end:
            item = part_of(ip, value) if starred else value
            spread = item if spread is None else join(ip, spread, item)
            continue
        if not starred:
            if type(value) is Tensor and expr is not None and ip.migrating:
                value = passed(ip, value, expr)
            values.append(value)
            continue
        items = value.state["items"] if isinstance(value, Seq) else None
        if items is None:
            open_end = True
            spread = part_of(ip, value)
            continue
        values.extend(items)
    slots = frame.vars
    for name, value in zip(names, values, strict=False):
        slots[name] = value
    rest = values[len(names) :]
    if spec.vararg:
        slots[spec.vararg.arg] = Seq(
            "tuple", None if open_end else list(rest), UNKNOWN if spread is None else spread
        )
    extra = Map()
    for key, (value, expr, _) in kwargs.items():
        if type(value) is Tensor and expr is not None and ip.migrating:
            value = passed(ip, value, expr)
        if key == "**":
            open_end = True
        elif key in names or any(key == a.arg for a in spec.kwonlyargs):
            slots[key] = value
        else:
            extra.state[("k", key)] = value
    if spec.kwarg:
        slots[spec.kwarg.arg] = extra
    for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        if arg.arg not in slots:
            known = spread if arg.arg in names else None
            if open_end:
                slots[arg.arg] = UNKNOWN if known is None else known
            else:
                slots[arg.arg] = func.defaults.get(arg.arg, UNKNOWN)


def assign(ip: Interp, target: Any, value: Value, stmt: Any) -> None:
    """Bind a value to an assignment target. `stmt` is the statement that binds (or None)."""
    kind = type(target)
    if kind is ast.Name:
        if (type(value) is Tensor and value.flags & BATCHED) or (
            type(value) is Batch and not value.whole
        ):
            value = bound_tensor(ip, value, target, "bind", stmt)
        elif type(value) is Batch and value.var == HOST_NODE:
            # perhaps the batch is one tensor: then it can be moved at this name
            made = bound_tensor(ip, value, target, "bind", stmt)
            value = Batch(made.var, value.dev, True, value.why)
        elif type(value) is Device or type(value) is Const:
            _note_device(ip, target.id, value, stmt)
        elif type(value) is Inst and value.kind == "namespace":
            option = value.attrs.get("device")
            if isinstance(option, Device):
                _note_device(ip, f"{target.id}.device", option, stmt)
        ip.store(target.id, value)
    elif kind is ast.Tuple or kind is ast.List:
        unpack(ip, target.elts, value, stmt)
    elif kind is ast.Attribute:
        set_attribute(ip, target, value, stmt)
    elif kind is ast.Subscript:
        set_item(ip, target, value)
    elif kind is ast.Starred:
        assign(ip, target.value, Seq("list", None, value), stmt)


def _note_device(ip: Interp, name: str, value: Device | Const, stmt: Any) -> None:
    bits = value.bits if isinstance(value, Device) else _DEVICE_STRINGS.get(str(value.value), 0)
    if bits and stmt is not None:
        func = ip.frame.func
        owner = func.node if isinstance(func, Func) else None
        ip.device_names.append((owner, name, stmt, bits))


_DEVICE_STRINGS = {"cpu": 1, "cuda": 2, "cuda:0": 2, "mps": 2, "xpu": 2}


def unpack(ip: Interp, targets: list[Any], value: Value, stmt: Any) -> None:
    """`a, (b, c) = value`."""
    star = next((i for i, t in enumerate(targets) if type(t) is ast.Starred), None)
    items: list[Value] | None = value.state["items"] if isinstance(value, Seq) else None
    if star is not None and items is not None and len(items) >= len(targets) - 1:
        tail = len(targets) - star - 1
        middle = items[star : len(items) - tail]
        items = [*items[:star], Seq("list", middle), *items[len(items) - tail :]]
        for target, item in zip(targets, items, strict=False):
            inner = target.value if type(target) is ast.Starred else target
            assign(ip, inner, item, stmt)
        return
    if items is None or len(items) != len(targets):
        part = part_of(ip, value)
        items = [part] * len(targets)
    for target, item in zip(targets, items, strict=False):
        assign(ip, target, item, stmt)
