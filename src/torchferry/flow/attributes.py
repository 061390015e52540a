"""Reading and writing attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchferry.torchapi.tensor_methods import HOST_ATTRS
from torchferry.torchapi.tensor_names import METHODS

from .classes import has_external_base
from .data_calls import dataset_attribute
from .graph import HARD
from .imports import attribute_of_folder, attribute_of_module
from .join import Choice, join
from .module_calls import module_attribute
from .module_tree import adopt
from .names import canonical
from .operators import USE, anchor, bound_tensor, move_cost
from .tensor_calls import tensor_attribute
from .values import (
    ACCEL,
    ARRAY,
    BUFFER,
    CPU,
    HOST,
    LEAF,
    PARAM,
    UNKNOWN,
    UNSURE,
    Array,
    Batch,
    Class,
    Const,
    Device,
    Ext,
    Func,
    HostObject,
    Inst,
    Kept,
    LocalFolder,
    LocalModule,
    Map,
    Method,
    OfModule,
    Seq,
    Super,
    Tensor,
    TypeName,
    Value,
)

if TYPE_CHECKING:
    from .interp import Interp

_ARRAY_HOST = frozenset("shape ndim size dtype itemsize nbytes columns index name".split())
_ARRAY_SAME = frozenset("T values data target real imag flat iloc loc feature_names".split())


def get_attribute(ip: Interp, node: ast.Attribute) -> Value:
    """`value.attr`."""
    return attribute_of(ip, ip.eval(node.value), node.attr, node)


def attribute_of(ip: Interp, base: Value, attr: str, node: Any) -> Value:
    """The attribute `attr` of an abstract value; `node` is the whole expression."""
    kind = type(base)
    if kind is Ext:
        return canonical(f"{base.name}.{attr}")  # type: ignore[attr-defined]
    if kind is Tensor:
        return tensor_attribute(ip, base, attr, node)  # type: ignore[arg-type]
    if kind is Inst:
        return _of_instance(ip, base, attr, node)  # type: ignore[arg-type]
    if kind is Class:
        return _of_class(ip, base, attr, node)  # type: ignore[arg-type]
    if kind is Super:
        return _of_super(ip, base, attr, node)  # type: ignore[arg-type]
    if kind is Batch:
        return _of_batch(ip, base, attr, node)  # type: ignore[arg-type]
    if kind is Array:
        if attr in _ARRAY_HOST:
            return HOST
        return ARRAY if attr in _ARRAY_SAME else Method(base, attr, node)
    if kind is HostObject:
        return base
    if kind is Choice:
        result: Any = None
        for option in base.options:  # type: ignore[attr-defined]
            value = attribute_of(ip, option, attr, node)
            result = value if result is None else join(ip, result, value)
        return result  # type: ignore[no-any-return]
    if kind is Device:
        return base if attr == "type" else HOST
    if kind is LocalModule:
        return attribute_of_module(ip, base, attr)  # type: ignore[arg-type]
    if kind is LocalFolder:
        return attribute_of_folder(ip, base, attr)  # type: ignore[arg-type]
    if kind in (Seq, Map, Const) or base is HOST or kind is TypeName:
        return Method(base, attr, node)
    return UNKNOWN


def _of_instance(ip: Interp, inst: Inst, attr: str, node: Any) -> Value:
    value = inst.attrs.get(attr)
    if value is not None:
        if type(value) is Tensor and not ip.migrating and inst not in ip.constructing:
            return _read_tensor(ip, inst, attr, value, node)
        if type(value) is Tensor and value.flags & (PARAM | BUFFER) and "var" in inst.state:
            if inst in ip.constructing:
                return inst.state.get("born", {}).get(attr, value)  # type: ignore[no-any-return]
            return Tensor(inst.state["var"], inst.state["dev"], value.flags, value.why)
        return value
    if inst.cls is not None:
        found = inst.cls.find(attr)
        if isinstance(found, Func):
            if "property" in found.decorators or "cached_property" in found.decorators:
                return ip.call_function(found, [], {}, node, inst)
            if "classmethod" in found.decorators:
                return ip.bound(found, inst.cls)
            return ip.bound(found, inst)
        if found is not None:
            return found
        if attr == "__class__":
            return inst.cls
    if inst.kind == "module":
        return module_attribute(ip, inst, attr, node)
    if inst.kind == "namespace":
        return inst.state.get("elem", HOST)  # type: ignore[no-any-return]
    if inst.cls is not None and (attr == "device" or has_external_base(inst.cls)):
        return Method(inst, attr, node) if inst.kind else UNKNOWN
    if inst.cls is not None:
        return UNKNOWN

    found_attr = dataset_attribute(ip, inst, attr, node)
    return Method(inst, attr, node) if found_attr is None else found_attr


def _read_tensor(ip: Interp, inst: Inst, attr: str, value: Tensor, node: Any) -> Tensor:
    """A tensor that an object keeps, with the evidence that it does."""
    unit = ip.frame.unit
    if value.flags & (PARAM | BUFFER) and "var" in inst.state:
        what = "a buffer" if value.flags & BUFFER else "a parameter"
        why: Any = OfModule(f"{attr} is {what} of the module", node, unit, value.why, inst)
        return Tensor(inst.state["var"], inst.state["dev"], value.flags, why)
    why = value.why
    if type(why) is Kept and why.inst is inst and why.attr == attr:
        return value
    text = f"kept in the plain attribute {attr}"
    return Tensor(value.var, value.dev, value.flags, Kept(text, node, unit, why, inst, attr))


def _of_class(ip: Interp, cls: Class, attr: str, node: Any) -> Value:
    found = cls.find(attr)
    if isinstance(found, Func):
        if "classmethod" in found.decorators:
            return ip.bound(found, cls)
        return found
    if found is not None:
        return found
    if cls.kind == "function" and attr == "apply":
        return Method(cls, "apply", node)
    if attr == "__name__":
        return HOST
    return UNKNOWN


def _of_super(ip: Interp, base: Super, attr: str, node: Any) -> Value:
    for parent in base.cls.bases:
        found = parent.find(attr)
        if isinstance(found, Func):
            return ip.bound(found, base.receiver)
        if found is not None:
            return found
    if isinstance(base.receiver, Inst) and base.receiver.kind == "module":
        return Method(base, attr, node)
    return UNKNOWN


_BATCH_METHODS = frozenset("items keys shape".split())


def _of_batch(ip: Interp, batch: Batch, attr: str, node: Any) -> Value:
    """`batch.text` takes a part out; `batch.to(...)` is a method."""
    if attr in _BATCH_METHODS or attr in METHODS or not batch.whole:
        tensor = Tensor(batch.var, batch.dev, 0, batch.why)
        return tensor_attribute(ip, tensor, attr, node)
    if attr in HOST_ATTRS:
        return HOST
    return bound_tensor(ip, batch, node, "append", None)


def set_attribute(ip: Interp, target: ast.Attribute, value: Value, stmt: Any) -> None:
    """`base.attr = value`."""
    base = ip.eval(target.value)
    attr = target.attr
    if isinstance(base, Inst):
        if type(value) is Batch:
            value = Tensor(value.var, value.dev, 0, value.why)
        if base.kind == "module":
            value = _module_state(ip, base, target, value, stmt)
        if attr == "device" and base.cls is not None:
            ip.kept_devices.setdefault(id(base.cls.node), []).append(value)
        ip.trail.set(base.attrs, attr, value)
        if base.kind == "dataset" and isinstance(value, Tensor):
            ip.graph.want_host(ip.graph.find(value.var), 60, "kept by a dataset")
    elif isinstance(base, Class):
        ip.trail.set(base.attrs, attr, value)
    elif isinstance(base, LocalModule):
        ip.trail.set(base.unit.frame.vars, attr, value)
    elif isinstance(base, Tensor):
        if attr == "requires_grad":
            anchor(ip, base)
        elif attr in ("data", "grad") and isinstance(value, Tensor):
            if attr == "grad" and not ip.migrating and {base.dev, value.dev} == {CPU, ACCEL}:
                parties = [(base, target.value), (value, getattr(stmt, "value", None))]
                ip.clash("mixed", target, "grad", [parties, base.dev])
            graph = ip.graph
            u, v = graph.find(value.var), graph.find(base.var)
            if attr == "data" and u < 2 and isinstance(target.value, ast.Name):
                moved = Tensor(value.var, value.dev, base.flags, value.why)
                ip.store(target.value.id, moved)
                return
            cost = move_cost(ip, USE)
            expr = stmt.value if isinstance(stmt, ast.Assign) else None
            graph.edge(u, v, cost, cost, expr, ip.frame.unit, "use")


def _module_state(ip: Interp, base: Inst, target: ast.Attribute, value: Value, stmt: Any) -> Value:
    """What nn.Module.__setattr__ does: registers modules and parameters, not plain tensors."""
    if base.cls is not None:
        key = (id(base.cls.node), target.attr)
        ip.attr_sets.setdefault(key, []).append((value, stmt, target, ip.frame))
    for option in value.options if isinstance(value, Choice) else (value,):
        if isinstance(option, Inst) and option.kind == "module":
            adopt(ip, base, option)
    if isinstance(value, (Inst, Choice)):
        return value
    if isinstance(value, Tensor):
        if value.flags & PARAM and value.flags & LEAF:
            if value.dev == ACCEL and not ip.migrating and base in ip.constructing:
                alone = all(
                    v is HOST or isinstance(v, (Const, Device)) for v in base.attrs.values()
                )
                ip.trail.set(base.state, "dev", ACCEL if alone else UNSURE)
            if value.var >= 2 and ip.constructing:
                ip.graph.same(value.var, base.state["var"])
            elif value.var >= 2:
                # registered after the module was made, perhaps after it was moved
                ip.graph.edge(value.var, base.state["var"], HARD, HARD)
            return value
        old = base.attrs.get(target.attr)
        if isinstance(old, Tensor) and old.flags & BUFFER:
            return Tensor(base.state["var"], base.state["dev"], BUFFER, value.why)
        if base.cls is not None and (id(base.cls.node), target.attr) in ip.buffers:
            base.state.setdefault("born", {})[target.attr] = value
            return Tensor(base.state["var"], base.state["dev"], BUFFER, value.why)
        if value.flags & (PARAM | BUFFER):
            return Tensor(value.var, value.dev, value.flags & ~(PARAM | BUFFER), value.why)
    return value
