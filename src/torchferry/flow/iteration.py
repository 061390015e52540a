"""What iterating and subscripting data gives: elements, items of datasets, batches of loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .classes import call_method
from .graph import DEVICE_NODE, HOST_NODE
from .join import element, join
from .module_tree import child_modules
from .values import (
    BATCHED,
    CPU,
    HOST,
    PARAM,
    TEXT,
    UNKNOWN,
    Array,
    Batch,
    Const,
    Func,
    Guard,
    HostObject,
    Inst,
    Map,
    Seq,
    Tensor,
    Value,
    Why,
)

if TYPE_CHECKING:
    from .interp import Interp


def part_of(ip: Interp, value: Value) -> Value:
    """An element of an iterable value: what a for loop or an unpacking would bind."""
    if isinstance(value, Tensor):
        return Tensor(value.var, value.dev, value.flags & ~(2 | PARAM), value.why)
    if isinstance(value, Seq):
        return element(ip, value) or UNKNOWN
    if isinstance(value, Batch):
        return Batch(HOST_NODE, value.dev, False, value.why)
    if isinstance(value, Map):
        return HOST
    if isinstance(value, (Array, HostObject)):
        return value
    if isinstance(value, Const) or value is HOST:
        return HOST
    if isinstance(value, Inst):
        return iterate_instance(ip, value)
    return UNKNOWN


def loader_item(ip: Interp, iterable: Value, node: Any) -> Value | None:
    """What a loop over a loader binds; None when `iterable` is no loader."""
    if isinstance(iterable, Inst) and iterable.kind == "loader":
        return iterate_instance(ip, iterable)
    return None


def iterate_instance(ip: Interp, inst: Inst) -> Value:
    """An element of an iterable instance."""
    if inst.kind == "loader":
        return batch_of(ip, inst)
    if inst.kind == "dataset":
        return dataset_item(ip, inst, inst.node) or UNKNOWN
    if inst.kind == "module":
        result: Any = None
        for child in child_modules(inst):
            result = child if result is None else join(ip, result, child)
        return result or UNKNOWN
    if inst.cls is not None:
        found = call_method(ip, inst, "__iter__", [], inst.node)
        if found is not None:
            if isinstance(found, Inst) and found.cls is not None:
                step = call_method(ip, found, "__next__", [], inst.node)
                return UNKNOWN if step is None else step
            return part_of(ip, found)
        found = call_method(ip, inst, "__getitem__", [(HOST, None, False)], inst.node)
        if found is not None:
            return found
    return UNKNOWN


def dataset_item(ip: Interp, inst: Inst, node: Any) -> Value | None:
    """`dataset[i]`."""
    if inst.cls is not None:
        item = call_method(ip, inst, "__getitem__", [(HOST, None, False)], node)
        if item is None and inst.kind == "dataset":
            step = call_method(ip, inst, "__iter__", [], node)
            if isinstance(step, Seq):
                return step.state["elem"]  # type: ignore[no-any-return]
        return item
    if inst.kind != "dataset":
        return None
    wrapped = inst.state.get("wrapped")
    if isinstance(wrapped, Inst):
        return dataset_item(ip, wrapped, node)
    items = inst.state.get("items")
    if items is not None:
        return Seq("tuple", [host_copy(v, ip.migrating) for v in items])
    if inst.ext.startswith("torchvision.datasets."):
        part = Batch(HOST_NODE, CPU, False, Why("an item of a dataset", node, ip.frame.unit))
        return Seq("tuple", [part, HOST])
    return UNKNOWN


def host_copy(value: Value, migrating: bool) -> Value:
    """An item that a dataset of tensors hands out: it belongs to a batch, on the host.

    As the source stands, it is where the dataset's tensors are.
    """
    if isinstance(value, Tensor):
        return Tensor(HOST_NODE, CPU if migrating else value.dev, BATCHED, value.why)
    return value


def batch_of(ip: Interp, loader: Inst) -> Value:
    """What a loop over a loader gets."""
    dataset = loader.state.get("dataset", UNKNOWN)
    why = Why("a batch of the loader made here", loader.node, ip.frame.unit)
    item: Value | None = UNKNOWN
    if isinstance(dataset, Inst):
        item = dataset_item(ip, dataset, loader.node)
    elif isinstance(dataset, Seq):
        item = element(ip, dataset)
    elif isinstance(dataset, (Tensor, Array)):
        item = dataset
    collate = loader.state.get("collate")
    if isinstance(collate, Func):
        ip.host_context += 1
        items = Seq("list", None, item or UNKNOWN)
        value = ip.call_function(collate, [(items, None, False)], {}, loader.node)
        ip.host_context -= 1
        return _hosted(value, why)
    if collate is not None and not (isinstance(collate, Const) and collate.value is None):
        return Batch(HOST_NODE, CPU, True, why)
    if item is None or item is UNKNOWN:
        return Batch(HOST_NODE, CPU, True, why)
    return _collated(item, why, not ip.migrating)


def _collated(item: Value, why: Why, placed: bool = False) -> Value:
    """What default_collate makes of items; `placed`: items on a device give batches there."""
    if isinstance(item, Seq):
        parts = item.state["items"]
        if parts is None:
            return Batch(HOST_NODE, CPU, True, why)
        return Seq("list", [_collated(p, why, placed) for p in parts])
    if isinstance(item, Map):
        result = Map()
        for key, value in item.state.items():
            result.state[key] = None if value is None else _collated(value, why, placed)
        return result
    if item is TEXT:
        return Seq("list", None, HOST)
    if placed and isinstance(item, Tensor):
        return Tensor(HOST_NODE, item.dev, BATCHED, why)
    if isinstance(item, (Tensor, Array)) or item is HOST or isinstance(item, Guard):
        return Tensor(HOST_NODE, CPU, BATCHED, why)
    if isinstance(item, Const):
        if isinstance(item.value, str):
            return Seq("list", None, HOST)
        return Tensor(HOST_NODE, CPU, BATCHED, why)
    return Batch(HOST_NODE, CPU, False, why)


def _hosted(value: Value, why: Why) -> Value:
    """The result of a collate function: host tensors in its structure."""
    if isinstance(value, Seq):
        parts = value.state["items"]
        if parts is None:
            return Batch(HOST_NODE, CPU, True, why)
        return Seq(value.kind, [_hosted(p, why) for p in parts])
    if isinstance(value, Map):
        result = Map()
        for key, item in value.state.items():
            result.state[key] = None if item is None else _hosted(item, why)
        return result
    if isinstance(value, Tensor):
        if value.var == DEVICE_NODE:
            return Tensor(DEVICE_NODE, value.dev, 0, why)  # it moves its batches itself
        return Tensor(HOST_NODE, CPU, BATCHED, why)
    if value is UNKNOWN:
        return Batch(HOST_NODE, CPU, True, why)
    return value
