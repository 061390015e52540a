"""What CUDA does not compute though the CPU does. Data only.

From `dtypes` against `dtypesIfCUDA` in PyTorch's operator database, and the names in the kernels'
dispatch macros.
"""

from __future__ import annotations

import torch

INTEGERS = frozenset({torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64})
LONG = frozenset({torch.int64})
HALVES = frozenset({torch.float16, torch.bfloat16})

#: Operator -> (refused dtypes of its first floating argument, name in the message).
REFUSED_DTYPES: dict[str, tuple[frozenset[torch.dtype], str]] = {
    "addmm": (INTEGERS, "addmm_cuda"),
    "addmm_": (INTEGERS, "addmm_cuda"),
    "_addmm_activation": (INTEGERS, "addmm_cuda"),
    "mm": (INTEGERS, "addmm_cuda"),
    "linear": (INTEGERS, "addmm_cuda"),
    "bmm": (INTEGERS, "baddbmm_cuda"),
    "baddbmm": (INTEGERS, "baddbmm_cuda"),
    "baddbmm_": (INTEGERS, "baddbmm_cuda"),
    "addbmm": (INTEGERS, "baddbmm_cuda"),
    "addmv": (INTEGERS, "addmv_impl_cuda"),
    "addmv_": (INTEGERS, "addmv_impl_cuda"),
    "mv": (INTEGERS, "addmv_impl_cuda"),
    "dot": (INTEGERS, "dot"),
    "vdot": (INTEGERS, "vdot"),
    "convolution": (LONG, "slow_conv2d_cuda"),
    "avg_pool2d": (LONG, "avg_pool2d_out_cuda_frame"),
    "avg_pool3d": (LONG, "avg_pool3d_out_cuda"),
    "max_pool2d_with_indices": (INTEGERS, "max_pool2d_with_indices_out_cuda_frame"),
    "max_pool3d_with_indices": (INTEGERS, "max_pool3d_with_indices_out_frame"),
    "igamma": (HALVES, "igamma_cuda"),
    "igammac": (HALVES, "igammac_cuda"),
    "upsample_bilinear2d": (frozenset({torch.uint8}), "upsample_bilinear2d_out_frame"),
    "upsample_bicubic2d": (frozenset({torch.uint8}), "upsample_bicubic2d_out_frame"),
}

#: Operators without a CUDA kernel.
NO_KERNEL = frozenset({"histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts",
                       "_histogramdd_from_bin_tensors"})  # fmt: skip

#: dtype -> its name in messages.
SCALAR_NAMES = {
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.int16: "Short",
    torch.int32: "Int",
    torch.int64: "Long",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.bool: "Bool",
}

#: Where the CPU has no kernel for a dtype that CUDA has one for: computed in this one.
WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.complex32: torch.complex64,
    torch.bool: torch.uint8,
    torch.int8: torch.float32,
    torch.uint8: torch.float32,
    torch.int16: torch.float32,
    torch.int32: torch.float64,
    torch.int64: torch.float64,
}
