"""PyTorch's own words for device errors, by operator and by version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim.operators import Check, Operator
from torchferry.sim.tables import cuda_kernels
from torchferry.sim.tags import CPU, device_named

if TYPE_CHECKING:
    from torchferry.sim.checks import Placed

TORCH_VERSION = tuple(int(p) for p in torch.__version__.split("+")[0].split(".")[:2])

#: Composite operators -> the kernel whose wrapper finds the mix.
INNER_KERNEL = {
    "embedding": "wrapper_CUDA__index_select",
    "stack": "wrapper_CUDA_cat",
    "hstack": "wrapper_CUDA_cat",
    "linear": "wrapper_CUDA_addmm",
    "matmul": "wrapper_CUDA_mm",
    "native_batch_norm": "wrapper_CUDA__native_batch_norm",
    "_native_batch_norm_legit": "wrapper_CUDA__native_batch_norm",
    "_native_batch_norm_legit.no_stats": "wrapper_CUDA__native_batch_norm",
}


def found_two_devices(first: int, second: int) -> str:
    """TensorIterator's words."""
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{device_named(first)} and {device_named(second)}!"
    )


def different_from_others(argument: str, device: int, common: int, method: str) -> str:
    """The generated wrapper's words, which changed in PyTorch 2.8."""
    if TORCH_VERSION < (2, 8):
        return (
            f"{found_two_devices(common, device)} "
            f"(when checking argument for argument {argument} in method {method})"
        )
    return (
        f"Expected all tensors to be on the same device, but got {argument} is on "
        f"{device_named(device)}, different from other tensors on {device_named(common)} "
        f"(when checking argument in method {method})"
    )


def wrapper_name(operator: Operator) -> str:
    """Name of the generated function that checks the operator's tensors on CUDA."""
    inner = INNER_KERNEL.get(operator.short)
    if inner is not None:
        return inner
    name, _, overload = operator.name.partition(".")
    if overload in ("out", "grad_input") or overload.endswith("_out"):
        name += "_out"
    if operator.check is Check.STRUCTURED:
        return f"wrapper_CUDA_{name}"
    if operator.name in cuda_kernels.CHECKED:
        return f"wrapper_CUDA_{overload}_{name}"
    return f"wrapper_CUDA__{name}"


def type_name(tensor: torch.Tensor, device: int) -> str:
    """`torch.cuda.FloatTensor` of a tensor on a device."""
    plain: str = _TYPE_NAMES.get(tensor.dtype, "Tensor")
    return f"torch.{'cuda.' if device >= 0 else ''}{plain}"


_TYPE_NAMES: dict[Any, str] = {
    torch.float32: "FloatTensor",
    torch.float64: "DoubleTensor",
    torch.float16: "HalfTensor",
    torch.bfloat16: "BFloat16Tensor",
    torch.uint8: "ByteTensor",
    torch.int8: "CharTensor",
    torch.int16: "ShortTensor",
    torch.int32: "IntTensor",
    torch.int64: "LongTensor",
    torch.bool: "BoolTensor",
    torch.complex64: "ComplexFloatTensor",
    torch.complex128: "ComplexDoubleTensor",
}


def special_message(operator: Operator, tensors: list[Placed]) -> str | None:
    """Words of the kernels that check by themselves."""
    maker = _SPECIAL.get(operator.short)
    return None if maker is None else maker(tensors)


def _convolution(tensors: list[Placed]) -> str | None:
    parts = {name: (tensor, device) for name, tensor, device in tensors}
    source, weight = parts["input"], parts["weight"]
    if source[1] != weight[1]:
        return (
            f"Input type ({type_name(*source)}) and weight type ({type_name(*weight)}) "
            "should be the same"
        )
    bias = parts.get("bias")
    if bias is not None and bias[1] != source[1]:
        return (
            f"Input type ({type_name(*source)}) and bias type ({type_name(*bias)}) "
            "should be the same"
        )
    return None


def _block_diag(tensors: list[Placed]) -> str:
    return "torch.block_diag: input tensors must all be on the same device."


def _recurrent(tensors: list[Placed]) -> str | None:
    first = tensors[0][2]
    odd = next((t for t in tensors if t[2] != first), None)
    if odd is None:
        return None
    what = "hidden" if odd[0] in ("hx", "cx", "hx_", "cx_") else "parameter"
    return recurrent_message(first, what, odd[2])


def recurrent_message(source: int, what: str, device: int) -> str:
    """Words of the RNN functions; `what`: hidden or parameter."""
    return (
        f"Input and {what} tensors are not at the same device, found input tensor at "
        f"{device_named(source)} and {what} tensor at {device_named(device)}"
    )


def _grid_sampler(tensors: list[Placed]) -> str:
    return (
        "grid_sampler(): expected input and grid to be on same device, but input is on "
        f"{device_named(tensors[0][2])} and grid is on {device_named(tensors[1][2])}"
    )


def _masked_fill(tensors: list[Placed]) -> str | None:
    devices = {name: device for name, _, device in tensors}
    if devices["self"] == devices["mask"]:
        return None
    return (
        "expected self and mask to be on the same device, but got mask on "
        f"{device_named(devices['mask'])} and self on {device_named(devices['self'])}"
    )


def generator_message(wanted: int, found: int) -> str:
    """Words for a generator of another device than the tensor's."""
    kinds = ("cpu" if wanted <= CPU else "cuda", "cpu" if found <= CPU else "cuda")
    return f"Expected a '{kinds[0]}' device type for generator but found '{kinds[1]}'"


_SPECIAL: dict[str, Any] = {
    "masked_fill": _masked_fill,
    "masked_fill_": _masked_fill,
    "convolution": _convolution,
    "convolution_overrideable": _convolution,
    "block_diag": _block_diag,
    "mkldnn_rnn_layer": _recurrent,
    "grid_sampler_2d": _grid_sampler,
    "grid_sampler_3d": _grid_sampler,
}
