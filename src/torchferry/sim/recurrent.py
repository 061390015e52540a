"""The RNN functions check devices themselves on CUDA, before any kernel: so do their stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import _VF

from torchferry.sim.errors import raise_device_error
from torchferry.sim.messages import recurrent_message
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import device_number

NAMES = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def _checked(name: str) -> Callable[..., Any]:
    original = getattr(torch._C._VariableFunctions, name)

    def run(source: torch.Tensor, *args: Any) -> Any:
        home = device_number(source)
        packed = bool(args) and isinstance(args[0], torch.Tensor) and len(args) > 1
        packed = packed and isinstance(args[2], (list, tuple))
        hidden, weights = (args[1], args[2]) if packed else (args[0], args[1])
        hidden = hidden if isinstance(hidden, (list, tuple)) else [hidden]
        for what, tensors in (("hidden", hidden), ("parameter", weights)):
            for tensor in tensors:
                here = device_number(tensor)
                if here != home:
                    raise_device_error(
                        "mixed-devices",
                        recurrent_message(home, what, here),
                        name,
                        [("input", source), (what, tensor)],
                    )
        return original(source, *args)

    return run


def install(patcher: Patcher) -> None:
    """Put the checks before the functions that nn.LSTM, nn.GRU and nn.RNN call."""
    for name in NAMES:
        patcher.set(_VF, name, _checked(name))
