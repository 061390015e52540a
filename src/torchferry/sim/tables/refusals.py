"""What CUDA does not compute though the CPU does. Data only.

From `dtypes` against `dtypesIfCUDA` in PyTorch's operator database (benchmarks/sim_refusals.py
checks it), and the names in the kernels' dispatch macros.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

INTEGERS = frozenset({torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool})
BYTE = frozenset({torch.uint8})
BOOL = frozenset({torch.bool})
HALF = frozenset({torch.float16})
HALVES = frozenset({torch.float16, torch.bfloat16})

_DISPATCH = "\"{name}\" not implemented for '{dtype}'"
_CUDNN = "getCudnnDataTypeFromScalarType() not supported for {dtype}"


class Refusal(NamedTuple):
    """dtypes of the first tensor that CUDA has no kernel for, and its words."""

    dtypes: frozenset[torch.dtype]
    name: str
    words: str = _DISPATCH
    error: type[Exception] = NotImplementedError
    #: True where the kernel is not reached for tensors without elements.
    not_empty: bool = False
    #: Refused only where this argument has one of these values.
    argument: str = ""
    values: frozenset[str] = frozenset()


_MM = Refusal(INTEGERS, "addmm_cuda", not_empty=True)
_BMM = Refusal(INTEGERS, "baddbmm_cuda", not_empty=True)
_MV = Refusal(INTEGERS, "addmv_impl_cuda", not_empty=True)
_SCATTER = Refusal(
    BOOL,
    "cuda_scatter_gather_base_kernel_func",
    argument="reduce",
    values=frozenset({"prod", "amin", "amax"}),
)
_HALF_HISTC = Refusal(HALF, "histc", "HalfTensor is not supported", RuntimeError)

#: Names of operators, what is refused.
_ROWS: tuple[tuple[str, tuple[Refusal, ...]], ...] = (
    ("addmm addmm_ _addmm_activation mm linear", (_MM,)),
    ("bmm baddbmm baddbmm_ addbmm addbmm_ _trilinear", (_BMM,)),
    ("addmv addmv_ mv", (_MV,)),
    ("dot", (Refusal(INTEGERS, "dot"),)),
    ("vdot", (Refusal(INTEGERS, "vdot"),)),
    ("convolution", (Refusal(INTEGERS, "cudnn", _CUDNN, RuntimeError),)),
    ("avg_pool2d", (Refusal(INTEGERS, "avg_pool2d_out_cuda_frame"),)),
    ("avg_pool3d", (Refusal(INTEGERS, "avg_pool3d_out_cuda"),)),
    ("max_pool2d_with_indices", (Refusal(INTEGERS, "max_pool2d_with_indices_out_cuda_frame"),)),
    ("max_pool3d_with_indices", (Refusal(INTEGERS, "max_pool3d_with_indices_out_frame"),)),
    ("igamma igamma_", (Refusal(HALVES, "igamma_cuda"),)),
    ("igammac igammac_", (Refusal(HALVES, "igammac_cuda"),)),
    ("angle", (Refusal(HALVES, "angle_cuda"),)),
    ("histc", (_HALF_HISTC, Refusal(frozenset({torch.bfloat16}), "histc"))),
    ("linalg_vector_norm", (Refusal(frozenset({torch.complex32}), "norm_cuda"),)),
    ("native_dropout_backward", (Refusal(INTEGERS, "masked_scale"),)),
    ("scatter_reduce scatter_reduce_", (_SCATTER,)),
    ("upsample_bilinear2d", (Refusal(BYTE, "upsample_bilinear2d_out_frame"),)),
    ("upsample_bicubic2d", (Refusal(BYTE, "upsample_bicubic2d_out_frame"),)),
    (
        "_upsample_bilinear2d_aa _upsample_bicubic2d_aa",
        (Refusal(BYTE, "upsample_bilinear2d_out_frame"),),
    ),
)

#: Operator -> what is refused.
REFUSALS: dict[str, tuple[Refusal, ...]] = {
    name: refusals for names, refusals in _ROWS for name in names.split()
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
    torch.complex32: "ComplexHalf",
}
