"""Kernels of SyncBatchNorm, which PyTorch has for CUDA only: written out with ordinary operators.

Shapes: `x` is (N, C, ...), statistics are (C,), those of all processes (processes, C).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchferry.sim.patching import Patcher

Tensor = torch.Tensor


def _over(x: Tensor) -> list[int]:
    return [d for d in range(x.dim()) if d != 1]


def _spread(statistic: Tensor, x: Tensor) -> Tensor:
    return statistic.view(1, -1, *[1] * (x.dim() - 2))


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def batch_norm_stats(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Mean and 1 / sqrt(variance + eps) of a process's own batch."""
    variance, mean = torch.var_mean(_wide(x), _over(x), correction=0)
    return mean, (variance + eps).rsqrt()


def batch_norm_gather_stats_with_counts(
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Statistics of the batches of all processes together."""
    share = counts.to(mean.dtype).view(-1, 1)
    total = share.sum()
    joint = (mean * share).sum(0) / total
    variances = invstd.pow(-2) - eps
    variance = ((variances + (mean - joint).square()) * share).sum(0) / total
    if running_mean is not None:
        running_mean.lerp_(joint.to(running_mean.dtype), momentum)
    if running_var is not None:
        unbiased = variance * total / (total - 1)
        running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    return joint, (variance + eps).rsqrt()


def batch_norm_elemt(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    """The normalized batch."""
    out = (_wide(x) - _spread(mean, x)) * _spread(invstd, x)
    if weight is not None:
        out = out * _spread(weight, x)
    if bias is not None:
        out = out + _spread(bias, x)
    return out.to(x.dtype)


def batch_norm_backward_reduce(
    grad: Tensor,
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Sums of a process for the gradients."""
    dy = _wide(grad)
    sum_dy = dy.sum(_over(x))
    sum_dy_xmu = (dy * (_wide(x) - _spread(mean, x))).sum(_over(x))
    kind = sum_dy.dtype if weight is None else weight.dtype
    grad_weight = (sum_dy_xmu * invstd).to(kind) if weight_g else None
    return sum_dy, sum_dy_xmu, grad_weight, sum_dy.to(kind) if bias_g else None


def batch_norm_backward_elemt(
    grad: Tensor,
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """Gradient of the batch, from the sums of all processes."""
    total = count.sum().to(sum_dy.dtype)
    centered = _wide(x) - _spread(mean, x)
    slope = _spread(invstd.square() * sum_dy_xmu / total, x)
    out = (_wide(grad) - _spread(sum_dy / total, x) - centered * slope) * _spread(invstd, x)
    return (out if weight is None else out * _spread(weight, x)).to(x.dtype)


_KERNELS: tuple[Callable[..., Any], ...] = (
    batch_norm_stats,
    batch_norm_gather_stats_with_counts,
    batch_norm_elemt,
    batch_norm_backward_reduce,
    batch_norm_backward_elemt,
)


def install(patcher: Patcher) -> None:
    """Register the kernels while a simulation runs."""
    library = torch.library.Library("aten", "IMPL")
    for kernel in _KERNELS:
        name = f"aten::{kernel.__name__}"
        if not torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU"):
            library.impl(kernel.__name__, kernel, "CPU")
    patcher.on_undo(library._destroy)
