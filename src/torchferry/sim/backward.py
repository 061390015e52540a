"""What the autograd engine checks of the gradients that a backward pass starts from."""

from __future__ import annotations

import functools
from typing import Any

import torch

from torchferry.sim.errors import raise_device_error
from torchferry.sim.moves import land
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import FLOATING, device_named, device_number


def install(patcher: Patcher) -> None:
    """Check the devices of `grad_tensors` and `grad_outputs`."""
    original: Any = torch.autograd._make_grads

    def make_grads(outputs: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
        for index, (out, grad) in enumerate(zip(outputs, grads, strict=False)):
            if isinstance(out, torch.Tensor) and isinstance(grad, torch.Tensor):
                _check(index, out, grad)
        return original(outputs, grads, *args, **kwargs)

    patcher.set(torch.autograd, "_make_grads", make_grads)
    original_grad: Any = torch.autograd.grad

    def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        found = original_grad(outputs, inputs, *args, **kwargs)
        sources = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
        for source, result in zip(sources, found, strict=False):
            if isinstance(source, torch.Tensor) and isinstance(result, torch.Tensor):
                land(result, device_number(source))
        return found

    patcher.set(torch.autograd, "grad", functools.wraps(original_grad)(grad), copies=True)


def _check(index: int, out: torch.Tensor, grad: torch.Tensor) -> None:
    if torch._C._functorch.is_legacy_batchedtensor(grad):
        return  # the tensor inside cannot be reached
    home, here = device_number(out), device_number(grad)
    if home == here or FLOATING in (home, here) or grad.dim() == 0:
        return
    node = "Function" if out.grad_fn is None else f"Function {out.grad_fn.name()}"
    raise_device_error(
        "mixed-devices",
        f"{node} returned an invalid gradient at index {index} - expected device "
        f"{device_named(home)} but got {device_named(here)}",
        "backward",
        [("tensor", out), ("gradient", grad)],
    )
