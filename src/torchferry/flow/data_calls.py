"""Datasets and loaders, and small objects of torch: optimizers, distributions, loaded files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchferry.torchapi.data_classes import DATASET_WRAPPERS, LOADERS, SAMPLERS

from .borders import sink
from .classes import call_method
from .graph import HOST_NODE
from .join import join
from .operators import AFTER, birth, meet, move_cost
from .values import (
    ARRAY,
    BATCHED,
    CPU,
    HOST,
    UNKNOWN,
    Array,
    Batch,
    Const,
    Func,
    Guard,
    Inst,
    Map,
    Seq,
    Tensor,
    Value,
    Why,
)

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


def call_data(
    ip: Interp, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value | None:
    """A call of torch.utils.data; None for other names."""
    if not name.startswith("torch.utils.data."):
        return None
    first = args[0][0] if args else kwargs.get("dataset", (UNKNOWN, None, False))[0]
    inst = Inst(None, name, "data", node)
    if name in LOADERS:
        inst.kind = "loader"
        inst.state["dataset"] = first
        if "collate_fn" in kwargs:
            inst.state["collate"] = kwargs["collate_fn"][0]
        if isinstance(first, (Seq, Tensor)):
            sink(ip, first, args[0][1] if args else None, "DataLoader")
        return inst
    if name.endswith(".TensorDataset"):
        inst.kind = "dataset"
        inst.state["items"] = [v for v, _, _ in args]
        if any(starred for _, _, starred in args):
            inst.state["items"] = None
        for value, expr, _ in args:
            sink(ip, value, expr, "TensorDataset")
        return inst
    if name in DATASET_WRAPPERS:
        inst.kind = "dataset"
        inner = first
        if isinstance(first, Seq):
            inner = first.state["items"][0] if first.state["items"] else UNKNOWN
        inst.state["wrapped"] = inner
        return Seq("list", None, inst) if name.endswith("random_split") else inst
    if name in SAMPLERS:
        return HOST
    return UNKNOWN


def loader_item(ip: Interp, iterable: Value, node: Any) -> Value | None:
    """What a loop over a loader binds; None when `iterable` is no loader."""
    if isinstance(iterable, Inst) and iterable.kind == "loader":
        return iterate_instance(ip, iterable)
    return None


def iterate_instance(ip: Interp, inst: Inst) -> Value:
    """An element of an iterable instance."""
    from .binding import part_of

    if inst.kind == "loader":
        return _batch_of(ip, inst)
    if inst.kind == "dataset":
        return dataset_item(ip, inst, inst.node) or UNKNOWN
    if inst.kind == "module":
        from .module_tree import child_modules

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
        return Seq("tuple", [_host_copy(v) for v in items])
    if inst.ext.startswith("torchvision.datasets."):
        part = Batch(HOST_NODE, CPU, False, Why("an item of a dataset", node, ip.frame.unit))
        return Seq("tuple", [part, HOST])
    return UNKNOWN


def _host_copy(value: Value) -> Value:
    if isinstance(value, Tensor):
        return Tensor(HOST_NODE, CPU, BATCHED, value.why)
    return value


def _batch_of(ip: Interp, loader: Inst) -> Value:
    dataset = loader.state.get("dataset", UNKNOWN)
    why = Why("a batch of the loader made here", loader.node, ip.frame.unit)
    item: Value | None = UNKNOWN
    if isinstance(dataset, Inst):
        item = dataset_item(ip, dataset, loader.node)
    elif isinstance(dataset, Seq):
        from .join import element

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
        return Tensor(HOST_NODE, CPU, BATCHED, why)
    if value is UNKNOWN:
        return Batch(HOST_NODE, CPU, True, why)
    return value


_TENSOR_DATASETS = frozenset("MNIST FashionMNIST KMNIST EMNIST QMNIST USPS".split())
_TENSOR_ATTRS = frozenset(
    "data targets train_data train_labels test_data test_labels".split()
)


def dataset_attribute(ip: Interp, inst: Inst, attr: str, node: Any) -> Value | None:
    """Attributes of datasets of torchvision, TensorDataset, distributions."""
    if inst.kind == "dataset":
        last = inst.ext.rpartition(".")[2]
        if attr in _TENSOR_ATTRS:
            if last in _TENSOR_DATASETS:
                return birth(ip, node, "append", text="data of a dataset")
            return ARRAY if last.startswith("CIFAR") else UNKNOWN
        if attr == "tensors" and inst.state.get("items") is not None:
            return Seq("tuple", [_host_copy(v) for v in inst.state["items"]])
    if inst.kind == "loader" and attr == "dataset":
        value: Value = inst.state.get("dataset", UNKNOWN)
        return value
    if inst.kind == "distribution" and attr in ("mean", "stddev", "variance", "probs", "logits"):
        return _of_distribution(inst)
    if inst.kind == "optimizer" and attr == "param_groups":
        return HOST
    return None


def _of_distribution(inst: Inst) -> Value:
    tensor = inst.state.get("tensor")
    return UNKNOWN if tensor is None else tensor


def call_object_method(
    ip: Interp, inst: Inst, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """Methods of instances of other packages that are no modules."""
    if inst.kind == "distribution":
        tensor = inst.state.get("tensor")
        operands: list[Any] = [(v, e) for v, e, _ in args]
        if name in ("sample", "rsample", "sample_n", "entropy", "perplexity", "enumerate_support"):
            if tensor is None:
                return birth(ip, node, "append")
            var = ip.graph.variable(("sample", id(node), ip.frame.ctx), "op")
            cost = move_cost(ip, AFTER)
            ip.graph.edge(tensor.var, var, cost, cost, node, ip.frame.unit, "use")
            return Tensor(var, tensor.dev, 0, tensor.why)
        if name in ("log_prob", "cdf", "icdf") and tensor is not None:
            return meet(
                ip, node, operands, name, elementwise=True, place=tensor.var, place_dev=tensor.dev
            )
        if tensor is None:
            return meet(ip, node, operands, name)
        return inst if name in ("expand",) else UNKNOWN
    if inst.kind == "optimizer":
        if name == "step" and args and isinstance(args[0][0], Func):
            return ip.call_function(args[0][0], [], {}, node)
        return HOST
    if inst.kind == "parser":
        return _parser_method(ip, inst, name, args, kwargs, node)
    if inst.kind == "generator":
        return inst if name == "manual_seed" else HOST
    if inst.kind == "loaded":
        return UNKNOWN if name not in ("eval", "train") else inst
    if inst.kind == "loader" and name == "__iter__":
        return inst
    return UNKNOWN


def _parser_method(
    ip: Interp, inst: Inst, name: str, args: list[Arg], kwargs: dict[str, Arg], node: Any
) -> Value:
    """argparse: options become attributes of the namespace; a GPU flag is a guard."""
    if name == "add_argument":
        labels = [v.value for v, _, _ in args if isinstance(v, Const) and isinstance(v.value, str)]
        long = next((x for x in labels if x.startswith("--")), labels[0] if labels else "")
        dest = kwargs["dest"][0] if "dest" in kwargs else Const(long.lstrip("-").replace("-", "_"))
        if isinstance(dest, Const) and isinstance(dest.value, str):
            ip.trail.set(inst.attrs, dest.value, _option(dest.value, kwargs, ip, node))
        return HOST
    if name in ("parse_args", "parse_known_args"):
        space = Inst(None, "argparse.Namespace", "namespace", node)
        space.attrs.update(inst.attrs)
        space.state["elem"] = HOST
        return space if name == "parse_args" else Seq("tuple", [space, HOST])
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return inst
    return HOST


def _option(name: str, kwargs: dict[str, Arg], ip: Interp, node: Any) -> Value:
    from .values import ACCEL, Device

    lowered = name.lower()
    gpu = "cuda" in lowered or "gpu" in lowered
    default = kwargs["default"][0] if "default" in kwargs else None
    action = kwargs["action"][0] if "action" in kwargs else None
    if gpu and action is not None:
        ip.note("gpu-flag", name, node, action, default, ip.frame.unit)
        negative = lowered.startswith(("no", "disable", "without"))
        return Guard(not negative)
    if gpu and isinstance(default, Const) and isinstance(default.value, bool):
        ip.note("gpu-flag", name, node, action, default, ip.frame.unit)
        return Guard(True)
    if lowered == "device":
        return Device(ACCEL)
    if isinstance(action, Const) and action.value == "store_true":
        return HOST
    return HOST
