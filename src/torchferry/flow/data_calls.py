"""Datasets and loaders, and small objects of torch: optimizers, distributions, loaded files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchferry.torchapi.data_classes import DATASET_WRAPPERS, LOADERS, SAMPLERS

from .borders import sink
from .iteration import host_copy
from .operators import AFTER, birth, meet, move_cost
from .values import (
    ACCEL,
    ARRAY,
    HOST,
    UNKNOWN,
    Const,
    Device,
    Func,
    Guard,
    Inst,
    Seq,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from .binding import Arg
    from .interp import Interp


_DISTRIBUTION_TENSORS = frozenset(
    """
    mean stddev variance mode probs logits loc scale rate concentration concentration0
    concentration1 low high covariance_matrix precision_matrix scale_tril df
    """.split()
)


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


_TENSOR_DATASETS = frozenset("MNIST FashionMNIST KMNIST EMNIST QMNIST USPS".split())
_TENSOR_ATTRS = frozenset("data targets train_data train_labels test_data test_labels".split())


def dataset_attribute(ip: Interp, inst: Inst, attr: str, node: Any) -> Value | None:
    """Attributes of datasets of torchvision, TensorDataset, distributions."""
    if inst.kind == "dataset":
        last = inst.ext.rpartition(".")[2]
        if attr in _TENSOR_ATTRS:
            if last in _TENSOR_DATASETS:
                return birth(ip, node, "append", text="data of a dataset")
            return ARRAY if last.startswith("CIFAR") else UNKNOWN
        if attr == "tensors" and inst.state.get("items") is not None:
            return Seq("tuple", [host_copy(v, ip.migrating) for v in inst.state["items"]])
    if inst.kind == "loader" and attr == "dataset":
        value: Value = inst.state.get("dataset", UNKNOWN)
        return value
    if inst.kind == "distribution" and attr in _DISTRIBUTION_TENSORS:
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
