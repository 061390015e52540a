"""What CUDA computes though the CPU has no kernel for the dtype. Data only.

From `dtypesIfCUDA` against `dtypes` in PyTorch's operator database (benchmarks/sim_refusals.py
checks it). What stands here is computed in a wider dtype; else the CPU's refusal counts for CUDA.
"""

from __future__ import annotations

import torch

HALVES = frozenset({torch.float16, torch.bfloat16})
CHALF = frozenset({torch.complex32})
BOOL = frozenset({torch.bool})
INTEGERS = frozenset({torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64})

#: Names of operators (without the last underscore of the in-place ones), dtypes.
_ROWS: tuple[tuple[str, frozenset[torch.dtype]], ...] = (
    ("_fft_r2c rrelu_with_noise", frozenset({torch.float16})),
    (
        """_upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward avg_pool3d avg_pool3d_backward
        multi_margin_loss multi_margin_loss_backward multilabel_margin_loss_forward
        multilabel_margin_loss_backward""",
        HALVES,
    ),
    (
        """_fft_c2c _fft_c2r acos acosh angle asin asinh atan atanh cos cosh cumprod div exp flip
        lerp log logaddexp pow prod rsqrt sigmoid sigmoid_backward sin sinh sqrt sum tan tanh
        tanh_backward""",
        CHALF,
    ),
    ("abs", BOOL),
    ("histc", INTEGERS),
    ("trace", frozenset({torch.bool, torch.complex32})),
)

#: Operator -> dtypes.
WIDENED: dict[str, frozenset[torch.dtype]] = {
    name: dtypes for names, dtypes in _ROWS for name in names.split()
}

#: dtype -> the wider one.
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
