"""DEV204."""

from __future__ import annotations

from torchferry.core.finding import Severity

from ._birth import BirthRule


class AccumulatorOnCpu(BirthRule):
    """A sum, a buffer or padding on the CPU that GPU results are added to.

    What it does:
        Reports a tensor that is made on the CPU and then changed in place with tensors on the GPU.

    Why is this bad:
        An operator in place writes to the device of its left side and refuses a GPU operand.

    Example:
        import torch

        def total(parts):
            out = torch.zeros(3)
            for part in parts:
                out += part
            return out

        total([torch.ones(3, device="cuda")])

    Fix:
        import torch

        def total(parts):
            out = torch.zeros(3, device="cuda")
            for part in parts:
                out += part
            return out

        total([torch.ones(3, device="cuda")])

    Fix safety:
        Safe: the accumulator starts with the same values on the device of what is added.

    References:
        https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device
    """

    code = "DEV204"
    name = "accumulator-on-cpu"
    severity = Severity.ERROR
    fixable = True
    advice = "make the accumulator on the device of what is added to it"
