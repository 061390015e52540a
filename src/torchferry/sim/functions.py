"""Custom autograd functions: the engine checks that a gradient is where its input was.

Its C++ code sees tensors of the host only, so the check is made here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from torchferry.sim.errors import raise_device_error
from torchferry.sim.moves import move
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import FLOATING, device_named, device_number


def install(patcher: Patcher) -> None:
    """Remember the devices of the inputs; look at the gradients."""
    function: Any = torch.autograd.Function
    # a classmethod of Python's, or of C's since torch 2.14
    original_forward: Any = vars(function)["apply"]

    def forward(cls: Any, *args: Any, **kwargs: Any) -> Any:
        out = original_forward.__get__(None, cls)(*args, **kwargs)
        first = out[0] if isinstance(out, (tuple, list)) and out else out
        node = first.grad_fn if isinstance(first, torch.Tensor) else None
        if isinstance(node, BackwardCFunction):
            node._ferry_homes = [
                device_number(a) if isinstance(a, torch.Tensor) else None for a in args
            ]
        return out

    original_backward: Any = BackwardCFunction.apply

    def backward(self: Any, *grads: Any) -> Any:
        found = original_backward(self, *grads)
        homes = getattr(self, "_ferry_homes", None)
        if homes is None:
            return found
        single = not isinstance(found, tuple)
        results = [found] if single else list(found)
        for index, (home, grad) in enumerate(zip(homes, results, strict=False)):
            if home is not None and isinstance(grad, torch.Tensor):
                results[index] = _checked(self, index, home, grad)
        return results[0] if single else tuple(results)

    patcher.set(function, "apply", classmethod(forward))
    patcher.set(BackwardCFunction, "apply", backward)


def _checked(node: Any, index: int, home: int, grad: torch.Tensor) -> torch.Tensor:
    here = device_number(grad)
    if here == home or FLOATING in (here, home):
        return grad
    if grad.dim() == 0:  # moved by the engine
        return move(grad, home)
    raise_device_error(
        "mixed-devices",
        f"Function {type(node).__name__} returned an invalid gradient at index {index} - expected "
        f"device {device_named(home)} but got {device_named(here)}",
        "backward",
        [("gradient", grad)],
    )
