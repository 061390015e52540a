"""Kernels that only CUDA has: computed on the CPU in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchferry.sim.operators import Operator
from torchferry.sim.tables.only_cuda import WIDENED, WIDER

_aten = torch.ops.aten


def kernel_of(operator: Operator, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """A way to compute what the CPU's kernel refused; None where CUDA refuses it too."""
    own = _KERNELS.get(operator.name)
    if own is not None:
        return own
    dtypes = WIDENED.get(operator.short.removesuffix("_"))
    if dtypes is None:
        return None
    narrow = next((d for d in _dtypes_of(args) if d in dtypes), None)
    return None if narrow is None else _widened(operator, narrow)


def _dtypes_of(args: tuple[Any, ...]) -> list[torch.dtype]:
    found = []
    for arg in args:
        for item in arg if isinstance(arg, (list, tuple)) else (arg,):
            if isinstance(item, torch.Tensor):
                found.append(item.dtype)
    return found


def _widened(operator: Operator, narrow: torch.dtype) -> Callable[..., Any]:
    """The operator in a wider dtype, its results and what it changes in the narrow one."""
    wide = WIDER[narrow]

    def run(*args: Any, **kwargs: Any) -> Any:
        originals: dict[int, torch.Tensor] = {}

        def widen(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value.dtype is narrow:
                copy = value.to(wide)
                originals[id(copy)] = value
                return copy
            if isinstance(value, (list, tuple)):
                return type(value)(widen(item) for item in value)
            return wide if value is narrow else value

        def narrowed(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                original = originals.get(id(value))
                return _narrow(value, narrow, wide) if original is None else original
            if isinstance(value, (list, tuple)):
                return type(value)(narrowed(item) for item in value)
            return value

        new_args = [widen(value) for value in args]
        new_kwargs = {name: widen(value) for name, value in kwargs.items()}
        out = operator.func(*new_args, **new_kwargs)
        for name, copy in (*zip(operator.arguments, new_args, strict=False), *new_kwargs.items()):
            if name in operator.mutated and id(copy) in originals:
                original = originals[id(copy)]
                if original.shape != copy.shape:
                    original.resize_(copy.shape)
                original.copy_(copy)
        return narrowed(out)

    return run


def _narrow(value: torch.Tensor, narrow: torch.dtype, wide: torch.dtype) -> torch.Tensor:
    if value.dtype is wide:
        return value.to(narrow)
    if narrow is torch.float16 and value.dtype is torch.complex64:
        return value.to(torch.complex32)
    if narrow is torch.complex32 and value.dtype is torch.float32:
        return value.to(torch.float16)
    return value


def _nansum(
    tensor: torch.Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> torch.Tensor:
    """Of complex numbers."""
    zero = torch.zeros((), dtype=tensor.dtype)
    if tensor.dtype is torch.complex32:
        wide = tensor.to(torch.complex64)
        out = _nansum(wide, dim, keepdim, dtype=None if dtype is torch.complex32 else dtype)
        return out.to(dtype or torch.complex32)
    plain = torch.where(torch.isnan(tensor), zero, tensor)
    return _aten.sum.dim_IntList(plain, dim, keepdim, dtype=dtype)


def _into(kernel: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The variant with `out=`."""

    def run(*args: Any, out: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        made = kernel(*args, **kwargs)
        if out.shape != made.shape:
            out.resize_(made.shape)
        return out.copy_(made)

    return run


def _mm(left: torch.Tensor, right: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Half precision in, `dtype` out."""
    return torch.matmul(left.to(dtype), right.to(dtype))


def _addmm(
    added: torch.Tensor,
    left: torch.Tensor,
    right: torch.Tensor,
    dtype: torch.dtype,
    *,
    beta: Any = 1,
    alpha: Any = 1,
) -> torch.Tensor:
    product = _mm(left, right, dtype)
    return alpha * product if beta == 0 else beta * added.to(dtype) + alpha * product


_KERNELS: dict[str, Callable[..., Any]] = {
    "nansum": _nansum,
    "nansum.out": _into(_nansum),
    "mm.dtype": _mm,
    "mm.dtype_out": _into(_mm),
    "bmm.dtype": _mm,
    "bmm.dtype_out": _into(_mm),
    "addmm.dtype": _addmm,
    "addmm.dtype_out": _into(_addmm),
    "baddbmm.dtype": _addmm,
    "baddbmm.dtype_out": _into(_addmm),
}
